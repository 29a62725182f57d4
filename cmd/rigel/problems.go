package main

import (
	"math/rand/v2"

	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/ops/cpu"
	"github.com/rigel-ml/rigel/optim"
	"github.com/rigel-ml/rigel/sparse"
)

// random is the source of everything that a benchmark fills in.
func random() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func pattern(o benchOptions) (*sparse.Pattern, error) {
	nnz := int((1 - o.sparsity) * float64(o.m) * float64(o.k))
	return sparse.RandomPattern(o.m, o.k, max(nnz, 1), random())
}

// planned is a problem that runs one kernel on random operands.
func planned(b *cpu.Backend, s ops.Spec, nnz int, flops float64) (problem, error) {
	kernel, err := b.Plan(s)
	if err != nil {
		return problem{}, err
	}
	sig, err := s.Signature()
	if err != nil {
		return problem{}, err
	}
	var in []*tensor.Dense
	for _, o := range sig.In {
		t, err := filled(b, o)
		if err != nil {
			return problem{}, err
		}
		in = append(in, t)
	}
	out, err := sig.Out.New(b)
	return problem{func() error { return kernel.Run(out, in) }, nnz, flops}, err
}

func filled(b *cpu.Backend, o ops.Operand) (*tensor.Dense, error) {
	t, err := o.New(b)
	if err != nil {
		return nil, err
	}
	rng := random()
	values := t.Float32s()
	for i := range values {
		values[i] = rng.Float32() - 0.5
	}
	return t, nil
}

func sparseProblem(b *cpu.Backend, o benchOptions) (problem, error) {
	p, err := pattern(o)
	if err != nil {
		return problem{}, err
	}
	panels, err := ops.NewPanels(o.n)
	if err != nil {
		return problem{}, err
	}
	s := ops.SparseProblem{Pattern: p, Panels: panels}
	spec := map[string]ops.Spec{"spmm": ops.SpMM(s), "spmmt": ops.SpMMT(s), "sddmm": ops.SDDMM(s)}[o.op]
	return planned(b, spec, p.NNZ(), 2*float64(p.NNZ())*float64(o.n))
}

func gemmProblem(b *cpu.Backend, o benchOptions) (problem, error) {
	panels, err := ops.NewPanels(o.n)
	if err != nil {
		return problem{}, err
	}
	return planned(b, ops.Linear{Out: o.m, In: o.k, Panels: panels}, o.m*o.k, 2*float64(o.m)*float64(o.k)*float64(o.n))
}

// topKProblem grows as many connections as the first RigL updates do, 30 % of
// the stored ones. Its rate is that of the dense gradient.
func topKProblem(b *cpu.Backend, o benchOptions) (problem, error) {
	p, err := pattern(o)
	if err != nil {
		return problem{}, err
	}
	panels, err := ops.NewPanels(o.n)
	if err != nil {
		return problem{}, err
	}
	kernel, err := b.PlanGrowth(ops.Growth{Pattern: p, Panels: panels})
	if err != nil {
		return problem{}, err
	}
	dy, err := filled(b, ops.Operand{Shape: panels.Shape(o.m)})
	if err != nil {
		return problem{}, err
	}
	x, err := filled(b, ops.Operand{Shape: panels.Shape(o.k)})
	if err != nil {
		return problem{}, err
	}
	grow := min(p.NNZ()*3/10, int(p.Cells())-p.NNZ())
	return problem{func() error {
		_, err := kernel.TopK(dy, x, grow, nil)
		return err
	}, p.NNZ(), 2 * float64(o.m) * float64(o.k) * float64(o.n)}, nil
}

// stepProblem is a training step of k-m-m-10 with Adam: forward, loss, backward,
// update. Its rate counts the products with weights, two of the first layer and
// three of the others.
func stepProblem(b *cpu.Backend, o benchOptions) (problem, error) {
	const classes = 10
	layer := func(in, out int) nn.Config {
		if o.sparsity == 0 {
			return nn.LinearConfig{In: in, Out: out}
		}
		return nn.SparseLinearConfig{In: in, Out: out, Sparsity: o.sparsity}
	}
	model, err := nn.SequentialConfig{
		layer(o.k, o.m), nn.ReLUConfig{}, layer(o.m, o.m), nn.ReLUConfig{}, layer(o.m, classes),
	}.Init(nn.NewInit(b, 1))
	if err != nil {
		return problem{}, err
	}
	p, err := nn.Compile(b, nn.ProgramConfig{Model: model, Features: o.k, Batch: o.n, Training: true})
	if err != nil {
		return problem{}, err
	}
	opt, err := optim.New(b, optim.Config{Rule: optim.Adam{}}, p.Params())
	if err != nil {
		return problem{}, err
	}
	rng := random()
	x, labels := make([]float32, o.n*o.k), make([]int32, o.n)
	for i := range x {
		x[i] = rng.Float32()
	}
	for i := range labels {
		labels[i] = rng.Int32N(classes)
	}
	gradients := make([]*tensor.Dense, len(p.Params()))
	nnz, flops := 0, 0.0
	for i, param := range p.Params() {
		if param.IsWeight() {
			nnz += param.NNZ()
			products := 3.0
			if i == 0 {
				products = 2
			}
			flops += products * 2 * float64(param.NNZ()) * float64(o.n)
		}
	}
	return problem{func() error {
		if err := p.Load(x, labels); err != nil {
			return err
		}
		if err := p.Run(0); err != nil {
			return err
		}
		for i := range gradients {
			if gradients[i], err = p.Gradient(i); err != nil {
				return err
			}
		}
		return opt.Step(gradients, 1e-3)
	}, nnz, flops}, nil
}
