package ref

import (
	"math"

	"github.com/rigel-ml/rigel/ops"
)

func sumsquares(x, sum []float64) {
	sum[0] = 0
	for _, v := range x {
		sum[0] += v * v
	}
}

func sgd(s ops.SGD, g, w []float64) {
	h := s.Hyper
	for i := range w {
		w[i] -= float64(h.LR) * (float64(h.GradScale)*g[i] + float64(h.WeightDecay)*w[i])
	}
}

func momentum(s ops.Momentum, g, v, w []float64) {
	h := s.Hyper
	for i := range w {
		grad := float64(h.GradScale)*g[i] + float64(h.WeightDecay)*w[i]
		v[i] = float64(h.Momentum)*v[i] + grad
		step := v[i]
		if h.Nesterov {
			step = grad + float64(h.Momentum)*v[i]
		}
		w[i] -= float64(h.LR) * step
	}
}

func adam(s ops.Adam, g, m, v, w []float64) {
	h := s.Hyper
	b1, b2, lr := float64(h.Beta1), float64(h.Beta2), float64(h.LR)
	c1, c2 := 1-math.Pow(b1, float64(h.Step)), 1-math.Pow(b2, float64(h.Step))
	for i := range w {
		grad := float64(h.GradScale) * g[i]
		if h.Decoupled {
			w[i] *= 1 - lr*float64(h.WeightDecay)
		} else {
			grad += float64(h.WeightDecay) * w[i]
		}
		m[i] = b1*m[i] + (1-b1)*grad
		v[i] = b2*v[i] + (1-b2)*grad*grad
		w[i] -= lr * (m[i] / c1) / (math.Sqrt(v[i]/c2) + float64(h.Epsilon))
	}
}
