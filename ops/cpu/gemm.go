package cpu

import (
	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/ops"
)

// gemm computes Y = W X for a dense row-major W. A task is one block of rows
// of one panel.
type gemm struct {
	independent
	rows, cols int
	panels     ops.Panels
	transpose  bool      // the operand is Wᵀ, to be turned first
	turned     []float32 // scratch for it
	w, x, y    []float32
}

func planLinear(_ *Backend, s ops.Linear) computation {
	return &gemm{rows: s.Out, cols: s.In, panels: s.Panels}
}

func planLinearT(_ *Backend, s ops.LinearT) computation {
	return &gemm{rows: s.In, cols: s.Out, panels: s.Panels, transpose: true, turned: make([]float32, s.In*s.Out)}
}

func (k *gemm) bind(out *tensor.Dense, in []*tensor.Dense) (int, error) {
	k.w, k.x, k.y = in[0].Float32s(), in[1].Float32s(), out.Float32s()
	if k.transpose {
		transpose(k.turned, k.w, k.cols, k.rows)
		k.w = k.turned
	}
	return k.panels.Count * blocks(k.rows), nil
}

func (k *gemm) do(i, _ int) {
	n, width := blocks(k.rows), k.panels.Width
	lo, hi := blockRange(i%n, k.rows)
	x := panel(k.x, i/n, k.cols, width)
	y := panel(k.y, i/n, k.rows, width)
	for r := lo; r < hi; r++ {
		w := k.w[r*k.cols : (r+1)*k.cols]
		for s := 0; s < width; s += 8 {
			var a0, a1, a2, a3, a4, a5, a6, a7 float32
			at := s
			for _, v := range w {
				q := (*[8]float32)(x[at:])
				a0 += v * q[0]
				a1 += v * q[1]
				a2 += v * q[2]
				a3 += v * q[3]
				a4 += v * q[4]
				a5 += v * q[5]
				a6 += v * q[6]
				a7 += v * q[7]
				at += width
			}
			*(*[8]float32)(y[r*width+s:]) = [8]float32{a0, a1, a2, a3, a4, a5, a6, a7}
		}
	}
}

// transpose writes the rows × cols matrix src into dst as cols × rows, in
// squares that fit the nearest cache.
func transpose(dst, src []float32, rows, cols int) {
	const square = 32
	for r0 := 0; r0 < rows; r0 += square {
		for c0 := 0; c0 < cols; c0 += square {
			for r := r0; r < min(r0+square, rows); r++ {
				for c := c0; c < min(c0+square, cols); c++ {
					dst[c*rows+r] = src[r*cols+c]
				}
			}
		}
	}
}

// linearGrad computes dW = dY Xᵀ. A task is one block of rows.
type linearGrad struct {
	independent
	rows, cols int
	panels     ops.Panels
	dy, x, dw  []float32
}

func planLinearGrad(_ *Backend, s ops.LinearGrad) computation {
	return &linearGrad{rows: s.Out, cols: s.In, panels: s.Panels}
}

func (k *linearGrad) bind(out *tensor.Dense, in []*tensor.Dense) (int, error) {
	k.dy, k.x, k.dw = in[0].Float32s(), in[1].Float32s(), out.Float32s()
	return blocks(k.rows), nil
}

func (k *linearGrad) do(i, _ int) {
	lo, hi := blockRange(i, k.rows)
	for r := lo; r < hi; r += gradRows {
		n := min(gradRows, hi-r)
		gradientRows(k.dw[r*k.cols:(r+n)*k.cols], k.dy, k.x, k.panels, k.rows, k.cols, r, n)
	}
}

// gradRows is how many rows of dY are multiplied with one row of X at a time.
const gradRows = 4

// gradientRows writes rows r to r+n of dY Xᵀ, n ≤ gradRows, into dw, row-major
// n × cols. The order of additions does not depend on n.
func gradientRows(dw, dy, x []float32, p ops.Panels, rows, cols, r, n int) {
	clear(dw)
	for c := range p.Count {
		xp := panel(x, c, cols, p.Width)
		g := panel(dy, c, rows, p.Width)[r*p.Width : (r+n)*p.Width]
		for j := range cols {
			xj := xp[j*p.Width : (j+1)*p.Width]
			if n == gradRows {
				s0, s1, s2, s3 := dot4(g, xj)
				dw[j] += s0
				dw[cols+j] += s1
				dw[2*cols+j] += s2
				dw[3*cols+j] += s3
				continue
			}
			for i := range n {
				dw[i*cols+j] += dotInOrder(g[i*p.Width:(i+1)*p.Width], xj)
			}
		}
	}
}

// dot4 returns the products of four consecutive rows of g with x, each added
// up from left to right.
func dot4(g, x []float32) (s0, s1, s2, s3 float32) {
	n := len(x)
	g0, g1, g2, g3 := g[:n], g[n:2*n], g[2*n:3*n], g[3*n:4*n]
	for i, v := range x {
		s0 += g0[i] * v
		s1 += g1[i] * v
		s2 += g2[i] * v
		s3 += g3[i] * v
	}
	return s0, s1, s2, s3
}

// dotInOrder is one row of dot4.
func dotInOrder(g, x []float32) (s float32) {
	g = g[:len(x)]
	for i, v := range x {
		s += g[i] * v
	}
	return s
}
