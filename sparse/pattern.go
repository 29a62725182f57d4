package sparse

import (
	"math"
	"slices"
	"sync"
)

// Pattern is the set of stored positions of a rows × cols matrix, in CSR
// order. Position p lies in the row i with RowPtr[i] ≤ p < RowPtr[i+1] and in
// column ColIdx[p].
//
// Weights, gradients and optimizer state are value arrays of length NNZ that
// share one Pattern by pointer. A mask update changes the Pattern in place
// through [Pattern.Update] and raises its version; whoever derives something
// from a Pattern (a transposed index, a plan) compares versions to know when
// to refresh.
//
// Reading from several goroutines is safe. Update must not run beside a reader.
type Pattern struct {
	rows, cols int
	rowPtr     []int32
	colIdx     []int32
	version    uint64

	mu      sync.Mutex // guards derived
	derived map[any]*derived
}

// NewPattern returns the pattern described by CSR arrays: rowPtr has rows+1
// entries, colIdx one for each stored position. It takes ownership of both.
//
// The error wraps ErrInvalid (wrong lengths, pointers that do not start at 0,
// decrease, or do not end at nnz, a column out of range) or ErrNotCanonical
// (columns of a row not strictly ascending).
func NewPattern(rows, cols int, rowPtr, colIdx []int32) (*Pattern, error) {
	if err := checkDims(rows, cols); err != nil {
		return nil, err
	}
	if len(colIdx) > math.MaxInt32 {
		return nil, invalid("nnz = %d, want at most %d", len(colIdx), math.MaxInt32)
	}
	if err := checkPointers("row pointers", rowPtr, rows, len(colIdx)); err != nil {
		return nil, err
	}
	if err := checkIndices("column indices", rowPtr, colIdx, cols); err != nil {
		return nil, err
	}
	return &Pattern{rows: rows, cols: cols, rowPtr: rowPtr, colIdx: colIdx}, nil
}

// FullPattern returns the pattern that stores every cell.
func FullPattern(rows, cols int) (*Pattern, error) {
	if err := checkDims(rows, cols); err != nil {
		return nil, err
	}
	if err := checkNNZ(rows, cols, int64(rows)*int64(cols)); err != nil {
		return nil, err
	}
	p := &Pattern{rows: rows, cols: cols, rowPtr: make([]int32, rows+1), colIdx: make([]int32, rows*cols)}
	for i := range rows {
		for j := range cols {
			p.colIdx[i*cols+j] = int32(j)
		}
		p.rowPtr[i+1] = int32((i + 1) * cols)
	}
	return p, nil
}

// patternOfCells builds a pattern from cell numbers (row·cols + column) in
// strictly ascending order. The caller vouches for their order and range.
func patternOfCells(rows, cols int, cells []int64) *Pattern {
	p := &Pattern{rows: rows, cols: cols, rowPtr: make([]int32, rows+1), colIdx: make([]int32, len(cells))}
	for k, c := range cells {
		p.rowPtr[c/int64(cols)+1]++
		p.colIdx[k] = int32(c % int64(cols))
	}
	for i := range rows {
		p.rowPtr[i+1] += p.rowPtr[i]
	}
	return p
}

// Rows returns the number of rows.
func (p *Pattern) Rows() int { return p.rows }

// Cols returns the number of columns.
func (p *Pattern) Cols() int { return p.cols }

// NNZ returns the number of stored positions.
func (p *Pattern) NNZ() int { return len(p.colIdx) }

// Cells returns rows × columns.
func (p *Pattern) Cells() int64 { return int64(p.rows) * int64(p.cols) }

// Density returns NNZ / Cells, and 0 for a matrix without cells.
func (p *Pattern) Density() float64 {
	if p.Cells() == 0 {
		return 0
	}
	return float64(p.NNZ()) / float64(p.Cells())
}

// RowPtr returns the rows+1 row pointers. The slice is the pattern's own and
// must not be written to.
func (p *Pattern) RowPtr() []int32 { return p.rowPtr }

// ColIdx returns the column of each stored position. The slice is the
// pattern's own and must not be written to.
func (p *Pattern) ColIdx() []int32 { return p.colIdx }

// Version counts the updates that the pattern has seen.
func (p *Pattern) Version() uint64 { return p.version }

// Row returns the columns stored in row i, as a view.
func (p *Pattern) Row(i int) []int32 { return p.colIdx[p.rowPtr[i]:p.rowPtr[i+1]] }

// Find returns the position of cell (i, j) and whether it is stored.
func (p *Pattern) Find(i, j int) (pos int, ok bool) {
	k, ok := slices.BinarySearch(p.Row(i), int32(j))
	return int(p.rowPtr[i]) + k, ok
}

// AppendCells appends the cell number, row·cols + column, of each stored
// position to dst, in ascending order.
func (p *Pattern) AppendCells(dst []int64) []int64 {
	dst = slices.Grow(dst, p.NNZ())
	for i := range p.rows {
		for _, j := range p.Row(i) {
			dst = append(dst, int64(i)*int64(p.cols)+int64(j))
		}
	}
	return dst
}

// Equal reports whether both patterns store the same positions of matrices of
// the same size.
func (p *Pattern) Equal(q *Pattern) bool {
	return p.rows == q.rows && p.cols == q.cols &&
		slices.Equal(p.rowPtr, q.rowPtr) && slices.Equal(p.colIdx, q.colIdx)
}

// Clone returns an independent copy at version 0.
func (p *Pattern) Clone() *Pattern {
	return &Pattern{rows: p.rows, cols: p.cols, rowPtr: slices.Clone(p.rowPtr), colIdx: slices.Clone(p.colIdx)}
}
