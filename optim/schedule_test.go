package optim_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rigel-ml/rigel/optim"
)

// The tables are worked out by hand.
func TestSchedules(t *testing.T) {
	half := math.Sqrt2 / 2 // cos 45°
	for name, tc := range map[string]struct {
		schedule optim.Schedule
		want     map[int]float64
	}{
		"constant": {optim.Constant(0.1), map[int]float64{0: 0.1, 1: 0.1, 1_000_000: 0.1}},
		"step decay": {
			optim.StepDecay{Base: 8, Factor: 0.5, Milestones: []int{10, 20, 21}},
			map[int]float64{0: 8, 9: 8, 10: 4, 19: 4, 20: 2, 21: 1, 1_000_000: 1},
		},
		"step decay without milestones": {optim.StepDecay{Base: 8, Factor: 0.5}, map[int]float64{0: 8, 100: 8}},
		// Floor + (Base - Floor)·(1 + cos(180°·step/8))/2.
		"cosine": {
			optim.Cosine{Base: 5, Floor: 1, Steps: 8},
			map[int]float64{0: 5, 2: 3 + 2*half, 4: 3, 6: 3 - 2*half, 8: 1, 9: 1, 1_000_000: 1},
		},
		"cosine of one step": {optim.Cosine{Base: 5, Steps: 1}, map[int]float64{0: 5, 1: 0, 2: 0}},
		// (step + 1)/5 of 10 for four steps: never 0, and no jump at the end.
		"warm-up": {
			optim.Warmup{Steps: 4, Then: optim.Constant(10)},
			map[int]float64{0: 2, 1: 4, 2: 6, 3: 8, 4: 10, 5: 10, 1_000_000: 10},
		},
		"no warm-up": {optim.Warmup{Then: optim.Constant(10)}, map[int]float64{0: 10, 1: 10}},
		// The cosine counts from the start of training: at step 4 of 8 it is
		// half-way down.
		"warm-up to a cosine": {
			optim.Warmup{Steps: 3, Then: optim.Cosine{Base: 8, Steps: 8}},
			map[int]float64{0: 2, 2: 0.75 * (4 + 4*half), 4: 4, 8: 0},
		},
		// The milestone falls into the warm-up: ½ of 8, and then 2/4 of it.
		"warm-up over a milestone": {
			optim.Warmup{Steps: 3, Then: optim.StepDecay{Base: 8, Factor: 0.5, Milestones: []int{1}}},
			map[int]float64{0: 2, 1: 2, 2: 3, 3: 4},
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, tc.schedule.Check())
			for step, want := range tc.want {
				assert.InDelta(t, want, tc.schedule.LR(step), 1e-12, "step %d", step)
			}
		})
	}
}

// A cosine never rises and stays between its ends.
func TestCosineFalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		floor := rapid.Float64Range(0, 1).Draw(t, "floor")
		base := floor + rapid.Float64Range(0, 1).Draw(t, "fall")
		c := optim.Cosine{Base: base, Floor: floor, Steps: rapid.IntRange(1, 40).Draw(t, "steps")}
		last := c.LR(0)
		require.InDelta(t, base, last, 1e-12)
		for step := 1; step < 50; step++ {
			lr := c.LR(step)
			require.LessOrEqual(t, lr, last+1e-12)
			last = lr
		}
		require.InDelta(t, floor, last, 1e-12)
	})
}

func TestScheduleCheck(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, tc := range map[string]struct {
		schedule optim.Schedule
		want     string
	}{
		"negative rate":         {optim.Constant(-0.1), "learning rate -0.1"},
		"NaN rate":              {optim.Constant(nan), "learning rate NaN"},
		"infinite rate":         {optim.Constant(inf), "learning rate +Inf"},
		"factor of 0":           {optim.StepDecay{Base: 1}, "factor of 0"},
		"negative factor":       {optim.StepDecay{Base: 1, Factor: -1}, "factor of -1"},
		"NaN factor":            {optim.StepDecay{Base: 1, Factor: nan}, "factor of NaN"},
		"infinite factor":       {optim.StepDecay{Base: 1, Factor: inf}, "factor of +Inf"},
		"descending milestones": {optim.StepDecay{Base: 1, Factor: 1, Milestones: []int{5, 4}}, "milestone 4 after 5"},
		"repeated milestone":    {optim.StepDecay{Base: 1, Factor: 1, Milestones: []int{5, 5}}, "milestone 5 after 5"},
		"step decay's base":     {optim.StepDecay{Base: nan, Factor: 1}, "learning rate NaN"},
		"cosine over nothing":   {optim.Cosine{Base: 1}, "over 0 steps"},
		"cosine backwards":      {optim.Cosine{Base: 1, Steps: -3}, "over -3 steps"},
		"cosine's floor":        {optim.Cosine{Base: 1, Floor: -1, Steps: 3}, "learning rate -1"},
		"cosine's base":         {optim.Cosine{Base: inf, Steps: 3}, "learning rate +Inf"},
		"warm-up to nothing":    {optim.Warmup{Steps: 3}, "warm-up over 3 steps to"},
		"negative warm-up":      {optim.Warmup{Steps: -3, Then: optim.Constant(1)}, "warm-up over -3 steps"},
		"warm-up to nonsense":   {optim.Warmup{Steps: 3, Then: optim.Constant(nan)}, "learning rate NaN"},
	} {
		t.Run(name, func(t *testing.T) { require.ErrorContains(t, tc.schedule.Check(), tc.want) })
	}
}
