package cpu

import (
	"math/bits"
	"slices"

	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/ops"
)

// growth finds the k largest dense gradients outside the kept set. A task is
// a block of rows of the gradient, of which one strip of columns exists at a
// time. Each worker keeps the best k that it has seen; since equal scores are
// settled by the cell number, the best k of all workers are the same however the
// rows were shared.
//
// A few blocks are sampled first: their k-th score, in proportion, is a
// threshold that nearly all cells fall below, at the cost of one comparison in
// a vector. The threshold is a guess that is checked: should fewer than k cells
// reach it, all are looked at again without one.
type growth struct {
	b *Backend
	ops.Growth
	strips  strips
	workers []growthWorker
	dropped []bool // by CSR position
	dy      []float32

	sample    int // blocks from one sampled one to the next
	sampling  bool
	threshold uint32
}

// growthWorker is what a worker has to itself.
type growthWorker struct {
	topK
	tile  []float32 // rowBlock × stripWidth of the gradient
	masks []uint16  // of the tile
}

// PlanGrowth returns a kernel that streams over the dense gradient.
func (b *Backend) PlanGrowth(g ops.Growth) (ops.GrowthKernel, error) {
	if err := g.Check(); err != nil {
		return nil, err
	}
	if b.err != nil {
		return nil, b.err
	}
	return &growth{b: b, Growth: g, strips: newStrips(g.Pattern.Cols(), g.Panels), workers: make([]growthWorker, b.Threads())}, nil
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
	k.dropped = resized(k.dropped, k.Pattern.NNZ())
	clear(k.dropped)
	for _, p := range dropped {
		k.dropped[p] = true
	}

	k.threshold = k.guess(n)
	best := k.search(n)
	if len(best.keys) < n {
		k.threshold = 0
		best = k.search(n)
	}
	return best.ascending(k.Pattern.Rows(), k.Pattern.Cols()), nil
}

// guess returns a score that a little more than n cells are expected to reach,
// from a sample of blocks. It returns 0 where there are too few blocks for one.
func (k *growth) guess(n int) uint32 {
	all := blocks(k.Pattern.Rows())
	if k.sample = 8; all < 2*k.sample {
		k.sample = all
	}
	if all < 4 {
		return 0
	}
	sampled := ceil(all, k.sample)
	rank := int(1.15*float64(n)*float64(sampled)/float64(all)) + 64
	k.sampling, k.threshold = true, 0
	best := k.search(rank)
	k.sampling = false
	if len(best.keys) < rank {
		return 0
	}
	return best.kth()
}

// search returns the best n candidates that reach the threshold, of all blocks
// or of those that are sampled.
func (k *growth) search(n int) *topK {
	for i := range k.workers {
		k.workers[i].reset(n, k.threshold)
	}
	tasks := blocks(k.Pattern.Rows())
	if k.sampling {
		tasks = ceil(tasks, k.sample)
	}
	k.b.pool.run(tasks, k)
	best := &k.workers[0].topK
	for i := range k.workers[1:] {
		w := &k.workers[1+i]
		for j, key := range w.keys {
			best.offer(key, w.cells[j])
		}
	}
	best.shrink()
	return best
}

func (k *growth) do(i, worker int) {
	if k.sampling {
		i *= k.sample
	}
	rows, cols := k.Pattern.Rows(), k.Pattern.Cols()
	w := &k.workers[worker]
	if w.tile == nil {
		w.tile, w.masks = make([]float32, rowBlock*stripWidth), make([]uint16, rowBlock*stripWidth/16)
	}
	lo, hi := blockRange(i, rows)
	rowPtr, colIdx := k.Pattern.RowPtr(), k.Pattern.ColIdx()
	var next [rowBlock]int32 // stored position of each row that comes next
	copy(next[:], rowPtr[lo:hi])
	for j := range k.strips.count {
		first := j * stripWidth
		n := min(stripWidth, cols-first)
		k.b.kernels.gemm(k.strips.block(j, 0, ceil(n, 8)*8, k.dy, rows, lo, hi, w.tile, stripWidth))
		masks := w.masks[:(hi-lo)*stripWidth/16]
		k.b.kernels.atLeast(masks, w.tile, scoreOf(w.threshold))
		for m, mask := range masks {
			for ; mask != 0; mask &= mask - 1 {
				at := 16*m + bits.TrailingZeros16(mask)
				r, c := at/stripWidth, at%stripWidth
				if c >= n || k.kept(&next[r], rowPtr[lo+r+1], colIdx, int32(first+c)) {
					continue
				}
				w.offer(keyOf(w.tile[at]), int64(lo+r)*int64(cols)+int64(first+c))
			}
		}
	}
}

// kept reports whether a column of a row is stored and stays. Columns of a row
// are asked for in ascending order; next is the position not yet passed.
func (k *growth) kept(next *int32, end int32, colIdx []int32, col int32) bool {
	p := *next
	for p < end && colIdx[p] < col {
		p++
	}
	*next = p
	return p < end && colIdx[p] == col && !k.dropped[p]
}

// ascending returns the cells in ascending order: they are counted by row and
// then put in place, since within a row they were found in order, or nearly.
func (t *topK) ascending(rows, cols int) []int64 {
	start := make([]int32, rows+1)
	for _, c := range t.cells {
		start[c/int64(cols)+1]++
	}
	for r := range rows {
		start[r+1] += start[r]
	}
	next := slices.Clone(start)
	cells := make([]int64, len(t.cells))
	for _, c := range t.cells {
		at := &next[c/int64(cols)]
		cells[*at] = c
		*at++
	}
	for r := range rows {
		if row := cells[start[r]:start[r+1]]; !slices.IsSorted(row) {
			slices.Sort(row)
		}
	}
	return cells
}
