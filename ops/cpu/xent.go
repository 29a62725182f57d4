package cpu

import (
	"fmt"
	"math"

	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/ops"
)

// crossEntropy computes the loss, or its gradient with respect to the logits.
// A task is one panel; the losses of panels are added up in order.
type crossEntropy struct {
	ops.LayerProblem
	gradient bool
	n        int // samples that count
	logits   []float32
	labels   []int32
	loss     []float64 // one for each panel
	dloss    float32
	out      []float32
}

func planCrossEntropy(_ *Backend, s ops.CrossEntropy) computation {
	return &crossEntropy{LayerProblem: ops.LayerProblem(s), loss: make([]float64, s.Panels.Count)}
}

func planCrossEntropyGrad(_ *Backend, s ops.CrossEntropyGrad) computation {
	return &crossEntropy{LayerProblem: ops.LayerProblem(s), gradient: true}
}

func (k *crossEntropy) bind(out *tensor.Dense, in []*tensor.Dense) (int, error) {
	k.logits, k.labels, k.out = in[0].Float32s(), in[1].Int32s(), out.Float32s()
	if k.gradient {
		k.dloss = in[2].Float32s()[0]
	}
	k.n = 0
	for i, l := range k.labels {
		switch {
		case l == ops.Ignore:
		case l < 0 || int(l) >= k.Features:
			return 0, fmt.Errorf("%w: label %d of sample %d, want 0 to %d", ops.ErrOperand, l, i, k.Features-1)
		default:
			k.n++
		}
	}
	return k.Panels.Count, nil
}

func (k *crossEntropy) do(c, _ int) {
	width := k.Panels.Width
	z := panel(k.logits, c, k.Features, width)
	labels := k.labels[c*width : (c+1)*width]
	if k.gradient {
		dz := panel(k.out, c, k.Features, width)
		clear(dz)
		scale := float64(k.dloss) / float64(k.n)
		for s, l := range labels {
			if l != ops.Ignore {
				softmaxGrad(dz, z, s, width, int(l), scale)
			}
		}
		return
	}
	k.loss[c] = 0
	for s, l := range labels {
		if l != ops.Ignore {
			k.loss[c] += logSumExp(z, s, width) - float64(z[int(l)*width+s])
		}
	}
}

func (k *crossEntropy) finish() {
	if k.gradient {
		return
	}
	sum := 0.0
	for _, l := range k.loss {
		sum += l
	}
	k.out[0] = 0
	if k.n > 0 {
		k.out[0] = float32(sum / float64(k.n))
	}
}

// logSumExp returns log Σ exp(z) over the classes of sample s of a panel.
func logSumExp(z []float32, s, width int) float64 {
	top := largest(z, s, width)
	sum := 0.0
	for i := s; i < len(z); i += width {
		sum += math.Exp(float64(z[i] - top))
	}
	return float64(top) + math.Log(sum)
}

// largest returns the largest logit of sample s.
func largest(z []float32, s, width int) float32 {
	top := z[s]
	for i := s + width; i < len(z); i += width {
		top = max(top, z[i])
	}
	return top
}

// softmaxGrad writes scale · (softmax(z) - onehot(label)) for sample s.
func softmaxGrad(dz, z []float32, s, width, label int, scale float64) {
	top := largest(z, s, width)
	sum := 0.0
	for i := s; i < len(z); i += width {
		e := math.Exp(float64(z[i] - top))
		sum += e
		dz[i] = float32(e)
	}
	share := scale / sum
	for i := s; i < len(z); i += width {
		dz[i] = float32(float64(dz[i]) * share)
	}
	dz[label*width+s] -= float32(scale)
}
