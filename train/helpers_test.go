package train_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rigel-ml/rigel/checkpoint"
	"github.com/rigel-ml/rigel/datasets"
	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/ops/cpu"
	"github.com/rigel-ml/rigel/optim"
	"github.com/rigel-ml/rigel/rigl"
	"github.com/rigel-ml/rigel/train"
)

const (
	features = 20
	classes  = 4
	samples  = 301 // a last batch of 13 with batches of 32
	steps    = 10  // in an epoch of the standard run
)

// clusters returns n samples around one center for each class. Sets of
// different seeds share the centers.
func clusters(t require.TestingT, name string, n int, seed uint64) *datasets.Set {
	centers, rng := rand.New(rand.NewPCG(1, 1)), rand.New(rand.NewPCG(seed, 2))
	var center [classes][features]float64
	for c := range center {
		for f := range center[c] {
			center[c][f] = centers.NormFloat64()
		}
	}
	x, labels := make([]float32, 0, n*features), make([]int32, n)
	for i := range labels {
		labels[i] = int32(rng.IntN(classes))
		for _, mean := range center[labels[i]] {
			x = append(x, float32(mean+1.5*rng.NormFloat64()))
		}
	}
	s, err := datasets.FromFloats(datasets.SetConfig{Name: name, Classes: classes}, x, labels)
	require.NoError(t, err)
	return s
}

// network is a perceptron of two sparse layers and a dense one, with dropout.
func network() nn.SequentialConfig {
	return nn.SequentialConfig{
		nn.SparseLinearConfig{In: features, Out: 32, Sparsity: 0.7},
		nn.ReLUConfig{},
		nn.DropoutConfig{P: 0.1},
		nn.SparseLinearConfig{In: 32, Out: 16, NNZ: 150},
		nn.ReLUConfig{},
		nn.LinearConfig{In: 16, Out: classes},
	}
}

// standard is the run that most tests train: RigL, momentum, clipping and
// dropout over four epochs of ten steps, with updates after every seven.
func standard(t require.TestingT) train.Config {
	return train.Config{
		Model:     network(),
		Optimizer: optim.Config{Rule: optim.SGD{Momentum: 0.9, Nesterov: true, WeightDecay: 1e-4}, ClipNorm: 2},
		LR:        optim.Warmup{Steps: 5, Then: optim.Cosine{Base: 0.05, Steps: 4 * steps}},
		Masks:     rigl.Config{Method: rigl.RigL(), Schedule: rigl.Schedule{Every: 7, End: 36}},
		Epochs:    4,
		Batch:     32,
		Seed:      5,
		Train:     clusters(t, "clusters", samples, 3),
		Valid:     clusters(t, "more clusters", 100, 4),
		LogEvery:  3,
	}
}

// inDir is the standard run in a new run directory, changed by f.
func inDir(t testing.TB, f func(*train.Config)) train.Config {
	c := standard(t)
	c.Dir = filepath.Join(t.TempDir(), "run")
	if f != nil {
		f(&c)
	}
	return c
}

func resumed(c train.Config) train.Config {
	c.Resume = true
	return c
}

