package optim

import (
	"fmt"
	"math"
)

// Schedule gives the learning rate of each step, counted from 0. A schedule is
// a plain value without state, so a resumed run needs only the step.
type Schedule interface {
	LR(step int) float64
	// Check reports numbers that make no sense.
	Check() error
}

// Constant is the same rate at each step.
type Constant float64

// LR returns the rate.
func (c Constant) LR(int) float64 { return float64(c) }

// Check wants a finite rate that is not negative.
func (c Constant) Check() error { return checkRate(float64(c)) }

// StepDecay multiplies the rate by Factor at each of the Milestones.
type StepDecay struct {
	Base       float64
	Factor     float64
	Milestones []int // steps, ascending
}

// LR returns the rate.
func (s StepDecay) LR(step int) float64 {
	lr := s.Base
	for _, m := range s.Milestones {
		if step >= m {
			lr *= s.Factor
		}
	}
	return lr
}

// Check wants ascending milestones and a finite factor above 0.
func (s StepDecay) Check() error {
	if !(s.Factor > 0) || math.IsInf(s.Factor, 0) {
		return fmt.Errorf("optim: step decay by a factor of %v, want a finite number above 0", s.Factor)
	}
	for i := 1; i < len(s.Milestones); i++ {
		if s.Milestones[i] <= s.Milestones[i-1] {
			return fmt.Errorf("optim: step decay: milestone %d after %d", s.Milestones[i], s.Milestones[i-1])
		}
	}
	return checkRate(s.Base)
}

// Cosine falls from Base to Floor along half a cosine over Steps steps and
// stays there (Loshchilov and Hutter, ICLR 2017, without restarts).
type Cosine struct {
	Base, Floor float64
	Steps       int
}

// LR returns the rate.
func (c Cosine) LR(step int) float64 {
	t := min(float64(step)/float64(c.Steps), 1)
	return c.Floor + (c.Base-c.Floor)*(1+math.Cos(math.Pi*t))/2
}

// Check wants at least one step.
func (c Cosine) Check() error {
	if c.Steps < 1 {
		return fmt.Errorf("optim: cosine schedule over %d steps, want at least 1", c.Steps)
	}
	if err := checkRate(c.Floor); err != nil {
		return err
	}
	return checkRate(c.Base)
}

// Warmup rises linearly over the first Steps steps to the rate of Then, which
// counts its steps from the start of training all the same.
type Warmup struct {
	Steps int
	Then  Schedule
}

// LR returns the rate.
func (w Warmup) LR(step int) float64 {
	lr := w.Then.LR(step)
	if step < w.Steps {
		lr *= float64(step+1) / float64(w.Steps+1)
	}
	return lr
}

// Check wants a schedule to warm up to.
func (w Warmup) Check() error {
	if w.Then == nil || w.Steps < 0 {
		return fmt.Errorf("optim: warm-up over %d steps to %v", w.Steps, w.Then)
	}
	return w.Then.Check()
}

func checkRate(lr float64) error {
	if !(lr >= 0) || math.IsInf(lr, 0) {
		return fmt.Errorf("optim: learning rate %v, want a finite number that is not negative", lr)
	}
	return nil
}
