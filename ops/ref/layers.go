package ref

import (
	"fmt"
	"math"

	"github.com/rigel-ml/rigel/ops"
)

func biasadd(s ops.BiasAdd, x, bias, y []float64) {
	X, Y := view{s.Panels, s.Features, x}, view{s.Panels, s.Features, y}
	for f := range s.Features {
		for b := range s.Panels.Slots() {
			*Y.at(f, b) = *X.at(f, b) + bias[f]
		}
	}
}

func biasgrad(s ops.BiasGrad, dy, db []float64) {
	DY := view{s.Panels, s.Features, dy}
	for f := range s.Features {
		db[f] = 0
		for b := range s.Panels.Slots() {
			db[f] += *DY.at(f, b)
		}
	}
}

// activate finishes the output of a product with what follows its two inputs.
func activate(a ops.Activation, p ops.Panels, features int, in [][]float64, y []float64) {
	more := in[2:]
	if a.Bias {
		biasadd(ops.BiasAdd{Features: features, Panels: p}, y, more[0], y)
		more = more[1:]
	}
	if a.Residual {
		for i, r := range more[0] {
			y[i] += r
		}
	}
	if a.ReLU {
		relu(y, y)
	}
}

func relu(x, y []float64) {
	for i, v := range x {
		y[i] = v
		if v <= 0 { // false for NaN, which passes through
			y[i] = 0
		}
	}
}

func relugrad(y, dy, dx []float64) {
	for i, v := range y { // dx may be dy
		if v > 0 {
			dx[i] = dy[i]
		} else {
			dx[i] = 0
		}
	}
}

func dropout(s ops.Dropout, x, y []float64) {
	X, Y := view{s.Panels, s.Features, x}, view{s.Panels, s.Features, y}
	for f := range s.Features {
		for b := range s.Panels.Slots() {
			*Y.at(f, b) = 0
			if s.Keeps(b, f) {
				*Y.at(f, b) = *X.at(f, b) / (1 - s.P)
			}
		}
	}
}

func pack(s ops.Pack, a, x []float64) {
	clear(x)
	X := view{s.Panels, s.Features, x}
	for b := range s.Panels.Batch {
		for f := range s.Features {
			*X.at(f, b) = a[b*s.Features+f]
		}
	}
}

func unpack(s ops.Unpack, x, a []float64) {
	X := view{s.Panels, s.Features, x}
	for b := range s.Panels.Batch {
		for f := range s.Features {
			a[b*s.Features+f] = *X.at(f, b)
		}
	}
}

// counted returns how many samples have a label, and an error for a label that
// is neither a class nor Ignore.
func counted(labels []int32, classes int) (n int, err error) {
	for i, l := range labels {
		switch {
		case l == ops.Ignore:
		case l < 0 || int(l) >= classes:
			return 0, fmt.Errorf("%w: label %d of sample %d, want 0 to %d", ops.ErrOperand, l, i, classes-1)
		default:
			n++
		}
	}
	return n, nil
}

// logSumExp returns log Σ exp(z) over the classes of one sample.
func logSumExp(z view, b int) float64 {
	top, sum := math.Inf(-1), 0.0
	for c := range z.features {
		top = math.Max(top, *z.at(c, b))
	}
	for c := range z.features {
		sum += math.Exp(*z.at(c, b) - top)
	}
	return top + math.Log(sum)
}

func crossentropy(s ops.CrossEntropy, logits []float64, labels []int32, loss []float64) error {
	n, err := counted(labels, s.Features)
	if err != nil {
		return err
	}
	z := view{s.Panels, s.Features, logits}
	loss[0] = 0
	for b, l := range labels {
		if l != ops.Ignore {
			loss[0] += (logSumExp(z, b) - *z.at(int(l), b)) / float64(n)
		}
	}
	return nil
}

func crossentropygrad(s ops.CrossEntropyGrad, logits []float64, labels []int32, dloss float64, dlogits []float64) error {
	n, err := counted(labels, s.Features)
	if err != nil {
		return err
	}
	clear(dlogits)
	z, dz := view{s.Panels, s.Features, logits}, view{s.Panels, s.Features, dlogits}
	for b, l := range labels {
		if l == ops.Ignore {
			continue
		}
		lse := logSumExp(z, b)
		for c := range s.Features {
			p := math.Exp(*z.at(c, b) - lse)
			if c == int(l) {
				p--
			}
			*dz.at(c, b) = p * dloss / float64(n)
		}
	}
	return nil
}
