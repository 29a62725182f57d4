package train_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rigel-ml/rigel/checkpoint"
	"github.com/rigel-ml/rigel/optim"
	"github.com/rigel-ml/rigel/rigl"
	"github.com/rigel-ml/rigel/train"
)

// reference is what the uninterrupted run of a configuration leaves behind.
func reference(t testing.TB, c train.Config) (outcome, string) {
	t.Helper()
	c.Dir = filepath.Join(t.TempDir(), "reference")
	l, _ := fit(t, c)
	return outcomeOf(t, c.Dir), hash(t, l.Model())
}

// An interrupted run ends with the very bits of one that was not: weights,
// masks, optimizer state, position, sums and metrics. The steps are, of epochs
// of ten with an update in place of step 8, 15, ...: the first of all, around an
// update, the last and the first of an epoch, the last of all.
func TestResumeBitForBit(t *testing.T) {
	for name, change := range map[string]func(*train.Config){
		"RigL": nil,
		"SET with Adam": func(c *train.Config) {
			c.Masks.Method = rigl.SET()
			c.Optimizer.Rule = optim.Adam{}
			c.LR = optim.Constant(0.01)
		},
		"saving often": func(c *train.Config) { c.SaveEvery = 4 },
	} {
		t.Run(name, func(t *testing.T) {
			want, weights := reference(t, inDir(t, change))
			require.Len(t, want.Metrics, 4+5+13, "epochs, updates, steps")
			for _, k := range []int{1, 7, 8, 9, 10, 11, 15, 20, 29, 39, 40} {
				t.Run(fmt.Sprint("step ", k), func(t *testing.T) {
					t.Parallel() // much of it is waiting for the disk
					c := inDir(t, change)
					interrupt(t, c, k)
					seen := &recorder{}
					c.Observer = seen
					l, r := fit(t, resumed(c))
					assert.Equal(t, weights, hash(t, l.Model()))
					assert.Equal(t, want, outcomeOf(t, c.Dir))
					assert.Equal(t, 4*steps, r.Steps)
					assert.Len(t, seen.steps, 4*steps-k)
					assert.Equal(t, k, seen.begins[0].Step)
					assert.Empty(t, seen.warnings)
				})
			}
		})
	}
}

// Any number of interruptions, two at one step among them, in new processes or
// in the same one.
func TestResumeAgainAndAgain(t *testing.T) {
	want, weights := reference(t, standard(t))
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 0))
			c := inDir(t, func(c *train.Config) { c.SaveEvery = rng.IntN(12) })
			seen := &recorder{}
			c.Observer = seen
			l := learner(t, c)
			for at := 0; l.Steps() < 4*steps; {
				at = min(at+rng.IntN(14), 4*steps)
				ctx, cancel := context.WithCancel(context.Background())
				seen.onStep = func(s train.Step) {
					if s.Step >= at {
						cancel()
					}
				}
				_, err := l.Fit(ctx)
				cancel()
				require.ErrorIs(t, err, train.ErrInterrupted)
				if rng.IntN(2) == 0 {
					require.NoError(t, l.Close())
					l = learner(t, resumed(c))
				}
			}
			seen.onStep = nil
			_, err := l.Fit(context.Background())
			require.NoError(t, err)
			require.NoError(t, l.Close())
			require.Equal(t, weights, hash(t, l.Model()))
			require.Equal(t, want, outcomeOf(t, c.Dir))
		})
	}
}

// Without a directory the same Learner can still go on.
func TestFitGoesOnAfterAnInterruption(t *testing.T) {
	_, weights := reference(t, standard(t))
	c := standard(t)
	ctx, cancel := context.WithCancel(context.Background())
	seen := &recorder{onStep: func(s train.Step) {
		if s.Step == 13 {
			cancel()
		}
	}}
	c.Observer = seen
	l := learner(t, c)
	_, err := l.Fit(ctx)
	require.ErrorIs(t, err, train.ErrInterrupted)
	require.ErrorContains(t, err, "after step 13")
	r, err := l.Fit(context.Background())
	require.NoError(t, err)
	assert.Equal(t, 4*steps, r.Steps)
	assert.Equal(t, weights, hash(t, l.Model()))
	assert.Len(t, seen.begins, 2)
	assert.Equal(t, 13, seen.begins[1].Step)
	assert.Equal(t, 2, seen.ends, "however it ended")
}

