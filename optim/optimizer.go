package optim

import (
	"fmt"
	"math"

	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/sparse"
)

// Config describes an optimizer.
type Config struct {
	Rule Rule
	// ClipNorm scales the gradients down whenever their norm over all
	// parameters is larger (Pascanu et al., ICML 2013). 0 for no limit.
	ClipNorm float64
}

// Optimizer updates parameters from their gradients. It owns the state.
type Optimizer struct {
	backend ops.Backend
	config  Config
	entries []entry
	steps   int

	norm    []ops.Kernel // the sum of squares of each gradient
	normOut *tensor.Dense
	normIn  []*tensor.Dense
	host    []float32
}

// entry is a parameter with what updates it.
type entry struct {
	param  *nn.Param
	update Update
	args   []*tensor.Dense // gradient, then state in the order of Rule.State
}

// New returns an optimizer of these parameters with fresh state.
func New(b ops.Backend, c Config, params []*nn.Param) (*Optimizer, error) {
	if c.Rule == nil {
		return nil, fmt.Errorf("optim: no rule")
	}
	if !(c.ClipNorm >= 0) {
		return nil, fmt.Errorf("optim: gradient norm clipped at %v, want a positive number, or 0 for no limit", c.ClipNorm)
	}
	o := &Optimizer{backend: b, config: c, normIn: make([]*tensor.Dense, 1), host: make([]float32, 1)}
	var err error
	if o.normOut, err = b.New(b.Dtype(), 1); err != nil {
		return nil, err
	}
	for _, p := range params {
		e := entry{param: p, args: make([]*tensor.Dense, 1)}
		if e.update, err = c.Rule.Plan(b, p.NNZ(), p.Decays); err != nil {
			return nil, err
		}
		for range c.Rule.State() {
			s, err := b.New(b.Dtype(), p.NNZ())
			if err != nil {
				return nil, err
			}
			e.args = append(e.args, s)
		}
		k, err := b.Plan(ops.SumSquares{N: p.NNZ()})
		if err != nil {
			return nil, err
		}
		o.entries, o.norm = append(o.entries, e), append(o.norm, k)
	}
	return o, nil
}

// Step moves every parameter along its gradient, in the order of the
// parameters given to New. The tensors are read, not kept.
func (o *Optimizer) Step(gradients []*tensor.Dense, lr float64) error {
	if err := o.check(gradients); err != nil {
		return err
	}
	scale := 1.0
	if o.config.ClipNorm > 0 {
		norm, err := o.Norm(gradients)
		if err != nil {
			return err
		}
		if norm > o.config.ClipNorm {
			scale = o.config.ClipNorm / norm
		}
	}
	o.steps++
	for i := range o.entries {
		e := &o.entries[i]
		e.args[0] = gradients[i]
		e.update.Set(lr, scale, o.steps)
		if err := e.update.Kernel.Run(e.param.Value, e.args); err != nil {
			return fmt.Errorf("%s: %w", e.param.Name, err)
		}
	}
	return nil
}

// check reports gradients that do not fit, before any parameter moves.
func (o *Optimizer) check(gradients []*tensor.Dense) error {
	if len(gradients) != len(o.entries) {
		return fmt.Errorf("optim: %d gradients for %d parameters", len(gradients), len(o.entries))
	}
	for i, g := range gradients {
		p := o.entries[i].param
		if err := ops.CheckTransfer(g, o.backend.Dtype(), p.NNZ()); err != nil {
			return fmt.Errorf("gradient of %s: %w", p.Name, err)
		}
	}
	return nil
}

// Norm returns the Euclidean norm of all gradients together.
func (o *Optimizer) Norm(gradients []*tensor.Dense) (float64, error) {
	if err := o.check(gradients); err != nil {
		return 0, err
	}
	sum := 0.0
	for i, k := range o.norm {
		o.normIn[0] = gradients[i]
		if err := k.Run(o.normOut, o.normIn); err != nil {
			return 0, fmt.Errorf("%s: %w", o.entries[i].param.Name, err)
		}
		if err := o.backend.Download(o.host, o.normOut); err != nil {
			return 0, err
		}
		sum += float64(o.host[0])
	}
	return math.Sqrt(sum), nil
}

// MoveState rearranges the state of a parameter after an
// ops.UpdatePattern: what stayed keeps its state, what is new starts from zero.
func (o *Optimizer) MoveState(p *nn.Param, d *sparse.Delta) error {
	for _, e := range o.entries {
		if e.param != p {
			continue
		}
		for _, s := range e.args[1:] {
			if err := ops.Move(o.backend, s, d); err != nil {
				return fmt.Errorf("%s: %w", p.Name, err)
			}
		}
		return nil
	}
	return fmt.Errorf("optim: %s is not one of the optimizer's parameters", p.Name)
}

// State is one array of an optimizer's state.
type State struct {
	Param *nn.Param
	Name  string // as Rule.State has it
	Value *tensor.Dense
}

// States returns the state, by parameter and name in a fixed order. Upload to a
// Value to restore it.
func (o *Optimizer) States() []State {
	var all []State
	for _, e := range o.entries {
		for i, name := range o.config.Rule.State() {
			all = append(all, State{e.param, name, e.args[1+i]})
		}
	}
	return all
}

// Steps returns how many steps were taken.
func (o *Optimizer) Steps() int { return o.steps }

// SetSteps restores the number of steps taken.
func (o *Optimizer) SetSteps(n int) { o.steps = n }

// Bytes returns the memory of the state.
func (o *Optimizer) Bytes() int64 {
	var n int64
	for _, s := range o.States() {
		n += int64(s.Value.DataSize()) * int64(s.Value.Dtype().Size())
	}
	return n
}
