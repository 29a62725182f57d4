// Package ref is the backend that defines what every other one must compute:
// plain loops over float64, one function for each operation, written to be read
// beside the formula. It is slow and meant for tests, where finite differences
// need its precision.
package ref

import (
	"fmt"

	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/ops"
)

// Backend computes in float64 on the calling goroutine.
type Backend struct{ tensor.StdEng }

var _ ops.Backend = (*Backend)(nil)

// New returns a reference backend.
func New() *Backend { return &Backend{} }

// Device returns "ref".
func (*Backend) Device() string { return "ref" }

// Dtype returns tensor.Float64.
func (*Backend) Dtype() tensor.Dtype { return tensor.Float64 }

// kernel is a planned reference: a signature and a function of checked
// operands.
type kernel struct {
	b   *Backend
	op  ops.Op
	sig ops.Signature
	run func(out *tensor.Dense, in []*tensor.Dense) error
}

// Run checks the operands and computes.
func (k *kernel) Run(out *tensor.Dense, in []*tensor.Dense) error {
	if err := k.sig.Check(k.b, k.op, out, in); err != nil {
		return err
	}
	return k.run(out, in)
}

// Plan returns the reference for any Spec of package ops.
func (b *Backend) Plan(s ops.Spec) (ops.Kernel, error) {
	if s == nil {
		return nil, fmt.Errorf("%w: nil", ops.ErrSpec)
	}
	sig, err := s.Signature()
	if err != nil {
		return nil, err
	}
	run := lookup(s)
	if run == nil {
		return nil, fmt.Errorf("%w: %s on %s", ops.ErrNotImplemented, s.Op(), b.Device())
	}
	return &kernel{b: b, op: s.Op(), sig: sig, run: run}, nil
}

// f64 makes a kernel of a function over the operands' elements.
func f64(f func(out []float64, in [][]float64)) func(*tensor.Dense, []*tensor.Dense) error {
	return func(out *tensor.Dense, in []*tensor.Dense) error {
		args := make([][]float64, len(in))
		for i, t := range in {
			args[i] = t.Float64s()
		}
		f(out.Float64s(), args)
		return nil
	}
}

func lookup(s ops.Spec) func(*tensor.Dense, []*tensor.Dense) error {
	switch s := s.(type) {
	case ops.SpMM:
		return f64(func(out []float64, in [][]float64) { spmm(s, in[0], in[1], out) })
	case ops.SpMMT:
		return f64(func(out []float64, in [][]float64) { spmmt(s, in[0], in[1], out) })
	case ops.SDDMM:
		return f64(func(out []float64, in [][]float64) { sddmm(s, in[0], in[1], out) })
	case ops.Linear:
		return f64(func(out []float64, in [][]float64) { linear(s, in[0], in[1], out) })
	case ops.LinearT:
		return f64(func(out []float64, in [][]float64) { lineart(s, in[0], in[1], out) })
	case ops.LinearGrad:
		return f64(func(out []float64, in [][]float64) { lineargrad(s, in[0], in[1], out) })
	case ops.BiasAdd:
		return f64(func(out []float64, in [][]float64) { biasadd(s, in[0], in[1], out) })
	case ops.BiasGrad:
		return f64(func(out []float64, in [][]float64) { biasgrad(s, in[0], out) })
	case ops.ReLU:
		return f64(func(out []float64, in [][]float64) { relu(in[0], out) })
	case ops.ReLUGrad:
		return f64(func(out []float64, in [][]float64) { relugrad(in[0], in[1], out) })
	case ops.Dropout:
		return f64(func(out []float64, in [][]float64) { dropout(s, in[0], out) })
	case ops.Pack:
		return f64(func(out []float64, in [][]float64) { pack(s, in[0], out) })
	case ops.Unpack:
		return f64(func(out []float64, in [][]float64) { unpack(s, in[0], out) })
	case ops.SumSquares:
		return f64(func(out []float64, in [][]float64) { sumsquares(in[0], out) })
	case ops.SGD:
		return f64(func(w []float64, in [][]float64) { sgd(s, in[0], w) })
	case ops.Momentum:
		return f64(func(w []float64, in [][]float64) { momentum(s, in[0], in[1], w) })
	case ops.Adam:
		return f64(func(w []float64, in [][]float64) { adam(s, in[0], in[1], in[2], w) })
	case ops.SpMMAct:
		return f64(func(out []float64, in [][]float64) {
			spmm(ops.SpMM(s.SparseProblem), in[0], in[1], out)
			activate(s.Activation, s.Panels, s.Pattern.Rows(), in, out)
		})
	case ops.LinearAct:
		return f64(func(out []float64, in [][]float64) {
			linear(ops.Linear(s.DenseProblem), in[0], in[1], out)
			activate(s.Activation, s.Panels, s.Out, in, out)
		})
	case ops.SpMMTGate:
		return f64(func(out []float64, in [][]float64) {
			spmmt(ops.SpMMT(s), in[0], in[1], out)
			relugrad(in[2], out, out)
		})
	case ops.LinearTGate:
		return f64(func(out []float64, in [][]float64) {
			lineart(ops.LinearT(s), in[0], in[1], out)
			relugrad(in[2], out, out)
		})
	case ops.CrossEntropy:
		return func(out *tensor.Dense, in []*tensor.Dense) error {
			return crossentropy(s, in[0].Float64s(), in[1].Int32s(), out.Float64s())
		}
	case ops.CrossEntropyGrad:
		return func(out *tensor.Dense, in []*tensor.Dense) error {
			return crossentropygrad(s, in[0].Float64s(), in[1].Int32s(), in[2].Float64s()[0], out.Float64s())
		}
	}
	return nil
}
