package cpu

import (
	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/sparse"
)

// spmm computes Y = W X, or with transpose X = Wᵀ Y, and what follows. A task is
// one block of rows of one panel and goes through the blocks of columns in order;
// the bias is added with the first one, the last one ends with ReLU or gate.
type spmm struct {
	independent
	kernels     *kernels
	pool        *pool
	pattern     *sparse.Pattern
	panels      ops.Panels
	transpose   bool
	first, last int // flags of the first and the last block of columns

	form    *tiled
	w, x, y []float32
	bias    []float32
	gate    []float32 // or the residual
	turned  turned
}

func planSpMM(b *Backend, s ops.SpMM) computation {
	return &spmm{kernels: b.kernels, pool: b.pool, pattern: s.Pattern, panels: s.Panels}
}

func planSpMMT(b *Backend, s ops.SpMMT) computation {
	return &spmm{kernels: b.kernels, pool: b.pool, pattern: s.Pattern, panels: s.Panels, transpose: true}
}

func planSpMMAct(b *Backend, s ops.SpMMAct) computation {
	k := &spmm{kernels: b.kernels, pool: b.pool, pattern: s.Pattern, panels: s.Panels}
	if s.Bias {
		k.first = flagBias
	}
	if s.ReLU {
		k.last |= flagReLU
	}
	if s.Residual {
		k.last |= flagResidual
	}
	return k
}

func planSpMMTGate(b *Backend, s ops.SpMMTGate) computation {
	return &spmm{kernels: b.kernels, pool: b.pool, pattern: s.Pattern, panels: s.Panels, transpose: true, last: flagGate}
}

func (k *spmm) bind(out *tensor.Dense, in []*tensor.Dense) (int, error) {
	k.w, k.x, k.y = in[0].Float32s(), in[1].Float32s(), out.Float32s()
	more := in[2:]
	if k.first&flagBias != 0 {
		k.bias, more = more[0].Float32s(), more[1:]
	}
	if k.last&(flagGate|flagResidual) != 0 {
		k.gate = more[0].Float32s()
	}
	if !k.transpose {
		k.form = forwardForm(k.pattern)
	} else {
		// A copy into the order of the transposed form is cheaper than reading
		// the values through a permutation once a panel.
		f := bothForms(k.pattern)
		k.form = f.transposed
		k.turned = turned{source: f.source, from: k.w, values: resized(k.turned.values, len(k.w))}
		if n := ceil(len(f.source), vectorBlock); n > turnAlone {
			k.pool.run(n, &k.turned)
		} else {
			k.turned.all()
		}
		k.w = k.turned.values
	}
	return k.panels.Count * k.form.rowBlocks, nil
}

func (k *spmm) do(i, _ int) {
	t, width := k.form, k.panels.Width
	c, rb := i/t.rowBlocks, i%t.rowBlocks
	row := rb * t.rowBlock
	x := panel(k.x, c, t.cols, width)
	y := panel(k.y, c, t.rows, width)[row*width:]
	var bias, gate []float32
	if k.bias != nil {
		bias = k.bias[row:]
	}
	if k.gate != nil {
		gate = panel(k.gate, c, t.rows, width)[row*width:]
	}
	for cb := range t.colBlocks {
		flags := flagAccumulate
		if cb == 0 {
			flags = k.first
		}
		if cb == t.colBlocks-1 {
			flags |= k.last
		}
		tl := rb*t.colBlocks + cb
		k.kernels.spmm(t, tl, k.w[t.tiles[tl].nnz:], x[cb*t.colBlock*width:], y, width, flags, bias, gate)
	}
}

// sddmm computes dW[p] = dY[row(p),:] · X[col(p),:]. A task is one tile and goes
// through all panels in order.
type sddmm struct {
	independent
	kernels   *kernels
	pattern   *sparse.Pattern
	panels    ops.Panels
	form      *tiled
	dy, x, dw []float32
}

func planSDDMM(b *Backend, s ops.SDDMM) computation {
	return &sddmm{kernels: b.kernels, pattern: s.Pattern, panels: s.Panels}
}

func (k *sddmm) bind(out *tensor.Dense, in []*tensor.Dense) (int, error) {
	k.form = forwardForm(k.pattern)
	k.dy, k.x, k.dw = in[0].Float32s(), in[1].Float32s(), out.Float32s()
	return len(k.form.tiles), nil
}

func (k *sddmm) do(i, _ int) {
	t, width := k.form, k.panels.Width
	row, col := i/t.colBlocks*t.rowBlock, i%t.colBlocks*t.colBlock
	dw := k.dw[t.tiles[i].nnz:t.end(i)]
	clear(dw)
	for c := range k.panels.Count {
		x := panel(k.x, c, t.cols, width)[col*width:]
		dy := panel(k.dy, c, t.rows, width)[row*width:]
		k.kernels.sddmm(t, i, dw, x, dy, width)
	}
}

// panel returns panel c of a tensor with so many features.
func panel(t []float32, c, features, width int) []float32 {
	return t[c*features*width : (c+1)*features*width]
}
