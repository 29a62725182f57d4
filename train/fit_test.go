package train_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/ops/cpu"
	"github.com/rigel-ml/rigel/optim"
	"github.com/rigel-ml/rigel/rigl"
	"github.com/rigel-ml/rigel/train"
)

func TestFitLearns(t *testing.T) {
	for name, change := range map[string]func(*train.Config){
		"RigL":   func(*train.Config) {},
		"SET":    func(c *train.Config) { c.Masks.Method = rigl.SET() },
		"static": func(c *train.Config) { c.Masks.Method = rigl.Static() },
		"no method at all": func(c *train.Config) {
			c.Masks = rigl.Config{}
		},
		"dense": func(c *train.Config) {
			c.Model = nn.SequentialConfig{nn.LinearConfig{In: features, Out: 16}, nn.ReLUConfig{}, nn.LinearConfig{In: 16, Out: classes}}
		},
		"more outputs than classes": func(c *train.Config) {
			c.Model = nn.LinearConfig{In: features, Out: classes + 3}
		},
		"plain SGD": func(c *train.Config) {
			c.Optimizer = optim.Config{Rule: optim.SGD{}}
			c.LR = optim.Constant(0.1)
		},
		"Adam": func(c *train.Config) {
			c.Optimizer = optim.Config{Rule: optim.Adam{}}
			c.LR = optim.Constant(0.01)
		},
		"clipping hard":           func(c *train.Config) { c.Optimizer.ClipNorm = 0.5 },
		"without validation":      func(c *train.Config) { c.Valid = nil },
		"batches of 1":            func(c *train.Config) { c.Batch, c.Epochs, c.LR = 1, 2, optim.Constant(0.002) },
		"a last batch of 1":       func(c *train.Config) { c.Batch = 60 },
		"a tile and one":          func(c *train.Config) { c.Batch = 65 },
		"no short batch":          func(c *train.Config) { c.Batch = 43 },
		"a batch of all samples":  func(c *train.Config) { c.Batch, c.Epochs = samples, 40 },
		"a batch larger than all": func(c *train.Config) { c.Batch, c.Epochs = samples+5, 40 },
	} {
		t.Run(name, func(t *testing.T) {
			c := standard(t)
			change(&c)
			seen := &recorder{}
			c.Observer = seen
			l, r := fit(t, c)

			perEpoch := (samples + c.Batch - 1) / c.Batch
			assert.Equal(t, c.Epochs*perEpoch, r.Steps)
			assert.Len(t, seen.steps, r.Steps)
			assert.Equal(t, c.Epochs, r.Epochs)
			assert.Greater(t, r.Last.TrainAccuracy, 0.7, "chance is 0.25")
			assert.Less(t, r.Last.TrainLoss, 0.8*seen.epochs[0].TrainLoss)
			if c.Valid != nil {
				assert.Greater(t, r.Last.ValidAccuracy, 0.75)
			} else {
				assert.Zero(t, r.Last.ValidAccuracy)
			}
			_, accuracy, err := train.Evaluate(newBackend(t, 1), l.Model(), nil, c.Train)
			require.NoError(t, err)
			assert.Greater(t, accuracy, 0.7)
		})
	}
}

// The share of an epoch's loss and accuracy that a batch has is its number of
// samples. A rate of 0 leaves the model as it was, so any batch size must agree
// with one evaluation.
func TestShortBatchesCountBySample(t *testing.T) {
	for _, batch := range []int{1, 32, 60, samples} {
		c := standard(t)
		c.Model = nn.SequentialConfig{nn.SparseLinearConfig{In: features, Out: classes, Sparsity: 0.5}}
		c.LR, c.Batch, c.Epochs, c.Masks = optim.Constant(0), batch, 1, rigl.Config{}
		l, r := fit(t, c)
		loss, accuracy, err := train.Evaluate(newBackend(t, 1), l.Model(), nil, c.Train)
		require.NoError(t, err)
		assert.InDelta(t, loss, r.Last.TrainLoss, 1e-5, "batches of %d", batch)
		assert.Equal(t, accuracy, r.Last.TrainAccuracy, "batches of %d", batch)
	}
}

func TestThreadsDoNotChangeTheResult(t *testing.T) {
	var hashes []string
	var last []train.Epoch
	for _, threads := range []int{1, 2, 5} {
		l, err := train.New(newBackend(t, threads), standard(t))
		require.NoError(t, err)
		r, err := l.Fit(context.Background())
		require.NoError(t, err)
		r.Last.Seconds, r.Last.SamplesPerSecond, r.Last.StepsPerSecond = 0, 0, 0
		hashes, last = append(hashes, hash(t, l.Model())), append(last, r.Last)
	}
	assert.Equal(t, hashes[0], hashes[1])
	assert.Equal(t, hashes[0], hashes[2])
	assert.Equal(t, last[0], last[1])
	assert.Equal(t, last[0], last[2])
}

func TestTheSeedDecides(t *testing.T) {
	run := func(seed uint64) string {
		c := standard(t)
		c.Seed = seed
		l, _ := fit(t, c)
		return hash(t, l.Model())
	}
	assert.Equal(t, run(5), run(5))
	assert.NotEqual(t, run(5), run(6))

	// There is one seed, also for random growth.
	grown := func(seed uint64) string {
		c := standard(t)
		c.Masks.Method, c.Masks.Seed = rigl.SET(), seed
		l, _ := fit(t, c)
		return hash(t, l.Model())
	}
	assert.Equal(t, grown(1), grown(2))
}

