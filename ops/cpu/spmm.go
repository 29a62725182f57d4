package cpu

import (
	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/sparse"
)

// spmm computes Y = W X, or with transpose X = Wᵀ Y. A task is one block of
// rows of one panel and goes through the blocks of columns in order.
type spmm struct {
	independent
	kernels   *kernels
	pattern   *sparse.Pattern
	panels    ops.Panels
	transpose bool

	form    *tiled
	w, x, y []float32
}

func planSpMM(b *Backend, s ops.SpMM) computation {
	return &spmm{kernels: b.kernels, pattern: s.Pattern, panels: s.Panels}
}

func planSpMMT(b *Backend, s ops.SpMMT) computation {
	return &spmm{kernels: b.kernels, pattern: s.Pattern, panels: s.Panels, transpose: true}
}

func (k *spmm) bind(out *tensor.Dense, in []*tensor.Dense) (int, error) {
	k.w, k.x, k.y = in[0].Float32s(), in[1].Float32s(), out.Float32s()
	if !k.transpose {
		k.form = forwardForm(k.pattern)
	} else {
		// A copy into the order of the transposed form is cheaper than reading
		// the values through a permutation once a panel.
		f := bothForms(k.pattern)
		k.form = f.transposed
		for i, at := range f.source {
			f.turned[i] = k.w[at]
		}
		k.w = f.turned
	}
	return k.panels.Count * k.form.rowBlocks, nil
}

func (k *spmm) do(i, _ int) {
	t, width := k.form, k.panels.Width
	x := panel(k.x, i/t.rowBlocks, t.cols, width)
	y := panel(k.y, i/t.rowBlocks, t.rows, width)[i%t.rowBlocks*t.rowBlock*width:]
	first := i % t.rowBlocks * t.colBlocks
	flags := 0
	for cb := range t.colBlocks {
		k.kernels.spmm(t, first+cb, k.w[t.tiles[first+cb].nnz:], x[cb*t.colBlock*width:], y, width, flags, nil, nil)
		flags = flagAccumulate
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
