package sparse

// Transposed is the CSR index of a pattern's transpose. Entry k of the
// transpose is position Perm[k] of the pattern, so a kernel that walks the
// transpose reads its value at values[Perm[k]].
type Transposed struct {
	RowPtr []int32 // cols+1 pointers, one for each column of the pattern
	ColIdx []int32 // the pattern's row of each entry, ascending within a column
	Perm   []int32 // the pattern's position of each entry
}

// Transposed returns the index of the transpose at the pattern's present
// version. The index is built on first use and kept until an update; a result
// held across an update is stale. It must not be written to.
func (p *Pattern) Transposed() *Transposed {
	return Derived(p, transposedKey{}, func(old *Transposed) *Transposed {
		t := old
		if t == nil {
			t = &Transposed{}
		}
		t.RowPtr = resize(t.RowPtr, p.cols+1)
		t.ColIdx = resize(t.ColIdx, p.NNZ())
		t.Perm = resize(t.Perm, p.NNZ())
		t.fill(p)
		return t
	})
}

type transposedKey struct{}

// fill is a counting sort by column. RowPtr is used shifted by one while rows
// are placed: RowPtr[j+1] is the next free entry of column j, and ends as the
// end of column j, which is the start of column j+1.
func (t *Transposed) fill(p *Pattern) {
	clear(t.RowPtr)
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

// resize returns a slice of length n, reusing s where it is large enough. The
// contents are unspecified.
func resize[T any](s []T, n int) []T {
	if s == nil || cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
