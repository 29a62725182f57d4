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

func planReLU(b *Backend, _ ops.ReLU) computation {
	return &elementwise{body: func(y, x, _, _ []float32) { b.kernels.relu(y, x) }}
}

func planReLUGrad(b *Backend, _ ops.ReLUGrad) computation {
	return &elementwise{body: func(dx, y, dy, _ []float32) { b.kernels.reluGrad(dx, y, dy) }}
}

func planSGD(b *Backend, s ops.SGD) computation {
	var c sgdConsts
	return &elementwise{
		beforeRun: func() { c = sgdConsts{gradScale: s.Hyper.GradScale, l2: s.Hyper.WeightDecay, lr: s.Hyper.LR} },
		body:      func(w, g, _, _ []float32) { b.kernels.sgd(w, g, &c) },
	}
}

func planMomentum(b *Backend, s ops.Momentum) computation {
	var c momentumConsts
	step := b.kernels.momentum
	if s.Hyper.Nesterov {
		step = b.kernels.nesterov
	}
	return &elementwise{
		beforeRun: func() {
			h := s.Hyper
			c = momentumConsts{gradScale: h.GradScale, l2: h.WeightDecay, lr: h.LR, momentum: h.Momentum}
		},
		body: func(w, g, v, _ []float32) { step(w, g, v, &c) },
	}
}

func planAdam(b *Backend, s ops.Adam) computation {
	var c adamConsts
	step := b.kernels.adam
	if s.Hyper.Decoupled {
		step = b.kernels.adamw
	}
	return &elementwise{
		beforeRun: func() {
			h := s.Hyper
			c = adamConsts{
				gradScale: h.GradScale, decay: h.WeightDecay,
				beta1: h.Beta1, oneMinusBeta1: 1 - h.Beta1, beta2: h.Beta2, oneMinusBeta2: 1 - h.Beta2,
				lr:         float32(float64(h.LR) / (1 - math.Pow(float64(h.Beta1), float64(h.Step)))),
				correction: float32(1 / (1 - math.Pow(float64(h.Beta2), float64(h.Step)))),
				epsilon:    h.Epsilon,
			}
			if h.Decoupled {
				c.decay = 1 - h.LR*h.WeightDecay
			}
		},
		body: func(w, g, m, v []float32) { step(w, g, m, v, &c) },
	}
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
	x := k.x[i*vectorBlock : min((i+1)*vectorBlock, len(k.x))]
	var s0, s1, s2, s3 float64 // four sums hide the latency of the additions
	for len(x) >= 4 {
		q := (*[4]float32)(x)
		a, b, c, d := float64(q[0]), float64(q[1]), float64(q[2]), float64(q[3])
		s0, s1, s2, s3 = s0+a*a, s1+b*b, s2+c*c, s3+d*d
		x = x[4:]
	}
	for _, v := range x {
		s0 += float64(v) * float64(v)
	}
	k.part[i] = (s0 + s1) + (s2 + s3)
}

func (k *sumSquares) finish() {
	sum := 0.0
	for _, v := range k.part {
		sum += v
	}
	k.out[0] = float32(sum)
}
