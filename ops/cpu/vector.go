package cpu

import (
	"math"

	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/ops"
)

// vectorBlock is how many elements of a vector one task covers.
const vectorBlock = 4096

// elementwise is a computation over vectors of equal length. A task is one
// block; the body sees the block of each operand.
type elementwise struct {
	independent
	body      func(out, a, b, c []float32)
	out       []float32
	a, b, c   []float32
	beforeRun func()
}

func (k *elementwise) bind(out *tensor.Dense, in []*tensor.Dense) (int, error) {
	k.out = out.Float32s()
	for i, dst := range []*[]float32{&k.a, &k.b, &k.c}[:len(in)] {
		*dst = in[i].Float32s()
	}
	if k.beforeRun != nil {
		k.beforeRun()
	}
	return (len(k.out) + vectorBlock - 1) / vectorBlock, nil
}

func (k *elementwise) do(i, _ int) {
	lo, hi := i*vectorBlock, min((i+1)*vectorBlock, len(k.out))
	cut := func(v []float32) []float32 {
		if v == nil {
			return nil
		}
		return v[lo:hi]
	}
	k.body(k.out[lo:hi], cut(k.a), cut(k.b), cut(k.c))
}

func planReLU(*Backend, ops.ReLU) computation {
	return &elementwise{body: func(y, x, _, _ []float32) {
		for i, v := range x {
			if v <= 0 { // false for NaN, which passes through
				v = 0
			}
			y[i] = v
		}
	}}
}

func planReLUGrad(*Backend, ops.ReLUGrad) computation {
	return &elementwise{body: func(dx, y, dy, _ []float32) {
		for i, v := range y {
			g := dy[i]
			if !(v > 0) {
				g = 0
			}
			dx[i] = g
		}
	}}
}

func planSGD(_ *Backend, s ops.SGD) computation {
	h := s.Hyper
	return &elementwise{body: func(w, g, _, _ []float32) {
		for i, v := range w {
			w[i] = v - h.LR*(h.GradScale*g[i]+h.WeightDecay*v)
		}
	}}
}

func planMomentum(_ *Backend, s ops.Momentum) computation {
	h := s.Hyper
	return &elementwise{body: func(w, g, velocity, _ []float32) {
		for i, weight := range w {
			grad := h.GradScale*g[i] + h.WeightDecay*weight
			v := h.Momentum*velocity[i] + grad
			velocity[i] = v
			if h.Nesterov {
				v = grad + h.Momentum*v
			}
			w[i] = weight - h.LR*v
		}
	}}
}

func planAdam(_ *Backend, s ops.Adam) computation {
	h := s.Hyper
	var c1, c2 float32 // 1 over the bias corrections of this step
	k := &elementwise{beforeRun: func() {
		c1 = float32(1 / (1 - math.Pow(float64(h.Beta1), float64(h.Step))))
		c2 = float32(1 / (1 - math.Pow(float64(h.Beta2), float64(h.Step))))
	}}
	k.body = func(w, g, m, v []float32) {
		for i, weight := range w {
			grad := h.GradScale * g[i]
			if h.Decoupled {
				weight -= h.LR * h.WeightDecay * weight
			} else {
				grad += h.WeightDecay * weight
			}
			m[i] = h.Beta1*m[i] + (1-h.Beta1)*grad
			v[i] = h.Beta2*v[i] + (1-h.Beta2)*grad*grad
			w[i] = weight - h.LR*(m[i]*c1)/(float32(math.Sqrt(float64(v[i]*c2)))+h.Epsilon)
		}
	}
	return k
}

// sumSquares adds up blocks in float64 and then the blocks in order.
type sumSquares struct {
	x, out []float32
	part   []float64
}

func planSumSquares(_ *Backend, s ops.SumSquares) computation {
	return &sumSquares{part: make([]float64, (s.N+vectorBlock-1)/vectorBlock)}
}

func (k *sumSquares) bind(out *tensor.Dense, in []*tensor.Dense) (int, error) {
	k.x, k.out = in[0].Float32s(), out.Float32s()
	return len(k.part), nil
}

func (k *sumSquares) do(i, _ int) {
	sum := 0.0
	for _, v := range k.x[i*vectorBlock : min((i+1)*vectorBlock, len(k.x))] {
		sum += float64(v) * float64(v)
	}
	k.part[i] = sum
}

func (k *sumSquares) finish() {
	sum := 0.0
	for _, v := range k.part {
		sum += v
	}
	k.out[0] = float32(sum)
}
