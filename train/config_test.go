package train_test

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rigel-ml/rigel/datasets"
	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/optim"
	"github.com/rigel-ml/rigel/rigl"
	"github.com/rigel-ml/rigel/train"
)

// narrow is a set of samples that are too short.
func narrow(t *testing.T) *datasets.Set {
	t.Helper()
	s, err := datasets.FromFloats(datasets.SetConfig{Name: "narrow", Classes: classes}, make([]float32, 3*7), make([]int32, 3))
	require.NoError(t, err)
	return s
}

// manyClasses has a class more than the model has outputs.
func manyClasses(t *testing.T) *datasets.Set {
	t.Helper()
	s, err := datasets.FromFloats(datasets.SetConfig{Classes: classes + 1}, make([]float32, 3*features), make([]int32, 3))
	require.NoError(t, err)
	return s
}

func TestBadConfigs(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*train.Config)
		reason string
	}{
		"no model":            {func(c *train.Config) { c.Model = nil }, "no model"},
		"empty model":         {func(c *train.Config) { c.Model = nn.SequentialConfig{} }, "empty sequence"},
		"no parameters":       {func(c *train.Config) { c.Model = nn.ReLUConfig{} }, ""},
		"layers do not fit":   {func(c *train.Config) { c.Model = nn.LinearConfig{In: features + 1, Out: classes} }, "takes 21 features, its input has 20"},
		"bad layer":           {func(c *train.Config) { c.Model = nn.SparseLinearConfig{In: features, Out: classes, Sparsity: 1} }, "sparsity 1"},
		"bad dropout":         {func(c *train.Config) { c.Model = nn.SequentialConfig{nn.DropoutConfig{P: 1}} }, "p = 1"},
		"too few outputs":     {func(c *train.Config) { c.Model = nn.LinearConfig{In: features, Out: classes - 1} }, "3 outputs, the data 4 classes"},
		"no rule":             {func(c *train.Config) { c.Optimizer = optim.Config{} }, "no rule"},
		"bad rule":            {func(c *train.Config) { c.Optimizer.Rule = optim.SGD{Momentum: 1} }, "momentum 1"},
		"bad clipping":        {func(c *train.Config) { c.Optimizer.ClipNorm = -1 }, "clipped at -1"},
		"no rate":             {func(c *train.Config) { c.LR = nil }, "no learning rate"},
		"negative rate":       {func(c *train.Config) { c.LR = optim.Constant(-1) }, "learning rate -1"},
		"rate NaN":            {func(c *train.Config) { c.LR = optim.Constant(math.NaN()) }, "learning rate NaN"},
		"nothing to warm up":  {func(c *train.Config) { c.LR = optim.Warmup{Steps: 3} }, "warm-up"},
		"half a method":       {func(c *train.Config) { c.Masks.Method.Grow = nil }, "does not do both"},
		"bad schedule":        {func(c *train.Config) { c.Masks.Schedule.Every = -1 }, "every -1 steps"},
		"bad fraction":        {func(c *train.Config) { c.Masks.Schedule = rigl.Schedule{Fraction: 2} }, "fraction of 2"},
		"no epochs":           {func(c *train.Config) { c.Epochs = 0 }, "0 epochs"},
		"negative epochs":     {func(c *train.Config) { c.Epochs = -4 }, "-4 epochs"},
		"no batch":            {func(c *train.Config) { c.Batch = 0 }, "batches of 0"},
		"negative batch":      {func(c *train.Config) { c.Batch = -32 }, "batches of -32"},
		"huge batch":          {func(c *train.Config) { c.Batch = math.MaxInt }, "batch"},
		"no data":             {func(c *train.Config) { c.Train = nil }, "no training data"},
		"empty data":          {func(c *train.Config) { c.Train, c.Valid = new(datasets.Set), nil }, "set is empty"},
		"empty validation":    {func(c *train.Config) { c.Valid = new(datasets.Set) }, "20 features to train on, 0 to validate on"},
		"both empty":          {func(c *train.Config) { c.Train, c.Valid = new(datasets.Set), new(datasets.Set) }, "set is empty"},
		"narrow validation":   {func(c *train.Config) { c.Valid = narrow(t) }, "20 features to train on, 7 to validate on"},
		"classes to validate": {func(c *train.Config) { c.Valid = manyClasses(t) }, "4 outputs, the data 5 classes"},
		"classes to train":    {func(c *train.Config) { c.Train = manyClasses(t) }, "4 outputs, the data 5 classes"},
		"negative saves":      {func(c *train.Config) { c.SaveEvery = -1 }, "saving every -1 steps"},
		"negative keep":       {func(c *train.Config) { c.Keep = -2 }, "keeping -2"},
		"negative log":        {func(c *train.Config) { c.LogEvery = -3 }, "logging every -3 steps"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, dir := range []string{"", filepath.Join(t.TempDir(), "run")} {
				c := standard(t)
				c.Dir = dir
				test.change(&c)
				l, err := train.New(newBackend(t, 1), c)
				require.Error(t, err)
				assert.Nil(t, l)
				assert.ErrorContains(t, err, test.reason)
				if dir != "" {
					assert.NoDirExists(t, dir, "nothing is made for a run that cannot be")
				}
			}
		})
	}
	_, err := train.New(nil, standard(t))
	assert.ErrorContains(t, err, "no backend")
	_, err = train.New(newBackend(t, 1), train.Config{})
	assert.ErrorContains(t, err, "no model")
	_, err = train.New(newBackend(t, 1), resumed(standard(t)))
	assert.ErrorContains(t, err, "no run directory to resume")
}

func TestEvaluateRefuses(t *testing.T) {
	b, m, s := newBackend(t, 1), fresh(t, network()), standard(t).Valid
	for name, evaluate := range map[string]func() (float64, float64, error){
		"no backend":       func() (float64, float64, error) { return train.Evaluate(nil, m, nil, s) },
		"no model":         func() (float64, float64, error) { return train.Evaluate(b, nil, nil, s) },
		"no set":           func() (float64, float64, error) { return train.Evaluate(b, m, nil, nil) },
		"empty set":        func() (float64, float64, error) { return train.Evaluate(b, m, nil, new(datasets.Set)) },
		"narrow set":       func() (float64, float64, error) { return train.Evaluate(b, m, nil, narrow(t)) },
		"too many classes": func() (float64, float64, error) { return train.Evaluate(b, m, nil, manyClasses(t)) },
	} {
		_, _, err := evaluate()
		assert.Error(t, err, name)
	}
}

// An evaluation takes its set in batches of its own; how it is cut must not
// show.
func TestEvaluateCountsEachSampleOnce(t *testing.T) {
	b, m := newBackend(t, 2), fresh(t, network())
	s := clusters(t, "many", 2*256+3, 8)
	loss, accuracy, err := train.Evaluate(b, m, nil, s)
	require.NoError(t, err)
	var sum, hits float64
	for i := range s.Len() {
		one, err := s.Subset([]int{i})
		require.NoError(t, err)
		l, a, err := train.Evaluate(b, m, nil, one)
		require.NoError(t, err)
		sum, hits = sum+l, hits+a
	}
	n := float64(s.Len())
	assert.InDelta(t, sum/n, loss, 1e-5)
	assert.Equal(t, hits/n, accuracy)
}
