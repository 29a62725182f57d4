package nn_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	G "gorgonia.org/gorgonia"

	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/ops/ref"
)

// checkGradients compares the gradient of the loss in every weight with central
// differences. The backend is ref, whose float64 the differences need.
func checkGradients(t *testing.T, m nn.Module, n int) {
	t.Helper()
	b := ref.New()
	p := compile(t, b, m, n, true)
	const step = 5 // dropout draws the same mask each time
	x, labels := samples(n)
	labels[n-1] = ops.Ignore
	require.NoError(t, p.Load(x, labels))
	loss := func() float64 {
		require.NoError(t, p.Run(step))
		return p.Loss()
	}
	loss()
	var analytic [][]float64
	for i := range p.Params() {
		g, err := p.Gradient(i)
		require.NoError(t, err)
		analytic = append(analytic, append([]float64(nil), g.Float64s()...))
	}
	const h = 1e-6
	for i, param := range p.Params() {
		w := param.Value.Float64s()
		largest := 0.0
		for j := range w {
			at := w[j]
			w[j] = at + h
			up := loss()
			w[j] = at - h
			down := loss()
			w[j] = at
			assert.InDelta(t, (up-down)/(2*h), analytic[i][j], 1e-8, "%s[%d]", param.Name, j)
			largest = max(largest, math.Abs(analytic[i][j]))
		}
		assert.Greater(t, largest, 1e-3, "%s: a gradient of zeros proves nothing", param.Name)
	}
}

func TestGradientsOfAWholeModel(t *testing.T) {
	b := ref.New()
	for name, tc := range map[string]struct {
		model nn.Config
		batch int
	}{
		"sparse, relu, dense":  {smallModel(0), 11},
		"with dropout":         {smallModel(0.3), 11},
		"one over a panel":     {smallModel(0.3), 65},
		"one layer by itself":  {nn.SparseLinearConfig{In: features, Out: classes, Sparsity: 0.4}, 3},
		"a layer without bias": {nn.LinearConfig{In: features, Out: classes, NoBias: true}, 3},
	} {
		t.Run(name, func(t *testing.T) { checkGradients(t, buildFilled(t, b, tc.model), tc.batch) })
	}
}

// A module used twice has one set of weights, whose gradients add up.
func TestGradientsOfASharedLayer(t *testing.T) {
	b := ref.New()
	square := buildFilled(t, b, nn.SparseLinearConfig{In: features, Out: features, Sparsity: 0.3})
	m := &nn.Sequential{Modules: []nn.Module{square, nn.ReLUConfig{}, square}}
	assert.Equal(t, []string{"weight", "bias"}, names(m), "once each")
	checkGradients(t, m, 9)

	p := compile(t, b, m, 4, true)
	x, labels := samples(4)
	run(t, b, p, x, labels, 0)
	_, _, _, err := p.GrowthInputs(0)
	require.ErrorContains(t, err, "used by several layers")
}

func TestCPUAgreesWithTheReference(t *testing.T) {
	for _, n := range []int{1, 8, 63, 64, 65, 130} {
		x, labels := samples(n)
		results := map[string]result{}
		for name, b := range backends(t) {
			results[name] = run(t, b, compile(t, b, buildFilled(t, b, smallModel(0.3)), n, true), x, labels, 4)
		}
		requireClose(t, results["ref"], results["cpu"])
	}
}

// meanLogit is a loss from outside the package, whose gradient is known.
type meanLogit struct{}

func (meanLogit) Forward(_ *nn.Graph, output, _ *G.Node) (*G.Node, error) { return G.Mean(output) }

func TestALossOfOnesOwn(t *testing.T) {
	b := newCPU(t)
	m := build(t, b, nn.LinearConfig{In: features, Out: classes})
	p, err := nn.Compile(b, nn.ProgramConfig{Model: m, Loss: meanLogit{}, Features: features, Batch: 8, Training: true})
	require.NoError(t, err)
	x, labels := samples(8) // fills a panel, so that there is no padding
	r := run(t, b, p, x, labels, 0)
	for _, g := range r.gradients["bias"] {
		assert.InDelta(t, 1.0/classes, g, 1e-6) // each bias is in 8 of 8·classes logits
	}
}
