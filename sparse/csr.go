package sparse

import "slices"

// CSR is a matrix in compressed sparse rows: a pattern and one value for each
// of its positions. NaN, infinities and zeros of either sign are ordinary
// values: a stored zero stays stored.
type CSR[T Float] struct {
	*Pattern
	Values []T
}

// NewCSR returns the matrix with these values at the positions of p. It shares
// both.
func NewCSR[T Float](p *Pattern, values []T) (*CSR[T], error) {
	if p == nil {
		return nil, invalid("nil pattern")
	}
	if len(values) != p.NNZ() {
		return nil, invalid("%d values for nnz = %d", len(values), p.NNZ())
	}
	return &CSR[T]{Pattern: p, Values: values}, nil
}

// CanonicalCSR builds a CSR matrix from arrays whose rows may be unsorted or
// hold a column more than once; repeated entries are added up in the order in
// which they stand. It copies its input.
func CanonicalCSR[T Float](rows, cols int, rowPtr, colIdx []int32, values []T) (*CSR[T], error) {
	if err := checkDims(rows, cols); err != nil {
		return nil, err
	}
	if err := checkPointers("row pointers", rowPtr, rows, len(colIdx)); err != nil {
		return nil, err
	}
	row := make([]int32, len(colIdx))
	for i := range rows {
		for p := rowPtr[i]; p < rowPtr[i+1]; p++ {
			row[p] = int32(i)
		}
	}
	coo, err := NewCOO(rows, cols, row, slices.Clone(colIdx), slices.Clone(values))
	if err != nil {
		return nil, err
	}
	coo.Canonicalize()
	return coo.CSR()
}

// FromDense stores the cells of a row-major rows × cols array that compare
// unequal to zero. NaN is stored; a negative zero is not.
func FromDense[T Float](rows, cols int, dense []T) (*CSR[T], error) {
	if err := checkDims(rows, cols); err != nil {
		return nil, err
	}
	if int64(len(dense)) != int64(rows)*int64(cols) {
		return nil, invalid("%d values for a dense %d × %d matrix", len(dense), rows, cols)
	}
	nnz := 0
	for _, v := range dense {
		if v != 0 {
			nnz++
		}
	}
	if err := checkNNZ(rows, cols, int64(nnz)); err != nil {
		return nil, err
	}
	m := &CSR[T]{
		Pattern: &Pattern{rows: rows, cols: cols, rowPtr: make([]int32, rows+1), colIdx: make([]int32, 0, nnz)},
		Values:  make([]T, 0, nnz),
	}
	for i := range rows {
		for j, v := range dense[i*cols : (i+1)*cols] {
			if v != 0 {
				m.colIdx = append(m.colIdx, int32(j))
				m.Values = append(m.Values, v)
			}
		}
		m.rowPtr[i+1] = int32(len(m.colIdx))
	}
	return m, nil
}

// Dense returns the matrix as a row-major array of Rows × Cols.
func (m *CSR[T]) Dense() []T {
	dense := make([]T, m.Cells())
	for i := range m.rows {
		for p := m.rowPtr[i]; p < m.rowPtr[i+1]; p++ {
			dense[i*m.cols+int(m.colIdx[p])] = m.Values[p]
		}
	}
	return dense
}

// COO returns a copy in coordinate form.
func (m *CSR[T]) COO() *COO[T] {
	c := &COO[T]{Rows: m.rows, Cols: m.cols, Col: slices.Clone(m.colIdx), Values: slices.Clone(m.Values),
		Row: make([]int32, m.NNZ())}
	for i := range m.rows {
		for p := m.rowPtr[i]; p < m.rowPtr[i+1]; p++ {
			c.Row[p] = int32(i)
		}
	}
	return c
}

// CSC returns a copy in compressed sparse columns.
func (m *CSR[T]) CSC() *CSC[T] {
	t := m.Transposed()
	c := &CSC[T]{Rows: m.rows, Cols: m.cols, ColPtr: t.RowPtr, RowIdx: t.ColIdx,
		Values: make([]T, m.NNZ())}
	for k, p := range t.Perm {
		c.Values[k] = m.Values[p]
	}
	return c
}
