package nn_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/ops/cpu"
	"github.com/rigel-ml/rigel/ops/ref"
	"github.com/rigel-ml/rigel/sparse"
)

// The sizes of smallModel: odd, so that nothing fits by chance.
const features, classes = 6, 5

// smallModel has each kind of layer.
func smallModel(dropout float64) nn.SequentialConfig {
	return nn.SequentialConfig{
		nn.SparseLinearConfig{In: features, Out: 9, Sparsity: 0.5},
		nn.ReLUConfig{},
		nn.DropoutConfig{P: dropout},
		nn.SparseLinearConfig{In: 9, Out: 7, NNZ: 30},
		nn.ReLUConfig{},
		nn.LinearConfig{In: 7, Out: classes},
	}
}

func newCPU(t testing.TB) *cpu.Backend {
	b := cpu.NewThreads(2)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// backends are the ones that must agree.
func backends(t testing.TB) map[string]ops.Backend {
	return map[string]ops.Backend{"ref": ref.New(), "cpu": newCPU(t)}
}

func build(t testing.TB, b ops.Backend, c nn.Config) nn.Module {
	t.Helper()
	m, err := c.Init(nn.NewInit(b, 1))
	require.NoError(t, err)
	return m
}

// buildFilled also draws the biases, which start at 0 and would hide faults:
// with them even the padding of a batch has activations.
func buildFilled(t testing.TB, b ops.Backend, c nn.Config) nn.Module {
	t.Helper()
	m := build(t, b, c)
	rng := rand.New(rand.NewPCG(2, 2))
	for _, p := range m.Params() {
		if p.IsWeight() {
			continue
		}
		values := make([]float32, p.NNZ())
		for i := range values {
			values[i] = float32(rng.NormFloat64() / 4)
		}
		require.NoError(t, p.Load(b, nil, nil, values))
	}
	return m
}

func compile(t testing.TB, b ops.Backend, m nn.Module, batch int, training bool) *nn.Program {
	t.Helper()
	p, err := nn.Compile(b, nn.ProgramConfig{Model: m, Features: features, Batch: batch, Training: training})
	require.NoError(t, err)
	return p
}

// samples draws a batch; every class is among the labels if n allows.
func samples(n int) (x []float32, labels []int32) {
	rng := rand.New(rand.NewPCG(3, 3))
	for i := range n {
		labels = append(labels, int32(i%classes))
		for range features {
			x = append(x, float32(rng.NormFloat64()))
		}
	}
	return x, labels
}

// result is what one run of a program computes.
type result struct {
	loss      float64
	output    []float32 // of the samples that were loaded
	gradients map[string][]float32
}

// run loads a batch and runs a step.
func run(t testing.TB, b ops.Backend, p *nn.Program, x []float32, labels []int32, step uint64) result {
	t.Helper()
	require.NoError(t, p.Load(x, labels))
	require.NoError(t, p.Run(step))
	r := result{loss: p.Loss(), output: make([]float32, p.Batch()*p.Classes()), gradients: map[string][]float32{}}
	require.NoError(t, p.Output(r.output))
	r.output = r.output[:len(labels)*p.Classes()]
	for i, param := range p.Params() {
		g, err := p.Gradient(i)
		require.NoError(t, err)
		r.gradients[param.Name] = inOrder(t, b, param, g)
	}
	return r
}

// inOrder returns numbers of a parameter in CSR order, whatever the backend's is.
func inOrder(t testing.TB, b ops.Backend, p *nn.Param, d *tensor.Dense) []float32 {
	t.Helper()
	host := make([]float32, d.DataSize())
	require.NoError(t, ops.Values(b, p.Pattern, host, d))
	return host
}

func download(t testing.TB, b ops.Backend, d *tensor.Dense) []float32 {
	t.Helper()
	host := make([]float32, d.DataSize())
	require.NoError(t, b.Download(host, d))
	return host
}

// requireClose holds two runs together to float32 accuracy.
func requireClose(t testing.TB, want, got result) {
	t.Helper()
	const tolerance = 1e-5
	require.InDelta(t, want.loss, got.loss, tolerance)
	require.InDeltaSlice(t, want.output, got.output, tolerance)
	require.Len(t, got.gradients, len(want.gradients))
	for name, g := range want.gradients {
		require.InDeltaSlice(t, g, got.gradients[name], tolerance, name)
	}
}

func modelHash(t testing.TB, b ops.Backend, m nn.Module) string {
	t.Helper()
	h, err := nn.Hash(b, m.Params())
	require.NoError(t, err)
	return h
}

func names(m nn.Module) []string {
	var all []string
	for _, p := range m.Params() {
		all = append(all, p.Name)
	}
	return all
}

func pattern(t testing.TB, rows, cols int, rowPtr, colIdx []int32) *sparse.Pattern {
	t.Helper()
	p, err := sparse.NewPattern(rows, cols, rowPtr, colIdx)
	require.NoError(t, err)
	return p
}

// assertErrorSays checks that a message holds all that a person needs.
func assertErrorSays(t testing.TB, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		assert.ErrorContains(t, err, part)
	}
}
