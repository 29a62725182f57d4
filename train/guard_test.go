package train_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	G "gorgonia.org/gorgonia"

	"github.com/rigel-ml/rigel/checkpoint"
	"github.com/rigel-ml/rigel/datasets"
	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/optim"
	"github.com/rigel-ml/rigel/rigl"
	"github.com/rigel-ml/rigel/train"
)

// poison writes a value over the first weight after a step.
func poison(t *testing.T, l **train.Learner, step int, v float32) *recorder {
	return &recorder{onStep: func(s train.Step) {
		if s.Step != step {
			return
		}
		p := (*l).Model().Params()[0]
		values := make([]float32, p.NNZ())
		values[0] = v
		require.NoError(t, ops.SetValues(newBackend(t, 1), p.Pattern, p.Value, values))
	}}
}

// requireSound checks that every number of every checkpoint is finite, and
// returns the newest step.
func requireSound(t *testing.T, dir string) int64 {
	t.Helper()
	newest := int64(-1)
	for _, path := range checkpoints(t, dir) {
		a, info, err := checkpoint.Load(path)
		require.NoError(t, err)
		newest = max(newest, info.Step)
		for _, e := range a.Entries() {
			var values []float32
			if e.Kind == checkpoint.KindCSR {
				m, err := a.CSR(e.Name)
				require.NoError(t, err)
				values = m.Values
			} else {
				_, values, err = a.Float32(e.Name)
				require.NoError(t, err)
			}
			for i, v := range values {
				require.False(t, math.IsNaN(float64(v)) || math.IsInf(float64(v), 0), "%s: %s[%d] is %v", path, e.Name, i, v)
			}
		}
	}
	return newest
}

// A NaN or an infinity stops the run before it can be saved, wherever it shows
// first, and the run goes on from the last good checkpoint.
func TestNotFinite(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	// The rate of step 17 on. Rates of float32 are finite below 3e38: from there
	// on the weights overflow with finite gradients.
	blowUp := func(factor float64) func(*train.Config) {
		return func(c *train.Config) {
			c.Optimizer = optim.Config{Rule: optim.SGD{}}
			c.LR = optim.StepDecay{Base: 0.1, Factor: factor, Milestones: []int{16}}
			c.Masks = rigl.Config{}
		}
	}
	for name, test := range map[string]struct {
		change    func(*train.Config)
		poison    float32
		step      int // after which the poison is given
		saveEvery int
		saved     int64
		message   string
	}{
		"rate too large":                {change: blowUp(1e34), saveEvery: 5, saved: 15, message: "step 18: "},
		"weights overflow, seen next":   {change: blowUp(1e60), saveEvery: 5, saved: 15, message: "step 18: "},
		"weights overflow, at a save":   {change: blowUp(1e60), saveEvery: 17, saved: 10, message: "weight 0 of 0.weight is "},
		"NaN in a step":                 {poison: nan, step: 12, saved: 10, message: "step 13: "},
		"infinity in a step":            {poison: inf, step: 12, saved: 10, message: "step 13: "},
		"before a mask update":          {poison: nan, step: 14, saved: 10, message: "step 15: "},
		"at a save":                     {poison: nan, step: 12, saveEvery: 6, saved: 10, message: "weight 0 of 0.weight is NaN"},
		"in validation":                 {poison: nan, step: 20, saved: 10, message: "validation after step 20: "},
		"at the end without validation": {change: func(c *train.Config) { c.Valid = nil }, poison: -inf, step: 20, saved: 10, message: "weight 0 of 0.weight is -Inf"},
		"at the first step":             {poison: nan, step: 1, saved: -1, message: "step 2: "},
	} {
		t.Run(name, func(t *testing.T) {
			c := inDir(t, test.change)
			c.SaveEvery = test.saveEvery
			var l *train.Learner
			c.Observer = poison(t, &l, test.step, test.poison)
			l = learner(t, c)
			_, err := l.Fit(context.Background())
			require.ErrorIs(t, err, train.ErrNotFinite)
			require.ErrorContains(t, err, test.message)
			require.Equal(t, test.saved, requireSound(t, c.Dir))
			if test.step == 0 {
				return // it would blow up again
			}
			// A second Fit does not get past it either.
			_, err = l.Fit(context.Background())
			require.ErrorIs(t, err, train.ErrNotFinite)
			require.Equal(t, test.saved, requireSound(t, c.Dir))
			require.NoError(t, l.Close())

			c.Observer = nil
			want, _ := reference(t, c)
			fit(t, resumed(c))
			assert.Equal(t, want, outcomeOf(t, c.Dir))
		})
	}
}

// shifted adds a number to the loss and leaves the gradients as they are.
type shifted float32

func (s shifted) Forward(g *nn.Graph, output, labels *G.Node) (*G.Node, error) {
	loss, err := nn.CrossEntropy{}.Forward(g, output, labels)
	if err != nil {
		return nil, err
	}
	return G.Add(loss, G.NewConstant(float32(s)))
}

// Either of loss and gradients is enough to stop at.
func TestOnlyLossOrGradientNotFinite(t *testing.T) {
	c := inDir(t, func(c *train.Config) { c.Loss = shifted(math.NaN()) })
	_, err := learner(t, c).Fit(context.Background())
	require.ErrorIs(t, err, train.ErrNotFinite)
	require.ErrorContains(t, err, "step 1: ")
	require.NotContains(t, err.Error(), "norm NaN")

	x := make([]float32, 2*features)
	x[0] = 1e25 // a gradient of this size has no square in float32
	huge, err := datasets.FromFloats(datasets.SetConfig{Classes: classes}, x, []int32{0, 1})
	require.NoError(t, err)
	c = inDir(t, func(c *train.Config) { c.Train, c.Model = huge, nn.LinearConfig{In: features, Out: classes} })
	_, err = learner(t, c).Fit(context.Background())
	require.ErrorIs(t, err, train.ErrNotFinite)
	require.ErrorContains(t, err, "norm +Inf")
	require.NotContains(t, err.Error(), "loss +Inf")
	assert.Empty(t, checkpoints(t, c.Dir))
}

// An interrupt in a moment when the weights are broken saves nothing either.
func TestInterruptedWithBrokenWeights(t *testing.T) {
	c := inDir(t, nil)
	var l *train.Learner
	seen := poison(t, &l, 12, float32(math.NaN()))
	ctx, cancel := context.WithCancel(context.Background())
	broken := seen.onStep
	seen.onStep = func(s train.Step) {
		broken(s)
		if s.Step == 12 {
			cancel()
		}
	}
	c.Observer = seen
	l = learner(t, c)
	_, err := l.Fit(ctx)
	require.ErrorIs(t, err, train.ErrInterrupted)
	require.ErrorIs(t, err, train.ErrNotFinite)
	assert.EqualValues(t, steps, requireSound(t, c.Dir))
}

// Without a directory the guard is the same.
func TestNotFiniteWithoutDirectory(t *testing.T) {
	c := standard(t)
	var l *train.Learner
	c.Observer = poison(t, &l, 3, float32(math.NaN()))
	l = learner(t, c)
	_, err := l.Fit(context.Background())
	require.ErrorIs(t, err, train.ErrNotFinite)
	require.ErrorContains(t, err, "step 4: ")
	require.Equal(t, 3, l.Steps())
}
