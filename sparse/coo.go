package sparse

import (
	"cmp"
	"slices"
)

// COO is a matrix in coordinate form: entry p is Values[p] at
// (Row[p], Col[p]). Entries may stand in any order and repeat a cell, whose
// value is then their sum.
type COO[T Float] struct {
	Rows, Cols int
	Row, Col   []int32
	Values     []T
}

// NewCOO validates and returns a matrix in coordinate form. It takes ownership
// of the slices.
func NewCOO[T Float](rows, cols int, row, col []int32, values []T) (*COO[T], error) {
	if err := checkDims(rows, cols); err != nil {
		return nil, err
	}
	if len(row) != len(values) || len(col) != len(values) {
		return nil, invalid("%d rows, %d columns, %d values", len(row), len(col), len(values))
	}
	for p := range row {
		if row[p] < 0 || int(row[p]) >= rows {
			return nil, invalid("row[%d] = %d, want 0 to %d", p, row[p], rows-1)
		}
		if col[p] < 0 || int(col[p]) >= cols {
			return nil, invalid("column[%d] = %d, want 0 to %d", p, col[p], cols-1)
		}
	}
	return &COO[T]{Rows: rows, Cols: cols, Row: row, Col: col, Values: values}, nil
}

// IsCanonical reports whether the entries are sorted by row and column and
// none repeats a cell.
func (c *COO[T]) IsCanonical() bool {
	for p := 1; p < len(c.Row); p++ {
		if c.compare(p-1, p) >= 0 {
			return false
		}
	}
	return true
}

func (c *COO[T]) compare(p, q int) int {
	return cmp.Or(cmp.Compare(c.Row[p], c.Row[q]), cmp.Compare(c.Col[p], c.Col[q]))
}

// Canonicalize sorts the entries by row and column and adds up those that
// share a cell, in the order in which they stood.
func (c *COO[T]) Canonicalize() {
	if c.IsCanonical() {
		return
	}
	order := make([]int, len(c.Row))
	for p := range order {
		order[p] = p
	}
	slices.SortStableFunc(order, c.compare)
	row, col, values := c.Row, c.Col, c.Values
	c.Row, c.Col, c.Values = nil, nil, nil
	for _, p := range order {
		if last := len(c.Row) - 1; last >= 0 && c.Row[last] == row[p] && c.Col[last] == col[p] {
			c.Values[last] += values[p]
			continue
		}
		c.Row, c.Col, c.Values = append(c.Row, row[p]), append(c.Col, col[p]), append(c.Values, values[p])
	}
}

// CSR returns a copy in compressed sparse rows. Entries that are unsorted or
// repeated are an error that wraps ErrNotCanonical.
func (c *COO[T]) CSR() (*CSR[T], error) {
	if !c.IsCanonical() {
		return nil, notCanonical("entries are unsorted or repeated; call Canonicalize")
	}
	rowPtr := make([]int32, c.Rows+1)
	for _, i := range c.Row {
		rowPtr[i+1]++
	}
	for i := range c.Rows {
		rowPtr[i+1] += rowPtr[i]
	}
	p, err := NewPattern(c.Rows, c.Cols, rowPtr, slices.Clone(c.Col))
	if err != nil {
		return nil, err
	}
	return NewCSR(p, slices.Clone(c.Values))
}
