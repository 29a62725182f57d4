package cpu

import (
	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/sparse"
)

// rowBlock is how many rows of a matrix one task covers.
const rowBlock = 32

func blocks(rows int) int { return (rows + rowBlock - 1) / rowBlock }

// blockRange returns the rows of block i.
func blockRange(i, rows int) (lo, hi int) { return i * rowBlock, min((i+1)*rowBlock, rows) }

// spmm computes Y = W X. A task is one block of rows of one panel.
type spmm struct {
	independent
	pattern *sparse.Pattern
	panels  ops.Panels
	w, x, y []float32
}

func planSpMM(_ *Backend, s ops.SpMM) computation {
	return &spmm{pattern: s.Pattern, panels: s.Panels}
}

func (k *spmm) bind(out *tensor.Dense, in []*tensor.Dense) (int, error) {
	k.w, k.x, k.y = in[0].Float32s(), in[1].Float32s(), out.Float32s()
	return k.panels.Count * blocks(k.pattern.Rows()), nil
}

func (k *spmm) do(i, _ int) {
	rows, n := k.pattern.Rows(), blocks(k.pattern.Rows())
	lo, hi := blockRange(i%n, rows)
	x := panel(k.x, i/n, k.pattern.Cols(), k.panels.Width)
	y := panel(k.y, i/n, rows, k.panels.Width)
	gatherRows(k.pattern.RowPtr(), k.pattern.ColIdx(), k.w, x, y, k.panels.Width, lo, hi)
}

// spmmt computes dX = Wᵀ dY as SpMM over the transposed index. The values are
// copied into the transpose's order first, which is cheaper than reading them
// through the permutation once a panel.
type spmmt struct {
	independent
	pattern    *sparse.Pattern
	panels     ops.Panels
	t          *sparse.Transposed
	wt, dy, dx []float32
}

func planSpMMT(_ *Backend, s ops.SpMMT) computation {
	return &spmmt{pattern: s.Pattern, panels: s.Panels}
}

func (k *spmmt) bind(out *tensor.Dense, in []*tensor.Dense) (int, error) {
	k.t = k.pattern.Transposed()
	if len(k.wt) != len(k.t.Perm) {
		k.wt = make([]float32, len(k.t.Perm))
	}
	w := in[0].Float32s()
	for i, p := range k.t.Perm {
		k.wt[i] = w[p]
	}
	k.dy, k.dx = in[1].Float32s(), out.Float32s()
	return k.panels.Count * blocks(k.pattern.Cols()), nil
}

func (k *spmmt) do(i, _ int) {
	cols, n := k.pattern.Cols(), blocks(k.pattern.Cols())
	lo, hi := blockRange(i%n, cols)
	dy := panel(k.dy, i/n, k.pattern.Rows(), k.panels.Width)
	dx := panel(k.dx, i/n, cols, k.panels.Width)
	gatherRows(k.t.RowPtr, k.t.ColIdx, k.wt, dy, dx, k.panels.Width, lo, hi)
}

// sddmm computes dW[p] = dY[row(p),:] · X[col(p),:]. A task is one block of
// rows and goes through all panels in order.
type sddmm struct {
	independent
	pattern   *sparse.Pattern
	panels    ops.Panels
	dy, x, dw []float32
}

func planSDDMM(_ *Backend, s ops.SDDMM) computation {
	return &sddmm{pattern: s.Pattern, panels: s.Panels}
}

func (k *sddmm) bind(out *tensor.Dense, in []*tensor.Dense) (int, error) {
	k.dy, k.x, k.dw = in[0].Float32s(), in[1].Float32s(), out.Float32s()
	return blocks(k.pattern.Rows()), nil
}

func (k *sddmm) do(i, _ int) {
	rows, width := k.pattern.Rows(), k.panels.Width
	rowPtr, colIdx := k.pattern.RowPtr(), k.pattern.ColIdx()
	lo, hi := blockRange(i, rows)
	clear(k.dw[rowPtr[lo]:rowPtr[hi]])
	for c := range k.panels.Count {
		x := panel(k.x, c, k.pattern.Cols(), width)
		dy := panel(k.dy, c, rows, width)
		for r := lo; r < hi; r++ {
			g := dy[r*width : (r+1)*width]
			for p := rowPtr[r]; p < rowPtr[r+1]; p++ {
				j := int(colIdx[p]) * width
				k.dw[p] += dot(g, x[j:j+width])
			}
		}
	}
}

// panel returns panel c of a tensor with so many features.
func panel(t []float32, c, features, width int) []float32 {
	return t[c*features*width : (c+1)*features*width]
}

// gatherRows computes rows lo to hi of one panel of Y = W X. Eight samples at a
// time stay in registers while a row's non-zeros pass.
func gatherRows(rowPtr, colIdx []int32, w, x, y []float32, width, lo, hi int) {
	for r := lo; r < hi; r++ {
		cols, vals := colIdx[rowPtr[r]:rowPtr[r+1]], w[rowPtr[r]:rowPtr[r+1]]
		for s := 0; s < width; s += 8 {
			var a0, a1, a2, a3, a4, a5, a6, a7 float32
			for p, j := range cols {
				v := vals[p]
				q := (*[8]float32)(x[int(j)*width+s:])
				a0 += v * q[0]
				a1 += v * q[1]
				a2 += v * q[2]
				a3 += v * q[3]
				a4 += v * q[4]
				a5 += v * q[5]
				a6 += v * q[6]
				a7 += v * q[7]
			}
			*(*[8]float32)(y[r*width+s:]) = [8]float32{a0, a1, a2, a3, a4, a5, a6, a7}
		}
	}
}

// dot returns a · b for slices of equal length, a multiple of 8. Four partial
// sums hide the latency of the additions.
func dot(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	for i := 0; i < len(a); i += 8 {
		p, q := (*[8]float32)(a[i:]), (*[8]float32)(b[i:])
		s0 += p[0]*q[0] + p[4]*q[4]
		s1 += p[1]*q[1] + p[5]*q[5]
		s2 += p[2]*q[2] + p[6]*q[6]
		s3 += p[3]*q[3] + p[7]*q[7]
	}
	return (s0 + s1) + (s2 + s3)
}
