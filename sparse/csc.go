package sparse

// CSC is a matrix in compressed sparse columns: column j holds the rows
// RowIdx[ColPtr[j]:ColPtr[j+1]], strictly ascending. It is the CSR form of the
// transpose.
type CSC[T Float] struct {
	Rows, Cols int
	ColPtr     []int32
	RowIdx     []int32
	Values     []T
}

// NewCSC validates and returns a CSC matrix. It takes ownership of the slices.
func NewCSC[T Float](rows, cols int, colPtr, rowIdx []int32, values []T) (*CSC[T], error) {
	if err := checkDims(rows, cols); err != nil {
		return nil, err
	}
	if len(values) != len(rowIdx) {
		return nil, invalid("%d values for nnz = %d", len(values), len(rowIdx))
	}
	if err := checkPointers("column pointers", colPtr, cols, len(rowIdx)); err != nil {
		return nil, err
	}
	if err := checkIndices("row indices", colPtr, rowIdx, rows); err != nil {
		return nil, err
	}
	return &CSC[T]{Rows: rows, Cols: cols, ColPtr: colPtr, RowIdx: rowIdx, Values: values}, nil
}

// CSR returns a copy in compressed sparse rows.
func (c *CSC[T]) CSR() *CSR[T] {
	// The CSC arrays are the CSR form of the transpose; transposing that gives
	// the matrix itself.
	t := (&Pattern{rows: c.Cols, cols: c.Rows, rowPtr: c.ColPtr, colIdx: c.RowIdx}).Transposed()
	m := &CSR[T]{
		Pattern: &Pattern{rows: c.Rows, cols: c.Cols, rowPtr: t.RowPtr, colIdx: t.ColIdx},
		Values:  make([]T, len(c.Values)),
	}
	for k, p := range t.Perm {
		m.Values[k] = c.Values[p]
	}
	return m
}
