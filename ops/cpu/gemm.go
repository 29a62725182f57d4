package cpu

import (
	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/ops"
)

// gemm computes Y = W X for a dense row-major W, or X = Wᵀ Y, which reads W by
// columns, and what follows. A task is one block of rows of one panel.
type gemm struct {
	independent
	kernels    *kernels
	rows, cols int // of the matrix that multiplies
	panels     ops.Panels
	wRow, wK   int
	after      int // flags
	w, x, y    []float32
	bias       []float32
	gate       []float32 // or the residual
}

func planLinear(b *Backend, s ops.Linear) computation {
	return &gemm{kernels: b.kernels, rows: s.Out, cols: s.In, panels: s.Panels, wRow: s.In, wK: 1}
}

func planLinearT(b *Backend, s ops.LinearT) computation {
	return &gemm{kernels: b.kernels, rows: s.In, cols: s.Out, panels: s.Panels, wRow: 1, wK: s.In}
}

func planLinearAct(b *Backend, s ops.LinearAct) computation {
	k := &gemm{kernels: b.kernels, rows: s.Out, cols: s.In, panels: s.Panels, wRow: s.In, wK: 1}
	if s.Bias {
		k.after |= flagBias
	}
	if s.ReLU {
		k.after |= flagReLU
	}
	if s.Residual {
		k.after |= flagResidual
	}
	return k
}

func planLinearTGate(b *Backend, s ops.LinearTGate) computation {
	return &gemm{kernels: b.kernels, rows: s.In, cols: s.Out, panels: s.Panels, wRow: 1, wK: s.In, after: flagGate}
}

func (k *gemm) bind(out *tensor.Dense, in []*tensor.Dense) (int, error) {
	k.w, k.x, k.y = in[0].Float32s(), in[1].Float32s(), out.Float32s()
	more := in[2:]
	if k.after&flagBias != 0 {
		k.bias, more = more[0].Float32s(), more[1:]
	}
	if k.after&(flagGate|flagResidual) != 0 {
		k.gate = more[0].Float32s()
	}
	return k.panels.Count * blocks(k.rows), nil
}

func (k *gemm) do(i, _ int) {
	n, width := blocks(k.rows), k.panels.Width
	lo, hi := blockRange(i%n, k.rows)
	y := panel(k.y, i/n, k.rows, width)[lo*width : hi*width]
	if k.cols == 0 {
		clear(y)
	} else {
		k.kernels.gemm(gemmBlock{
			rows: hi - lo, width: width, panels: 1, k: k.cols,
			w: k.w[lo*k.wRow:], wRow: k.wRow, wK: k.wK,
			x: panel(k.x, i/n, k.cols, width), xK: width,
			y: y, yRow: width,
		})
	}
	// The block is still in the cache.
	if k.after&flagBias != 0 {
		for r := range hi - lo {
			row := y[r*width : (r+1)*width]
			k.kernels.addConst(row, row, &k.bias[lo+r])
		}
	}
	var gate []float32
	if k.gate != nil {
		gate = panel(k.gate, i/n, k.rows, width)[lo*width : hi*width]
	}
	if k.after&flagResidual != 0 {
		k.kernels.add(y, y, gate)
	}
	if k.after&flagReLU != 0 {
		k.kernels.relu(y, y)
	}
	if k.after&flagGate != 0 {
		k.kernels.reluGrad(y, gate, y)
	}
}

// rowBlock is how many rows of a dense matrix one task covers: a multiple of the
// tallest register tile.
const rowBlock = 96

func blocks(rows int) int { return ceil(rows, rowBlock) }

// blockRange returns the rows of block i.
func blockRange(i, rows int) (lo, hi int) { return i * rowBlock, min((i+1)*rowBlock, rows) }

// linearGrad computes dW = dY Xᵀ. A task is one block of rows.
type linearGrad struct {
	independent
	b      *Backend
	strips strips
	rows   int
	dy, dw []float32
	tail   [][]float32 // one for each worker: columns that do not fill a vector
}

func planLinearGrad(b *Backend, s ops.LinearGrad) computation {
	return &linearGrad{b: b, strips: newStrips(s.In, s.Panels), rows: s.Out, tail: make([][]float32, b.Threads())}
}

func (k *linearGrad) bind(out *tensor.Dense, in []*tensor.Dense) (int, error) {
	k.dy, k.dw = in[0].Float32s(), out.Float32s()
	k.strips.fill(k.b.kernels, in[1].Float32s())
	return blocks(k.rows), nil
}

func (k *linearGrad) do(i, worker int) {
	lo, hi := blockRange(i, k.rows)
	cols := k.strips.cols
	for j := range k.strips.count {
		first := j * stripWidth
		whole := min(stripWidth, cols-first) / 8 * 8
		dst := k.dw[lo*cols+first:]
		if whole > 0 {
			k.b.kernels.gemm(k.strips.block(j, 0, whole, k.dy, k.rows, lo, hi, dst, cols))
		}
		rest := min(stripWidth, cols-first) - whole
		if rest == 0 {
			continue
		}
		if k.tail[worker] == nil {
			k.tail[worker] = make([]float32, rowBlock*8)
		}
		tail := k.tail[worker]
		k.b.kernels.gemm(k.strips.block(j, whole, 8, k.dy, k.rows, lo, hi, tail, 8))
		for r := range hi - lo {
			copy(dst[r*cols+whole:][:rest], tail[r*8:])
		}
	}
}

// strips hold X transposed, in strips of stripWidth features, so that the dense
// gradient dY Xᵀ is a product like the others: a strip's features are its
// columns, and the samples are what is added up over.
type strips struct {
	cols, count int
	panels      ops.Panels
	data        []float32 // [strip][panel][sample][stripWidth]
}

const stripWidth = 64

func newStrips(cols int, p ops.Panels) strips {
	s := strips{cols: cols, count: ceil(cols, stripWidth), panels: p}
	s.data = make([]float32, s.count*p.Slots()*stripWidth)
	return s
}

// fill transposes X. Features past the last are zeros.
func (s *strips) fill(k *kernels, x []float32) {
	width := s.panels.Width
	for j := range s.count {
		first := j * stripWidth
		for c := range s.panels.Count {
			src := panel(x, c, s.cols, width)[first*width:]
			dst := s.data[(j*s.panels.Count+c)*width*stripWidth:]
			k.transpose(dst, stripWidth, src, width, min(stripWidth, s.cols-first), width)
		}
	}
}

// block is the product of rows lo to hi of dY, which has so many rows, with
// width columns of strip j from a column on. Columns past the last are zeros.
func (s *strips) block(j, from, width int, dy []float32, rows, lo, hi int, dst []float32, stride int) gemmBlock {
	samples := s.panels.Width
	return gemmBlock{
		rows: hi - lo, width: width, panels: s.panels.Count, k: samples,
		w: dy[lo*samples:], wRow: samples, wK: 1, wPanel: rows * samples,
		x: s.data[j*s.panels.Slots()*stripWidth+from:], xK: stripWidth, xPanel: samples * stripWidth,
		y: dst, yRow: stride,
	}
}
