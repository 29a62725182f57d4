package ref

import "github.com/rigel-ml/rigel/ops"

// view addresses a panel tensor: sample s of feature f.
type view struct {
	p        ops.Panels
	features int
	data     []float64
}

func (v view) at(f, s int) *float64 {
	return &v.data[(s/v.p.Width*v.features+f)*v.p.Width+s%v.p.Width]
}

// entries calls f for each stored position of a pattern.
func entries(p ops.SparseProblem, f func(pos, row, col int)) {
	for i := range p.Pattern.Rows() {
		for pos := p.Pattern.RowPtr()[i]; pos < p.Pattern.RowPtr()[i+1]; pos++ {
			f(int(pos), i, int(p.Pattern.ColIdx()[pos]))
		}
	}
}

func spmm(s ops.SpMM, w, x, y []float64) {
	clear(y)
	X, Y := view{s.Panels, s.Pattern.Cols(), x}, view{s.Panels, s.Pattern.Rows(), y}
	entries(ops.SparseProblem(s), func(pos, row, col int) {
		for b := range s.Panels.Slots() {
			*Y.at(row, b) += w[pos] * *X.at(col, b)
		}
	})
}

func spmmt(s ops.SpMMT, w, dy, dx []float64) {
	clear(dx)
	DX, DY := view{s.Panels, s.Pattern.Cols(), dx}, view{s.Panels, s.Pattern.Rows(), dy}
	entries(ops.SparseProblem(s), func(pos, row, col int) {
		for b := range s.Panels.Slots() {
			*DX.at(col, b) += w[pos] * *DY.at(row, b)
		}
	})
}

func sddmm(s ops.SDDMM, dy, x, dw []float64) {
	clear(dw)
	X, DY := view{s.Panels, s.Pattern.Cols(), x}, view{s.Panels, s.Pattern.Rows(), dy}
	entries(ops.SparseProblem(s), func(pos, row, col int) {
		for b := range s.Panels.Slots() {
			dw[pos] += *DY.at(row, b) * *X.at(col, b)
		}
	})
}

func linear(s ops.Linear, w, x, y []float64) {
	clear(y)
	X, Y := view{s.Panels, s.In, x}, view{s.Panels, s.Out, y}
	for i := range s.Out {
		for j := range s.In {
			for b := range s.Panels.Slots() {
				*Y.at(i, b) += w[i*s.In+j] * *X.at(j, b)
			}
		}
	}
}

func lineart(s ops.LinearT, w, dy, dx []float64) {
	clear(dx)
	DX, DY := view{s.Panels, s.In, dx}, view{s.Panels, s.Out, dy}
	for i := range s.Out {
		for j := range s.In {
			for b := range s.Panels.Slots() {
				*DX.at(j, b) += w[i*s.In+j] * *DY.at(i, b)
			}
		}
	}
}

func lineargrad(s ops.LinearGrad, dy, x, dw []float64) {
	clear(dw)
	X, DY := view{s.Panels, s.In, x}, view{s.Panels, s.Out, dy}
	for i := range s.Out {
		for j := range s.In {
			for b := range s.Panels.Slots() {
				dw[i*s.In+j] += *DY.at(i, b) * *X.at(j, b)
			}
		}
	}
}
