package optim_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/ops/cpu"
	"github.com/rigel-ml/rigel/ops/ref"
	"github.com/rigel-ml/rigel/optim"
	"github.com/rigel-ml/rigel/sparse"
)

// rules are all rules with everything on and off. The constants are sums of few
// powers of two, so that float32 holds them exactly.
func rules() map[string]optim.Rule {
	return map[string]optim.Rule{
		"sgd":                 optim.SGD{},
		"sgd, decay":          optim.SGD{WeightDecay: 0.125},
		"momentum":            optim.SGD{Momentum: 0.875},
		"momentum, decay":     optim.SGD{Momentum: 0.875, WeightDecay: 0.125},
		"nesterov":            optim.SGD{Momentum: 0.875, Nesterov: true},
		"nesterov, decay":     optim.SGD{Momentum: 0.875, Nesterov: true, WeightDecay: 0.125},
		"adam":                optim.Adam{},
		"adam, decay":         optim.Adam{Beta1: 0.75, Beta2: 0.9375, Epsilon: 0.0625, WeightDecay: 0.125},
		"adamw without decay": optim.AdamW{},
		"adamw":               optim.AdamW{Beta1: 0.75, Beta2: 0.9375, Epsilon: 0.0625, WeightDecay: 0.125},
	}
}

// backends are the ones that must agree.
func backends(t testing.TB) map[string]ops.Backend {
	return map[string]ops.Backend{"ref": ref.New(), "cpu": newCPU(t)}
}

func newCPU(t testing.TB) *cpu.Backend {
	b := cpu.NewThreads(2)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// weight and bias are parameters with these values; of the two only a weight
// decays.
func weight(t testing.TB, b ops.Backend, values ...float32) *nn.Param {
	t.Helper()
	p, err := nn.NewInit(b, 1).Dense("weight", values, 1, len(values))
	require.NoError(t, err)
	return p
}

func bias(t testing.TB, b ops.Backend, values ...float32) *nn.Param {
	t.Helper()
	p, err := nn.NewInit(b, 1).Dense("bias", values, len(values))
	require.NoError(t, err)
	return p
}

// sparseWeight has random connections and the values 1, 2, 3 and so on.
func sparseWeight(t testing.TB, b ops.Backend, rows, cols, nnz int) *nn.Param {
	t.Helper()
	pattern, err := sparse.RandomPattern(rows, cols, nnz, rand.New(rand.NewPCG(1, 2)))
	require.NoError(t, err)
	values := make([]float32, nnz)
	for i := range values {
		values[i] = float32(i + 1)
	}
	p, err := nn.NewInit(b, 1).Sparse("sparse", pattern, values)
	require.NoError(t, err)
	return p
}

func newOptimizer(t testing.TB, b ops.Backend, rule optim.Rule, params ...*nn.Param) *optim.Optimizer {
	t.Helper()
	o, err := optim.New(b, optim.Config{Rule: rule}, params)
	require.NoError(t, err)
	return o
}

func upload(t testing.TB, b ops.Backend, values ...float32) *tensor.Dense {
	t.Helper()
	d, err := b.New(b.Dtype(), len(values))
	require.NoError(t, err)
	require.NoError(t, b.Upload(d, values))
	return d
}

func download(t testing.TB, b ops.Backend, d *tensor.Dense) []float32 {
	t.Helper()
	host := make([]float32, d.DataSize())
	require.NoError(t, b.Download(host, d))
	return host
}

// randomGradients draws one for each parameter.
func randomGradients(t testing.TB, b ops.Backend, rng *rand.Rand, params ...*nn.Param) []*tensor.Dense {
	t.Helper()
	var all []*tensor.Dense
	for _, p := range params {
		values := make([]float32, p.NNZ())
		for i := range values {
			values[i] = float32(rng.NormFloat64())
		}
		all = append(all, upload(t, b, values...))
	}
	return all
}

// trainingRun is a small model with what trains it.
type trainingRun struct {
	backend   ops.Backend
	model     nn.Module
	program   *nn.Program
	optimizer *optim.Optimizer
}

func newTrainingRun(t testing.TB, b ops.Backend, rule optim.Rule, first nn.Config) *trainingRun {
	t.Helper()
	r := &trainingRun{backend: b}
	var err error
	r.model, err = nn.SequentialConfig{first, nn.ReLUConfig{}, nn.LinearConfig{In: 7, Out: 3}}.Init(nn.NewInit(b, 4))
	require.NoError(t, err)
	r.program, err = nn.Compile(b, nn.ProgramConfig{Model: r.model, Features: 5, Batch: 9, Training: true})
	require.NoError(t, err)
	r.optimizer = newOptimizer(t, b, rule, r.program.Params()...)
	return r
}

// steps trains on batches that depend on the number of the step alone.
func (r *trainingRun) steps(t testing.TB, from, to int) {
	t.Helper()
	gradients := make([]*tensor.Dense, len(r.program.Params()))
	for step := from; step < to; step++ {
		rng := rand.New(rand.NewPCG(6, uint64(step)))
		x, labels := make([]float32, 9*5), make([]int32, 9)
		for i := range x {
			x[i] = float32(rng.NormFloat64())
		}
		for i := range labels {
			labels[i] = rng.Int32N(3)
		}
		require.NoError(t, r.program.Load(x, labels))
		require.NoError(t, r.program.Run(uint64(step)))
		for i := range gradients {
			var err error
			gradients[i], err = r.program.Gradient(i)
			require.NoError(t, err)
		}
		require.NoError(t, r.optimizer.Step(gradients, 0.05))
	}
}

// bits returns every weight and every number of state.
func (r *trainingRun) bits(t testing.TB) (all [][]uint32) {
	t.Helper()
	add := func(d *tensor.Dense) {
		var bits []uint32
		for _, v := range download(t, r.backend, d) {
			bits = append(bits, math.Float32bits(v))
		}
		all = append(all, bits)
	}
	for _, p := range r.model.Params() {
		add(p.Value)
	}
	for _, s := range r.optimizer.States() {
		add(s.Value)
	}
	return all
}