// With a rate of 0, what differs from step to step is the order of samples.
func TestTheSeedDecidesTheOrderOfSamples(t *testing.T) {
	losses := func(seed uint64) (all []float64) {
		c := standard(t)
		row := 0 // neurons that were all alike would give each sample the same loss
		c.Model = nn.LinearConfig{In: features, Out: classes, Weights: func(_ *rand.Rand, _ int, w []float32) {
			row++
			w[row] = 1 // whatever the seed
		}}
		c.LR, c.Masks, c.Seed = optim.Constant(0), rigl.Config{}, seed
		c.Observer = &recorder{onStep: func(s train.Step) { all = append(all, s.Loss) }}
		fit(t, c)
		return all
	}
	five := losses(5)
	assert.Equal(t, five, losses(5))
	assert.NotEqual(t, five, losses(6))
	assert.NotEqual(t, five[:steps], five[steps:2*steps], "each epoch has its own order")
}

func TestResult(t *testing.T) {
	c := inDir(t, nil)
	seen := &recorder{}
	seen.onEpoch = func(train.Epoch) { assert.Zero(t, seen.ends, "End comes last") }
	c.Observer = seen
	l, r := fit(t, c)
	assert.Equal(t, seen.epochs[3], r.Last)
	assert.Equal(t, 4, r.Epochs)
	assert.Equal(t, 4*steps, r.Steps)
	assert.Equal(t, 4*steps, l.Steps())
	assert.Positive(t, r.Seconds)
	assert.Positive(t, r.StepsPerSecond)
	paths := checkpoints(t, c.Dir)
	assert.Equal(t, paths[len(paths)-1], r.Checkpoint)
	assert.Equal(t, []train.Begin{{Epochs: 4, StepsPerEpoch: steps}}, seen.begins)
	assert.Equal(t, 1, seen.ends)
	assert.Empty(t, seen.warnings)

	c.Dir, c.Observer = "", nil
	_, r = fit(t, c)
	assert.Empty(t, r.Checkpoint)
}

// Of equal outputs the first counts: a model that has learned nothing, and says
// the same of all classes, is no better than one that always says 0.
func TestTies(t *testing.T) {
	b, s := newBackend(t, 1), standard(t).Train
	m := fresh(t, nn.LinearConfig{In: features, Out: classes, Weights: func(*rand.Rand, int, []float32) {}})
	zeros := 0
	for i := range s.Len() {
		label, err := s.Sample(i, make([]float32, features))
		require.NoError(t, err)
		if label == 0 {
			zeros++
		}
	}
	_, accuracy, err := train.Evaluate(b, m, nil, s)
	require.NoError(t, err)
	assert.Equal(t, float64(zeros)/float64(s.Len()), accuracy)
}

// Once finished a run stays as it is, in the same process and in another.
func TestFitAfterTheEnd(t *testing.T) {
	c := inDir(t, nil)
	l := learner(t, c)
	first, err := l.Fit(context.Background())
	require.NoError(t, err)
	before, weights := files(t, c.Dir), hash(t, l.Model())

	ended, cancel := context.WithCancel(context.Background())
	cancel()
	again, err := l.Fit(ended) // nothing is left to interrupt
	require.NoError(t, err)
	assert.Equal(t, first.Last, again.Last)
	assert.Equal(t, first.Steps, again.Steps)
	assert.Equal(t, first.Checkpoint, again.Checkpoint)
	require.NoError(t, l.Close())

	other, r := fit(t, resumed(c))
	assert.Equal(t, first.Last, r.Last)
	assert.Equal(t, first.Checkpoint, r.Checkpoint)
	assert.Zero(t, r.StepsPerSecond, "this process trained nothing")
	assert.Equal(t, weights, hash(t, other.Model()))
	assert.Equal(t, before, files(t, c.Dir))
}

func TestFitAfterClose(t *testing.T) {
	c := inDir(t, nil)
	l := learner(t, c)
	require.NoError(t, l.Close())
	require.NoError(t, l.Close())
	_, err := l.Fit(context.Background())
	require.ErrorContains(t, err, "not open for writing")
}

// Once warm, a step allocates nothing. The run has no directory and updates no
// mask; both need memory of their own, but seldom.
func TestStepsAllocateNothing(t *testing.T) {
	for name, rule := range map[string]optim.Rule{"momentum": optim.SGD{Momentum: 0.9}, "adam": optim.Adam{}} {
		for _, threads := range []int{1, 2} {
			c := standard(t)
			c.Masks.Method = rigl.Static()
			c.Optimizer.Rule = rule
			c.Epochs = 1000
			b := cpu.NewThreads(threads)
			l, err := train.New(b, c)
			require.NoError(t, err)
			step := func() { require.NoError(t, train.StepOf(l)) }
			for range 2 * steps {
				step()
			}
			// Shuffling at the end of an epoch may allocate: less than one a step.
			assert.Zero(t, testing.AllocsPerRun(200, step), "%s on %d threads", name, threads)
			require.NoError(t, b.Close())
		}
	}
}
