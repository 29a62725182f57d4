package rigl_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rigel-ml/rigel/rigl"
)

func TestDropFraction(t *testing.T) {
	paper := rigl.Schedule{End: 600}                         // α = 0.3
	own := rigl.Schedule{Every: 10, End: 600, Fraction: 0.5} // α = 0.5
	for name, tc := range map[string]struct {
		schedule rigl.Schedule
		step     int
		want     float64
	}{
		"start: α/2 · (1 + 1)":                         {paper, 0, 0.3},
		"a third: α/2 · (1 + 1/2)":                     {paper, 200, 0.225}, // cos 60°
		"half way: α/2 · (1 + 0)":                      {paper, 300, 0.15},
		"two thirds: α/2 · (1 - 1/2)":                  {paper, 400, 0.075}, // cos 120°
		"end: α/2 · (1 - 1)":                           {paper, 600, 0},
		"past the end":                                 {paper, 900, 0},
		"twice the end, where the cosine is back at 1": {paper, 1200, 0},
		"another α":                                    {own, 300, 0.25},
		"no end, no update":                            {rigl.Schedule{}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			assert.InDelta(t, tc.want, tc.schedule.DropFraction(tc.step), 1e-12)
		})
	}
}

func TestDropFractionFallsWithinItsRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rigl.Schedule{End: rapid.IntRange(1, 1e6).Draw(t, "end"), Fraction: rapid.Float64Range(1e-3, 0.999).Draw(t, "α")}
		step := rapid.IntRange(0, s.End).Draw(t, "step")
		f := s.DropFraction(step)
		assert.LessOrEqual(t, f, s.Fraction)
		assert.GreaterOrEqual(t, f, s.DropFraction(step+1))
		assert.GreaterOrEqual(t, f, 0.0)
	})
}

func TestDue(t *testing.T) {
	byTen := rigl.Schedule{Every: 10, End: 40}
	for name, tc := range map[string]struct {
		schedule rigl.Schedule
		due      []int
	}{
		"every ten until forty":               {byTen, []int{10, 20, 30}}, // not 0: nothing was learnt yet; not 40: the end
		"an end between":                      {rigl.Schedule{Every: 10, End: 41}, []int{10, 20, 30, 40}},
		"the last step before the end counts": {rigl.Schedule{Every: 13, End: 40}, []int{13, 26, 39}},
		"every hundred by default":            {rigl.Schedule{End: 250}, []int{100, 200}},
		"never":                               {rigl.Schedule{Every: 10}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var due []int
			for step := range 300 {
				if tc.schedule.Due(step) {
					due = append(due, step)
				}
			}
			assert.Equal(t, tc.due, due)
		})
	}
}

func TestScheduleCheck(t *testing.T) {
	require.NoError(t, rigl.Schedule{}.Check(), "the zero value never updates")
	require.NoError(t, rigl.Schedule{Every: 1, End: 1, Fraction: 0.999}.Check())
	for name, tc := range map[string]struct {
		schedule rigl.Schedule
		message  string
	}{
		"negative interval": {rigl.Schedule{Every: -1, End: 10}, "every -1 steps"},
		"negative end":      {rigl.Schedule{End: -5}, "until step -5"},
		"fraction below 0":  {rigl.Schedule{End: 10, Fraction: -0.1}, "fraction of -0.1"},
		"everything":        {rigl.Schedule{End: 10, Fraction: 1}, "fraction of 1"},
		"NaN":               {rigl.Schedule{End: 10, Fraction: math.NaN()}, "fraction of NaN"},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorContains(t, tc.schedule.Check(), tc.message)
		})
	}
}
