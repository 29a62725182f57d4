package cpu

import (
	"cmp"
	"math"
	"slices"

	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/ops"
)

// growth finds the k largest dense gradients outside the kept set. A task is
// a block of rows of the gradient, of which one strip of columns exists at a
// time. Each worker keeps the best k that it has seen; since equal scores are
// settled by the cell number, the best k of all workers are the same however the
// rows were shared.
type growth struct {
	b *Backend
	ops.Growth
	strips  strips
	tile    [][]float32 // one for each worker, rowBlock × stripWidth
	best    []topK      // one for each worker
	dropped []bool      // by CSR position
	dy      []float32
}

// PlanGrowth returns a kernel that streams over the dense gradient.
func (b *Backend) PlanGrowth(g ops.Growth) (ops.GrowthKernel, error) {
	if err := g.Check(); err != nil {
		return nil, err
	}
	if b.err != nil {
		return nil, b.err
	}
	return &growth{b: b, Growth: g, strips: newStrips(g.Pattern.Cols(), g.Panels),
		tile: make([][]float32, b.Threads()), best: make([]topK, b.Threads())}, nil
}

// TopK returns the cells with the largest |dY Xᵀ|.
func (k *growth) TopK(dy, x *tensor.Dense, n int, dropped []int32) ([]int64, error) {
	if err := k.CheckOperands(k.b, dy, x, n, dropped); err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, nil
	}
	k.dy = dy.Float32s()
	k.strips.fill(k.b.kernels, x.Float32s())
	k.dropped = slices.Grow(k.dropped[:0], k.Pattern.NNZ())[:k.Pattern.NNZ()]
	clear(k.dropped)
	for _, p := range dropped {
		k.dropped[p] = true
	}
	for i := range k.best {
		k.best[i].reset(n)
	}
	k.b.pool.run(blocks(k.Pattern.Rows()), k)

	all := &k.best[0]
	for i := range k.best[1:] {
		for _, c := range k.best[1+i].candidates {
			all.offer(c)
		}
	}
	all.shrink()
	cells := make([]int64, n)
	for i, c := range all.candidates {
		cells[i] = c.cell
	}
	slices.Sort(cells)
	return cells, nil
}

func (k *growth) do(i, worker int) {
	rows, cols := k.Pattern.Rows(), k.Pattern.Cols()
	if k.tile[worker] == nil {
		k.tile[worker] = make([]float32, rowBlock*stripWidth)
	}
	tile, best := k.tile[worker], &k.best[worker]
	lo, hi := blockRange(i, rows)
	rowPtr, colIdx := k.Pattern.RowPtr(), k.Pattern.ColIdx()
	var next [rowBlock]int32 // stored position of each row that comes next
	copy(next[:], rowPtr[lo:hi])
	for j := range k.strips.count {
		first := j * stripWidth
		n := min(stripWidth, cols-first)
		k.b.kernels.gemm(k.strips.block(j, 0, ceil(n, 8)*8, k.dy, rows, lo, hi, tile, stripWidth))
		for r := lo; r < hi; r++ {
			p, end := next[r-lo], rowPtr[r+1]
			for c, g := range tile[(r-lo)*stripWidth:][:n] {
				if p < end && int(colIdx[p]) == first+c {
					p++
					if !k.dropped[p-1] {
						continue
					}
				}
				best.offer(newCandidate(g, int64(r)*int64(cols)+int64(first+c)))
			}
			next[r-lo] = p
		}
	}
}

// candidate is a cell and how much its gradient matters.
type candidate struct {
	score float32
	cell  int64
}

func newCandidate(gradient float32, cell int64) candidate {
	score := float32(math.Abs(float64(gradient)))
	if score != score { // a NaN is below every number
		score = -1
	}
	return candidate{score, cell}
}

// compare puts the better candidate first. No two are equal.
func compare(a, b candidate) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.cell, b.cell))
}

// topK holds the k best candidates offered, and some that may yet lose.
type topK struct {
	k          int
	candidates []candidate
	worst      candidate // of the k best at the last shrink
	full       bool      // worst is set
}

func (t *topK) reset(k int) {
	t.k, t.full = k, false
	t.candidates = slices.Grow(t.candidates[:0], 2*k+1024)
}

func (t *topK) offer(c candidate) {
	if t.full && compare(t.worst, c) < 0 {
		return
	}
	t.candidates = append(t.candidates, c)
	if len(t.candidates) == 2*t.k+1024 {
		t.shrink()
	}
}

// shrink leaves the k best.
func (t *topK) shrink() {
	if len(t.candidates) <= t.k {
		return
	}
	slices.SortFunc(t.candidates, compare)
	t.candidates = t.candidates[:t.k]
	t.worst, t.full = t.candidates[t.k-1], true
}
