// Package problems are what the benchmarks time: single kernels on random
// operands, and a training step.
package problems

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/ops/cpu"
	"github.com/rigel-ml/rigel/optim"
	"github.com/rigel-ml/rigel/sparse"
)

// Options are the sizes of a problem: a weight of M × K, a batch of N, and the
// share of weights left out of each layer.
type Options struct {
	M, K, N  int
	Sparsity float64
	// Layers are the widths of a step's network, from the input's to the
	// classes; K, M, M and 10 if nil.
	Layers []int
}

// Problem is something to time.
type Problem struct {
	Run   func() error
	NNZ   int     // weights
	FLOPs float64 // useful floating-point operations in a run
}

// makers make a problem by its name.
var makers = map[string]func(b *cpu.Backend, name string, o Options) (Problem, error){
	"spmm": sparseProblem, "spmmt": sparseProblem, "sddmm": sparseProblem,
	"gemm": gemmProblem, "topk": topKProblem, "step": stepProblem,
}

// Names lists the problems.
func Names() []string { return slices.Sorted(maps.Keys(makers)) }

// New makes the problem of this name.
func New(b *cpu.Backend, name string, o Options) (Problem, error) {
	make, ok := makers[name]
	switch {
	case !ok:
		return Problem{}, fmt.Errorf("no problem %q; there are %s", name, strings.Join(Names(), ", "))
	case o.M < 1 || o.K < 1 || o.N < 1:
		return Problem{}, fmt.Errorf("a %d × %d weight and a batch of %d: want at least 1 each", o.M, o.K, o.N)
	case o.Layers != nil && (len(o.Layers) < 2 || slices.Min(o.Layers) < 1):
		return Problem{}, fmt.Errorf("layers %v: want two widths at least, of 1 at least", o.Layers)
	case !(o.Sparsity >= 0 && o.Sparsity < 1):
		return Problem{}, fmt.Errorf("sparsity %v, want 0 or more and below 1", o.Sparsity)
	}
	return make(b, name, o)
}

// Time returns the best and the median seconds of so many runs, after two that
// warm up.
func (p Problem) Time(reps int) (best, median float64, err error) {
	times := make([]float64, 0, reps)
	for i := range reps + 2 {
		start := time.Now()
		if err := p.Run(); err != nil {
			return 0, 0, err
		}
		if i >= 2 {
			times = append(times, time.Since(start).Seconds())
		}
	}
	slices.Sort(times)
	return times[0], times[len(times)/2], nil
}

// random is the source of everything that a benchmark fills in.
func random() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func pattern(o Options) (*sparse.Pattern, error) {
	nnz := int((1 - o.Sparsity) * float64(o.M) * float64(o.K))
	return sparse.RandomPattern(o.M, o.K, max(nnz, 1), random())
}

// planned is a problem that runs one kernel on random operands.
func planned(b *cpu.Backend, s ops.Spec, nnz int, flops float64) (Problem, error) {
	kernel, err := b.Plan(s)
	if err != nil {
		return Problem{}, err
	}
	sig, err := s.Signature()
	if err != nil {
		return Problem{}, err
	}
	var in []*tensor.Dense
	for _, o := range sig.In {
		t, err := filled(b, o)
		if err != nil {
			return Problem{}, err
		}
		in = append(in, t)
	}
	out, err := sig.Out.New(b)
	return Problem{func() error { return kernel.Run(out, in) }, nnz, flops}, err
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

func sparseProblem(b *cpu.Backend, name string, o Options) (Problem, error) {
	p, err := pattern(o)
	if err != nil {
		return Problem{}, err
	}
	panels, err := ops.NewPanels(o.N)
	if err != nil {
		return Problem{}, err
	}
	s := ops.SparseProblem{Pattern: p, Panels: panels}
	spec := map[string]ops.Spec{"spmm": ops.SpMM(s), "spmmt": ops.SpMMT(s), "sddmm": ops.SDDMM(s)}[name]
	return planned(b, spec, p.NNZ(), 2*float64(p.NNZ())*float64(o.N))
}

func gemmProblem(b *cpu.Backend, _ string, o Options) (Problem, error) {
	panels, err := ops.NewPanels(o.N)
	if err != nil {
		return Problem{}, err
	}
	return planned(b, ops.Linear{Out: o.M, In: o.K, Panels: panels}, o.M*o.K, 2*float64(o.M)*float64(o.K)*float64(o.N))
}

// topKProblem grows as many connections as the first RigL updates do, 30 % of
// the stored ones. Its rate is that of the dense gradient.
func topKProblem(b *cpu.Backend, _ string, o Options) (Problem, error) {
	p, err := pattern(o)
	if err != nil {
		return Problem{}, err
	}
	panels, err := ops.NewPanels(o.N)
	if err != nil {
		return Problem{}, err
	}
	kernel, err := b.PlanGrowth(ops.Growth{Pattern: p, Panels: panels})
	if err != nil {
		return Problem{}, err
	}
	dy, err := filled(b, ops.Operand{Shape: panels.Shape(o.M)})
	if err != nil {
		return Problem{}, err
	}
	x, err := filled(b, ops.Operand{Shape: panels.Shape(o.K)})
	if err != nil {
		return Problem{}, err
	}
	grow := min(p.NNZ()*3/10, int(p.Cells())-p.NNZ())
	return Problem{func() error {
		_, err := kernel.TopK(dy, x, grow, nil)
		return err
	}, p.NNZ(), 2 * float64(o.M) * float64(o.K) * float64(o.N)}, nil
}

// stepProblem is a training step with Adam: forward, loss, backward, update. Its
// rate counts the products with weights, two of the first layer and three of the
// others.
func stepProblem(b *cpu.Backend, _ string, o Options) (Problem, error) {
	widths := o.Layers
	if widths == nil {
		widths = []int{o.K, o.M, o.M, 10}
	}
	var layers nn.SequentialConfig
	for i, out := range widths[1:] {
		if i > 0 {
			layers = append(layers, nn.ReLUConfig{})
		}
		if o.Sparsity == 0 {
			layers = append(layers, nn.LinearConfig{In: widths[i], Out: out})
		} else {
			layers = append(layers, nn.SparseLinearConfig{In: widths[i], Out: out, Sparsity: o.Sparsity})
		}
	}
	features, classes := widths[0], widths[len(widths)-1]
	model, err := layers.Init(nn.NewInit(b, 1))
	if err != nil {
		return Problem{}, err
	}
	p, err := nn.Compile(b, nn.ProgramConfig{Model: model, Features: features, Batch: o.N, Training: true})
	if err != nil {
		return Problem{}, err
	}
	opt, err := optim.New(b, optim.Config{Rule: optim.Adam{}}, p.Params())
	if err != nil {
		return Problem{}, err
	}
	rng := random()
	x, labels := make([]float32, o.N*features), make([]int32, o.N)
	for i := range x {
		x[i] = rng.Float32()
	}
	for i := range labels {
		labels[i] = rng.Int32N(int32(classes))
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
			flops += products * 2 * float64(param.NNZ()) * float64(o.N)
		}
	}
	return Problem{func() error {
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
