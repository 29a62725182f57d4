package rigl

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/optim"
	"github.com/rigel-ml/rigel/sparse"
)

// Config describes how masks are trained.
type Config struct {
	Method   Method
	Schedule Schedule
	Seed     uint64 // of random growth
}

// Updater updates the masks of a compiled model. It has no state of its own:
// what it draws depends on the seed, the step and the layer alone, so a resumed
// run goes on as if it had never stopped.
type Updater struct {
	config    Config
	backend   ops.Backend
	optimizer *optim.Optimizer
	layers    []*Layer
}

// Layer is a sparse parameter whose mask is trained.
type Layer struct {
	Param *nn.Param

	backend ops.Backend
	program *nn.Program
	index   int // of Param among the program's parameters
	kernel  ops.GrowthKernel
}

// LayerReport tells what an update did to one layer.
type LayerReport struct {
	Name string
	NNZ  int
	// Dropped connections left and as many new ones arrived. Those that were
	// dropped and grown back at once are not among them.
	Dropped int
}

// Churn returns the share of the layer's connections that were replaced.
func (r LayerReport) Churn() float64 { return float64(r.Dropped) / float64(max(r.NNZ, 1)) }

// NewUpdater returns an updater for the sparse parameters of a program that was
// compiled for training, and the optimizer that trains them.
func NewUpdater(b ops.Backend, c Config, p *nn.Program, o *optim.Optimizer) (*Updater, error) {
	if err := c.Method.check(); err != nil {
		return nil, err
	}
	if err := c.Schedule.Check(); err != nil {
		return nil, err
	}
	if len(p.Params()) == 0 {
		return nil, fmt.Errorf("rigl: the program has no gradients: compile it for training")
	}
	u := &Updater{config: c, backend: b, optimizer: o}
	for i, param := range p.Params() {
		if param.Pattern != nil {
			u.layers = append(u.layers, &Layer{Param: param, backend: b, program: p, index: i})
		}
	}
	return u, nil
}

// Due reports whether the masks change at this step, in which case Update takes
// the place of the optimizer's step.
func (u *Updater) Due(step int) bool {
	return u.config.Method.moves() && len(u.layers) > 0 && u.config.Schedule.Due(step)
}

// Update drops and grows k = floor(f(step) · nnz) connections of every layer.
// It needs the gradients of the present batch: call it after the program ran.
// What stays keeps its value and optimizer state, also where it was dropped and
// grown back at once; what is new starts at 0 with fresh state. A method that
// moves nothing reports nothing.
func (u *Updater) Update(step int) ([]LayerReport, error) {
	if !u.config.Method.moves() {
		return nil, nil
	}
	fraction := u.config.Schedule.DropFraction(step)
	reports := make([]LayerReport, 0, len(u.layers))
	for _, l := range u.layers {
		d, err := u.updateLayer(l, int(fraction*float64(l.Param.NNZ())), step)
		if err != nil {
			return nil, fmt.Errorf("rigl: updating %s at step %d: %w", l.Param.Name, step, err)
		}
		reports = append(reports, LayerReport{Name: l.Param.Name, NNZ: l.Param.NNZ(), Dropped: d.Dropped})
	}
	return reports, nil
}

func (u *Updater) updateLayer(l *Layer, k int, step int) (*sparse.Delta, error) {
	w := make([]float32, l.Param.NNZ())
	if err := ops.Values(u.backend, l.Param.Pattern, w, l.Param.Value); err != nil {
		return nil, err
	}
	dropped := u.config.Method.Drop(w, k)
	grown, err := u.config.Method.Grow(l, k, dropped, u.rand(l, step))
	if err != nil {
		return nil, err
	}
	if len(dropped) != len(grown) {
		return nil, fmt.Errorf("%d connections dropped but %d grown", len(dropped), len(grown))
	}
	d, err := ops.UpdatePattern(u.backend, l.Param.Pattern, dropped, grown)
	if err != nil {
		return nil, err
	}
	if err := ops.Move(u.backend, l.Param.Value, d); err != nil {
		return nil, err
	}
	return d, u.optimizer.MoveState(l.Param, d)
}

// rand returns the generator of a layer at a step.
func (u *Updater) rand(l *Layer, step int) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s@%d", l.Param.Name, step)
	return rand.New(rand.NewPCG(u.config.Seed, h.Sum64()))
}

// LargestGradients returns the k cells with the largest dense gradient of the
// last run among those that are not kept. The dense gradient is streamed, never
// held.
func (l *Layer) LargestGradients(k int, dropped []int32) ([]int64, error) {
	problem, dy, x, err := l.program.GrowthInputs(l.index)
	if err != nil {
		return nil, err
	}
	if l.kernel == nil {
		if l.kernel, err = l.backend.PlanGrowth(problem); err != nil {
			return nil, err
		}
	}
	return l.kernel.TopK(dy, x, k, dropped)
}