// The threads of the machine that goes on may be others.
func TestResumeOnOtherThreads(t *testing.T) {
	want, _ := reference(t, standard(t))
	c := inDir(t, nil)
	interrupt(t, c, 12)
	l, err := train.New(newBackend(t, 5), resumed(c))
	require.NoError(t, err)
	_, err = l.Fit(context.Background())
	require.NoError(t, err)
	require.NoError(t, l.Close())
	assert.Equal(t, want, outcomeOf(t, c.Dir))
}

// A context that ends between two epochs finds everything saved; saving again
// would take the score from the checkpoint, which may be the best one.
func TestInterruptionKeepsTheScore(t *testing.T) {
	c := inDir(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	seen := &recorder{onEpoch: func(train.Epoch) { cancel() }}
	c.Observer = seen
	l := learner(t, c)
	_, err := l.Fit(ctx)
	require.ErrorIs(t, err, train.ErrInterrupted)
	require.NoError(t, l.Close())
	keepsTheScore := func() {
		paths := checkpoints(t, c.Dir)
		require.Len(t, paths, 1)
		_, info, err := checkpoint.Load(paths[0])
		require.NoError(t, err)
		require.EqualValues(t, steps, info.Step)
		assert.Equal(t, seen.epochs[0].ValidAccuracy, info.Score)
	}
	keepsTheScore()

	// The same right after a resume.
	l = learner(t, resumed(c))
	_, err = l.Fit(ctx)
	require.ErrorIs(t, err, train.ErrInterrupted)
	keepsTheScore()
}

// Killed between the line of an epoch and its checkpoint, a run that has an
// earlier checkpoint of the same step finds the line there already.
func TestKilledBetweenMetricsAndCheckpoint(t *testing.T) {
	want, _ := reference(t, standard(t))
	c := inDir(t, nil)
	interrupt(t, c, 2*steps)
	killed := c
	killed.Dir = filepath.Join(t.TempDir(), "killed")
	require.NoError(t, os.CopyFS(killed.Dir, os.DirFS(c.Dir)))

	c.Observer = &recorder{onEpoch: func(train.Epoch) {
		line, err := os.ReadFile(filepath.Join(c.Dir, "metrics.jsonl"))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(killed.Dir, "metrics.jsonl"), line, 0o644))
		c.Observer.(*recorder).onEpoch = nil
	}}
	fit(t, resumed(c))
	fit(t, resumed(killed))
	assert.Equal(t, want, outcomeOf(t, c.Dir))
	assert.Equal(t, want, outcomeOf(t, killed.Dir))
}

// Of a run with validation the best checkpoint stays, however old it is.
func TestBestCheckpointStays(t *testing.T) {
	c := inDir(t, func(c *train.Config) { c.Keep, c.Epochs, c.LR = 1, 12, optim.Constant(0.05) })
	seen := &recorder{}
	c.Observer = seen
	fit(t, c)
	best := 0
	for i, e := range seen.epochs {
		better := i == 0 || e.ValidAccuracy > seen.epochs[best].ValidAccuracy
		assert.Equal(t, better, e.Best, "epoch %d", e.Epoch)
		if better {
			best = i
		}
	}
	require.Less(t, best, 11, "the test needs a best epoch that is not the last")
	d, err := checkpoint.OpenReadOnly(c.Dir, checkpoint.Options{})
	require.NoError(t, err)
	_, info, _, err := d.Best()
	require.NoError(t, err)
	assert.EqualValues(t, seen.epochs[best].Step, info.Step)
	assert.Equal(t, seen.epochs[best].ValidAccuracy, info.Score)
	assert.Len(t, checkpoints(t, c.Dir), 2)
}
