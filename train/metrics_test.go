package train_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rigel-ml/rigel/checkpoint"
	"github.com/rigel-ml/rigel/rigl"
	"github.com/rigel-ml/rigel/train"
)

// linesOf are the lines of one kind of event.
func linesOf[T any](t *testing.T, dir, event string) []T {
	t.Helper()
	d, err := checkpoint.OpenReadOnly(dir, checkpoint.Options{})
	require.NoError(t, err)
	lines, err := d.Metrics()
	require.NoError(t, err)
	var all []T
	for _, line := range lines {
		var kind struct{ Event string }
		require.NoError(t, json.Unmarshal(line, &kind))
		if kind.Event == event {
			var v T
			require.NoError(t, json.Unmarshal(line, &v))
			all = append(all, v)
		}
	}
	return all
}

// The file says what the Observer saw: each epoch, each update, and each step
// that is due.
func TestMetricsAreTheEvents(t *testing.T) {
	c := inDir(t, nil)
	seen := &recorder{}
	c.Observer = seen
	fit(t, c)

	assert.Equal(t, seen.epochs, linesOf[train.Epoch](t, c.Dir, "epoch"))
	assert.Equal(t, seen.updates, linesOf[train.Update](t, c.Dir, "update"))
	var logged []train.Step
	for _, s := range seen.steps {
		if s.Step%c.LogEvery == 0 {
			logged = append(logged, s)
		}
	}
	assert.Equal(t, logged, linesOf[train.Step](t, c.Dir, "step"))
	assert.Len(t, metrics(t, c.Dir), 4+5+13, "and nothing else")

	last := 0.0
	for _, line := range metrics(t, c.Dir) {
		assert.GreaterOrEqual(t, line["step"], last, "steps never go back")
		last = line["step"].(float64)
	}
}

func TestStepsAreLoggedEveryFiftyByDefault(t *testing.T) {
	c := inDir(t, func(c *train.Config) { c.LogEvery, c.Epochs = 0, 11 })
	fit(t, c)
	lines := linesOf[train.Step](t, c.Dir, "step")
	require.Len(t, lines, 2)
	assert.Equal(t, 50, lines[0].Step)
	assert.Equal(t, 100, lines[1].Step)
}

func TestSteps(t *testing.T) {
	c := standard(t)
	seen := &recorder{}
	c.Observer = seen
	fit(t, c)
	require.Len(t, seen.steps, 4*steps)
	for i, s := range seen.steps {
		assert.Equal(t, i+1, s.Step)
		assert.Equal(t, i/steps+1, s.Epoch)
		assert.Equal(t, c.LR.LR(i), s.LR)
		assert.Positive(t, s.Loss)
		assert.Positive(t, s.GradNorm)
	}
}

func TestUpdates(t *testing.T) {
	c := standard(t)
	seen := &recorder{}
	c.Observer = seen
	fit(t, c)
	var at []int
	for _, u := range seen.updates {
		at = append(at, u.Step)
		assert.Equal(t, c.Masks.Schedule.DropFraction(u.Step-1), u.Fraction)
		require.Len(t, u.Layers, 2)
		nnz, replaced := 0, 0
		for i, l := range u.Layers {
			assert.Equal(t, []string{"0.weight", "3.weight"}[i], l.Name)
			assert.Equal(t, []int{192, 150}[i], l.NNZ)
			assert.LessOrEqual(t, float64(l.Replaced), u.Fraction*float64(l.NNZ))
			nnz, replaced = nnz+l.NNZ, replaced+l.Replaced
		}
		assert.Equal(t, float64(replaced)/float64(nnz), u.Churn)
	}
	assert.Equal(t, []int{8, 15, 22, 29, 36}, at, "in place of step 7, 14, ..., counted from 0, before step 36")
	assert.Greater(t, seen.updates[0].Churn, 0.05, "updates that replace nothing would be no test")
}

func TestEpochs(t *testing.T) {
	c := standard(t)
	c.Masks.Schedule.Every = 3 // several updates in an epoch
	seen := &recorder{}
	c.Observer = seen
	l, _ := fit(t, c)
	require.Len(t, seen.epochs, 4)
	for i, e := range seen.epochs {
		assert.Equal(t, i+1, e.Epoch)
		assert.Equal(t, (i+1)*steps, e.Step)
		assert.Equal(t, seen.steps[e.Step-1].LR, e.LR)

		var loss, churn, updates float64
		for _, s := range seen.steps[i*steps : (i+1)*steps] {
			n := 32
			if s.Step%steps == 0 {
				n = samples % 32
			}
			loss += s.Loss * float64(n)
		}
		assert.InDelta(t, loss/samples, e.TrainLoss, 1e-12)
		for _, u := range seen.updates {
			if (u.Step-1)/steps == i {
				churn, updates = churn+u.Churn, updates+1
			}
		}
		assert.InDelta(t, churn/max(updates, 1), e.Churn, 1e-15)

		// 192 of 640, 150 of 512 and all 64: mask updates keep the budget.
		assert.Equal(t, 192+150+64, e.NNZ)
		assert.InDelta(t, 1-406.0/1216, e.Sparsity, 1e-15)
		assert.Equal(t, []train.EpochLayer{
			{Name: "0.weight", NNZ: 192, Sparsity: 1 - 192.0/640},
			{Name: "3.weight", NNZ: 150, Sparsity: 1 - 150.0/512},
			{Name: "5.weight", NNZ: 64, Sparsity: 0},
		}, e.Layers)
		params := 406 + 32 + 16 + 4
		assert.EqualValues(t, 4*params, e.OptimizerBytes, "one velocity for each")
		assert.EqualValues(t, 4*(params+192+33+150+17), e.WeightBytes, "values, columns, row pointers")

		assert.Positive(t, e.Seconds)
		assert.Positive(t, e.StepsPerSecond)
		assert.Positive(t, e.SamplesPerSecond)
	}
	loss, accuracy, err := train.Evaluate(newBackend(t, 1), l.Model(), nil, c.Valid)
	require.NoError(t, err)
	assert.Equal(t, loss, seen.epochs[3].ValidLoss)
	assert.Equal(t, accuracy, seen.epochs[3].ValidAccuracy)
}

// The first epoch is the best so far even if it has nothing right.
func TestFirstEpochIsBest(t *testing.T) {
	for i := range 100 {
		c := standard(t)
		c.Epochs = 1
		one, err := c.Valid.Subset([]int{i})
		require.NoError(t, err)
		c.Valid = one
		seen := &recorder{}
		c.Observer = seen
		fit(t, c)
		require.True(t, seen.epochs[0].Best)
		if seen.epochs[0].ValidAccuracy == 0 {
			return
		}
	}
	t.Fatal("the test needs a sample that is not recognized")
}

func TestMethodsWithoutUpdates(t *testing.T) {
	for name, masks := range map[string]rigl.Config{
		"static":   {Method: rigl.Static(), Schedule: rigl.Schedule{Every: 2, End: 30}},
		"no end":   {Method: rigl.RigL(), Schedule: rigl.Schedule{Every: 2}},
		"zero":     {},
		"too late": {Method: rigl.RigL(), Schedule: rigl.Schedule{Every: 100, End: 30}},
	} {
		c := standard(t)
		c.Masks = masks
		seen := &recorder{}
		c.Observer = seen
		fit(t, c)
		assert.Empty(t, seen.updates, name)
		assert.Zero(t, seen.epochs[3].Churn, name)
		assert.Len(t, seen.steps, 4*steps, name)
	}
}
