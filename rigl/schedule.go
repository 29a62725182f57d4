package rigl

import (
	"fmt"
	"math"
)

// Schedule says when masks are updated and how much of them. The zero values
// of Every and Fraction stand for the defaults of the RigL paper.
type Schedule struct {
	// Every is the number of steps from one update to the next, ΔT. 100 if 0.
	Every int
	// End is the step from which on masks stay as they are, T_end. The paper
	// takes three quarters of all steps.
	End int
	// Fraction is the share of connections that the first updates drop, α. 0.3
	// if 0.
	Fraction float64
}

func (s Schedule) withDefaults() Schedule {
	if s.Every == 0 {
		s.Every = 100
	}
	if s.Fraction == 0 {
		s.Fraction = 0.3
	}
	return s
}

// Check reports numbers that make no sense.
func (s Schedule) Check() error {
	d := s.withDefaults()
	if d.Every < 1 || d.End < 0 || !(d.Fraction > 0 && d.Fraction < 1) {
		return fmt.Errorf("rigl: masks updated every %d steps until step %d by a fraction of %v: want a positive interval, an end that is not negative, a fraction between 0 and 1",
			d.Every, d.End, d.Fraction)
	}
	return nil
}

// Due reports whether the masks are updated at this step, counted from 0. The
// update takes the place of the optimizer's step.
func (s Schedule) Due(step int) bool {
	d := s.withDefaults()
	return step > 0 && step < d.End && step%d.Every == 0
}

// DropFraction returns f(t) = α/2 · (1 + cos(π t / T_end)), and 0 from T_end
// on.
func (s Schedule) DropFraction(step int) float64 {
	d := s.withDefaults()
	if step >= d.End {
		return 0
	}
	return d.Fraction / 2 * (1 + math.Cos(math.Pi*float64(step)/float64(d.End)))
}
