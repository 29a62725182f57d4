package sparse

// Transposed is the CSR index of a pattern's transpose. Entry k of the
// transpose is position Perm[k] of the pattern, so a kernel that walks the
// transpose reads its value at values[Perm[k]].
type Transposed struct {
	RowPtr []int32 // cols+1 pointers, one for each column of the pattern
	ColIdx []int32 // the pattern's row of each entry, ascending within a column
	Perm   []int32 // the pattern's position of each entry
}

// Transposed builds the index of the transpose. It costs two int32 a non-zero
// and is not kept: what a kernel needs all the time it derives once, see
// [Derived].
func (p *Pattern) Transposed() *Transposed {
	t := &Transposed{
		RowPtr: make([]int32, p.cols+1),
		ColIdx: make([]int32, p.NNZ()),
		Perm:   make([]int32, p.NNZ()),
	}
	t.fill(p)
	return t
}

// fill is a counting sort by column. RowPtr is used shifted by one while rows
// are placed: RowPtr[j+1] is the next free entry of column j, and ends as the
// end of column j, which is the start of column j+1.
func (t *Transposed) fill(p *Pattern) {
	for _, j := range p.colIdx {
		if int(j)+2 < len(t.RowPtr) {
			t.RowPtr[j+2]++
		}
	}
	for j := 2; j < len(t.RowPtr); j++ {
		t.RowPtr[j] += t.RowPtr[j-1]
	}
	for i := range p.rows {
		for pos := p.rowPtr[i]; pos < p.rowPtr[i+1]; pos++ {
			next := &t.RowPtr[p.colIdx[pos]+1]
			t.ColIdx[*next] = int32(i)
			t.Perm[*next] = pos
			*next++
		}
	}
}
