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
// A few rows are sampled first: their k-th score, in proportion, is a threshold
// that nearly all cells fall below, at the cost of one comparison in a vector.
// The threshold is a guess that is checked: should fewer than k cells reach it,
// all are looked at again without one.
type growth struct {
	b *Backend
	ops.Growth
	strips  strips
	workers []growthWorker
	dropped []bool // by CSR position
	dy      []float32

	threshold uint32
	sampled   topK // scores of the sample
}

// growthWorker is what a worker has to itself.
type growthWorker struct {
	topK
	tile  []float32 // rowBlock × stripWidth of the gradient
	masks []uint64  // of its rows
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

const (
	// sampleRows is how many rows are sampled together: the height of a
	// register tile.
	sampleRows = 6
	// sampleCells bounds the sample, and with it the memory.
	sampleCells = 1 << 17
)

// guess returns a key that a little more than n cells are expected to reach, from
// a fortieth of the cells or sampleCells of them. It returns 0, which every cell
// reaches, where there are too few rows.
func (k *growth) guess(n int) uint32 {
	rows, cols := k.Pattern.Rows(), k.Pattern.Cols()
	groups := max(rows/(40*sampleRows), 4)
	if rows < 10*groups*sampleRows {
		return 0
	}
	w := k.worker(0)
	s := &k.sampled
	s.reset(0, 0)
	// Groups take turns with the strips when there are too many for all.
	stride := max(ceil(groups*sampleRows*cols, sampleCells), 1)
	s.keys = slices.Grow(s.keys, groups*sampleRows*ceil(k.strips.count, stride)*stripWidth)
	for g := range groups {
		lo := g * rows / groups
		for j := g % stride; j < k.strips.count; j += stride {
			n := min(stripWidth, cols-j*stripWidth)
			k.b.kernels.gemm(k.strips.block(j, 0, ceil(n, 8)*8, k.dy, rows, lo, lo+sampleRows, w.tile, stripWidth))
			for r := range sampleRows {
				for _, v := range w.tile[r*stripWidth:][:n] {
					s.keys = append(s.keys, keyOf(v))
				}
			}
		}
	}
	share := float64(len(s.keys)) / float64(k.Pattern.Cells())
	s.k = int(1.2*share*float64(n)) + 64
	if len(s.keys) < s.k {
		return 0
	}
	return s.kth()
}

// worker returns a worker with its memory.
func (k *growth) worker(i int) *growthWorker {
	w := &k.workers[i]
	if w.tile == nil {
		w.tile, w.masks = make([]float32, rowBlock*stripWidth), make([]uint64, rowBlock)
	}
	return w
}

// search returns the best n candidates that reach the threshold.
func (k *growth) search(n int) *topK {
	for i := range k.workers {
		k.workers[i].reset(n, k.threshold)
	}
	k.b.pool.run(blocks(k.Pattern.Rows()), k)
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
	rows, cols := k.Pattern.Rows(), k.Pattern.Cols()
	w := k.worker(worker)
	lo, hi := blockRange(i, rows)
	rowPtr := k.Pattern.RowPtr()
	var next [rowBlock]int32 // stored position of each row that comes next
	copy(next[:], rowPtr[lo:hi])
	for j := range k.strips.count {
		first := j * stripWidth
		n := min(stripWidth, cols-first)
		k.b.kernels.gemm(k.strips.block(j, 0, ceil(n, 8)*8, k.dy, rows, lo, hi, w.tile, stripWidth))
		k.b.kernels.atLeast(w.masks[:hi-lo], w.tile, scoreOf(w.threshold))
		for r, mask := range w.masks[:hi-lo] {
			mask &^= k.kept(&next[r], rowPtr[lo+r+1], int32(first)) | ^uint64(0)<<n
			cell := int64(lo+r)*int64(cols) + int64(first)
			for ; mask != 0; mask &= mask - 1 {
				c := bits.TrailingZeros64(mask)
				w.offer(keyOf(w.tile[r*stripWidth+c]), cell+int64(c))
			}
		}
	}
}

// kept returns which columns of the strip that starts at first are stored in a
// row and stay. next is the first position of the row in the strip, and moves to
// the next strip.
func (k *growth) kept(next *int32, end, first int32) (mask uint64) {
	colIdx := k.Pattern.ColIdx()
	p := *next
	for ; p < end; p++ {
		c := colIdx[p] - first
		if c >= stripWidth {
			break
		}
		if !k.dropped[p] {
			mask |= 1 << uint(c)
		}
	}
	*next = p
	return mask
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