func newBackend(t testing.TB, threads int) *cpu.Backend {
	b := cpu.NewThreads(threads)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// learner returns a Learner that the test closes at the latest.
func learner(t testing.TB, c train.Config) *train.Learner {
	t.Helper()
	l, err := train.New(newBackend(t, 2), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

// fit trains to the end and releases the run directory.
func fit(t testing.TB, c train.Config) (*train.Learner, train.Result) {
	t.Helper()
	l := learner(t, c)
	r, err := l.Fit(context.Background())
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l, r
}

// hash is that of the model's parameters. Downloading needs no thread.
func hash(t testing.TB, m nn.Module) string {
	t.Helper()
	h, err := nn.Hash(newBackend(t, 1), m.Params())
	require.NoError(t, err)
	return h
}

// outcome is all that a run leaves behind but times: the bits of each array,
// hashed for short messages, and the progress record of the newest checkpoint,
// and the lines of the metrics.
type outcome struct {
	Step     int64
	Arrays   map[string]string
	Progress map[string]any
	Metrics  []map[string]any
}

func outcomeOf(t testing.TB, dir string) outcome {
	t.Helper()
	d, err := checkpoint.OpenReadOnly(dir, checkpoint.Options{})
	require.NoError(t, err)
	a, info, warnings, err := d.Latest()
	require.NoError(t, err)
	require.Empty(t, warnings)
	o := outcome{Step: info.Step, Arrays: map[string]string{}}
	for _, e := range a.Entries() {
		h := sha256.New()
		if e.Kind == checkpoint.KindCSR {
			m, err := a.CSR(e.Name)
			require.NoError(t, err)
			for _, array := range []any{m.RowPtr(), m.ColIdx(), m.Values} {
				require.NoError(t, binary.Write(h, binary.LittleEndian, array))
			}
		} else {
			_, values, err := a.Float32(e.Name)
			require.NoError(t, err)
			require.NoError(t, binary.Write(h, binary.LittleEndian, values))
		}
		o.Arrays[e.Name] = fmt.Sprintf("%v %x", e.Shape, h.Sum(nil))
	}
	require.NoError(t, a.Record("progress", &o.Progress))
	dropTimes(o.Progress)
	o.Metrics = metrics(t, dir)
	for _, line := range o.Metrics {
		dropTimes(line)
	}
	return o
}

// dropTimes removes what a clock has measured.
func dropTimes(record map[string]any) {
	maps.DeleteFunc(record, func(key string, v any) bool {
		if inner, ok := v.(map[string]any); ok {
			dropTimes(inner)
		}
		return key == "seconds" || key == "samples_per_second" || key == "steps_per_second"
	})
}

// metrics are the lines of metrics.jsonl.
func metrics(t testing.TB, dir string) []map[string]any {
	t.Helper()
	d, err := checkpoint.OpenReadOnly(dir, checkpoint.Options{})
	require.NoError(t, err)
	lines, err := d.Metrics()
	require.NoError(t, err)
	all := make([]map[string]any, len(lines))
	for i, line := range lines {
		require.NoError(t, json.Unmarshal(line, &all[i]))
	}
	return all
}

// files are the contents of all files below dir, by path, but for the lock.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == "lock" {
			return err
		}
		content, err := os.ReadFile(path)
		all[path] = string(content)
		return err
	}))
	return all
}

// checkpoints are the paths of the checkpoint files, oldest first.
func checkpoints(t testing.TB, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "checkpoints", "*.safetensors"))
	require.NoError(t, err)
	return paths
}

// recorder is an Observer that keeps all events and may act on them.
type recorder struct {
	begins   []train.Begin
	steps    []train.Step
	updates  []train.Update
	epochs   []train.Epoch
	warnings []string
	ends     int

	onStep  func(train.Step)
	onEpoch func(train.Epoch)
}

func (r *recorder) Begin(b train.Begin)   { r.begins = append(r.begins, b) }
func (r *recorder) Update(u train.Update) { r.updates = append(r.updates, u) }
func (r *recorder) Warn(message string)   { r.warnings = append(r.warnings, message) }
func (r *recorder) End()                  { r.ends++ }

func (r *recorder) Step(s train.Step) {
	r.steps = append(r.steps, s)
	if r.onStep != nil {
		r.onStep(s)
	}
}

func (r *recorder) Epoch(e train.Epoch) {
	r.epochs = append(r.epochs, e)
	if r.onEpoch != nil {
		r.onEpoch(e)
	}
}

// interrupt trains until the context is canceled at a step, and closes.
func interrupt(t testing.TB, c train.Config, step int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c.Observer = &recorder{onStep: func(s train.Step) {
		if s.Step == step {
			cancel()
		}
	}}
	l := learner(t, c)
	_, err := l.Fit(ctx)
	require.ErrorIs(t, err, train.ErrInterrupted)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, step, l.Steps(), "the step at hand is finished, and no other begun")
	require.NoError(t, l.Close())
}
