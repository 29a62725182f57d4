package optim

import (
	"fmt"
	"math"

	"github.com/rigel-ml/rigel/ops"
)

// Rule is an update rule. New rules need no change anywhere else: the Optimizer
// makes their state, and carries it through mask updates and checkpoints, by
// the names that they give.
type Rule interface {
	// Name is what files and messages call the rule.
	Name() string
	// State names the arrays of state, one number a weight each.
	State() []string
	// Plan returns what updates n weights. decays is false for parameters that
	// weight decay leaves alone.
	Plan(b ops.Backend, n int, decays bool) (Update, error)
}

// Update updates one parameter.
type Update struct {
	// Kernel takes the gradient and then the arrays of state; its output is the
	// weights.
	Kernel ops.Kernel
	// Set gives the kernel the numbers of the next step: the learning rate, a
	// factor for the gradient, and the number of the step, from 1.
	Set func(lr, gradScale float64, step int)
}

// SGD is stochastic gradient descent, with momentum and Nesterov's form of it
// if asked. The zero value is plain SGD.
type SGD struct {
	Momentum    float64 // 0 ≤ Momentum < 1; with 0 there is no state
	Nesterov    bool    // needs Momentum
	WeightDecay float64 // L2
}

// Name returns "sgd".
func (SGD) Name() string { return "sgd" }

// State returns the velocity, if there is momentum.
func (r SGD) State() []string {
	if r.Momentum == 0 {
		return nil
	}
	return []string{"velocity"}
}

// Plan plans a step.
func (r SGD) Plan(b ops.Backend, n int, decays bool) (Update, error) {
	if !(r.Momentum >= 0 && float32(r.Momentum) < 1) || !finite(r.WeightDecay) {
		return Update{}, fmt.Errorf("optim: sgd with momentum %v and weight decay %v, want 0 ≤ momentum < 1 and a finite decay ≥ 0", r.Momentum, r.WeightDecay)
	}
	if r.Nesterov && r.Momentum == 0 {
		return Update{}, fmt.Errorf("optim: sgd: Nesterov needs momentum")
	}
	h := &ops.SGDHyper{Momentum: float32(r.Momentum), Nesterov: r.Nesterov}
	if decays {
		h.WeightDecay = float32(r.WeightDecay)
	}
	var spec ops.Spec = ops.SGD{N: n, Hyper: h}
	if r.Momentum > 0 {
		spec = ops.Momentum{N: n, Hyper: h}
	}
	k, err := b.Plan(spec)
	return Update{k, func(lr, scale float64, _ int) { h.LR, h.GradScale = float32(lr), float32(scale) }}, err
}

// Adam is Adam (Kingma and Ba, ICLR 2015). The zero value has the paper's
// constants.
type Adam struct {
	Beta1, Beta2 float64 // 0.9 and 0.999 if 0
	Epsilon      float64 // 1e-8 if 0
	WeightDecay  float64 // L2, through the gradient; see AdamW
}

// Name returns "adam".
func (Adam) Name() string { return "adam" }

// State returns the two moments.
func (Adam) State() []string { return []string{"moment1", "moment2"} }

// Plan plans a step.
func (r Adam) Plan(b ops.Backend, n int, decays bool) (Update, error) {
	return r.plan(b, n, decays, false)
}

// AdamW is Adam with decoupled weight decay (Loshchilov and Hutter, ICLR 2019):
// each step also shrinks the weight by LR·WeightDecay.
type AdamW struct {
	Beta1, Beta2 float64 // 0.9 and 0.999 if 0
	Epsilon      float64 // 1e-8 if 0
	WeightDecay  float64
}

// Name returns "adamw".
func (AdamW) Name() string { return "adamw" }

// State returns the two moments.
func (AdamW) State() []string { return Adam{}.State() }

// Plan plans a step.
func (r AdamW) Plan(b ops.Backend, n int, decays bool) (Update, error) {
	return Adam(r).plan(b, n, decays, true)
}

func (r Adam) plan(b ops.Backend, n int, decays, decoupled bool) (Update, error) {
	if r.Beta1 == 0 {
		r.Beta1 = 0.9
	}
	if r.Beta2 == 0 {
		r.Beta2 = 0.999
	}
	if r.Epsilon == 0 {
		r.Epsilon = 1e-8
	}
	h := &ops.AdamHyper{Beta1: float32(r.Beta1), Beta2: float32(r.Beta2), Epsilon: float32(r.Epsilon), Decoupled: decoupled}
	// As rounded: a beta of 1 or an epsilon of 0 would divide 0 by 0.
	ok := h.Beta1 > 0 && h.Beta1 < 1 && h.Beta2 > 0 && h.Beta2 < 1 && h.Epsilon > 0 && finite(r.Epsilon) && finite(r.WeightDecay)
	if !ok {
		name := r.Name()
		if decoupled {
			name = AdamW(r).Name()
		}
		return Update{}, fmt.Errorf("optim: %s with betas %v and %v, epsilon %v, weight decay %v: in float32 betas lie between 0 and 1, epsilon is positive and decay not negative, and both are finite",
			name, r.Beta1, r.Beta2, r.Epsilon, r.WeightDecay)
	}
	if decays {
		h.WeightDecay = float32(r.WeightDecay)
	}
	k, err := b.Plan(ops.Adam{N: n, Hyper: h})
	return Update{k, func(lr, scale float64, step int) {
		h.LR, h.GradScale, h.Step = float32(lr), float32(scale), step
	}}, err
}

// finite reports whether v is a finite float32 that is not negative.
func finite(v float64) bool { return v >= 0 && v <= math.MaxFloat32 }
