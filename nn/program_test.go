package nn_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/ops"
)

// A short batch in a large program is the same as in a program made for it:
// padding has activations, since biases are not 0, but no say.
func TestShortBatches(t *testing.T) {
	for name, b := range backends(t) {
		m := buildFilled(t, b, smallModel(0.3))
		for _, batch := range []int{8, 64, 65, 130} {
			p := compile(t, b, m, batch, true)
			assert.Equal(t, batch, p.Batch())
			full, fullLabels := samples(batch)
			for i := range full {
				full[i] = float32(math.NaN())
			}
			for _, n := range []int{1, batch - 1, batch} {
				t.Run(fmt.Sprint(name, "/", n, " of ", batch), func(t *testing.T) {
					run(t, b, p, full, fullLabels, 1) // must leave nothing behind
					x, labels := samples(n)
					requireClose(t, run(t, b, compile(t, b, m, n, true), x, labels, 2), run(t, b, p, x, labels, 2))
				})
			}
		}
	}
}

// A sample without a label has an output but no part in the loss.
func TestIgnoredSamplesDoNotCount(t *testing.T) {
	for name, b := range backends(t) {
		t.Run(name, func(t *testing.T) {
			p := compile(t, b, buildFilled(t, b, smallModel(0)), 9, true)
			x, labels := samples(9)
			want := run(t, b, p, x[:4*features], labels[:4], 0)
			for i := 4; i < 9; i++ {
				labels[i] = ops.Ignore
			}
			got := run(t, b, p, x, labels, 0)
			got.output = got.output[:len(want.output)]
			requireClose(t, want, got)
		})
	}
}

func TestNoLabelsAtAll(t *testing.T) {
	for name, b := range backends(t) {
		t.Run(name, func(t *testing.T) {
			p := compile(t, b, buildFilled(t, b, smallModel(0)), 9, true)
			x, labels := samples(3)
			for i := range labels {
				labels[i] = ops.Ignore
			}
			for _, r := range []result{run(t, b, p, x, labels, 0), run(t, b, p, nil, nil, 0)} {
				assert.Zero(t, r.loss)
				for name, g := range r.gradients {
					assert.Equal(t, make([]float32, len(g)), g, name)
				}
			}
		})
	}
}

func TestDropoutIsForTraining(t *testing.T) {
	b := newCPU(t)
	m := buildFilled(t, b, smallModel(0.5))
	training, evaluation := compile(t, b, m, 20, true), compile(t, b, m, 20, false)
	x, labels := samples(20)

	first := run(t, b, training, x, labels, 1)
	assert.NotEqual(t, first.output, run(t, b, training, x, labels, 2).output, "another step, another mask")
	assert.Equal(t, first, run(t, b, training, x, labels, 1), "the same step, the same mask")

	// Without dropout the numbers of the layers change, so weights are carried
	// over by position.
	plain := build(t, b, smallModel(0))
	for i, p := range plain.Params() {
		q := m.Params()[i]
		var rowPtr, colIdx []int32
		if q.Pattern != nil {
			rowPtr, colIdx = q.Pattern.RowPtr(), q.Pattern.ColIdx()
		}
		require.NoError(t, p.Load(b, rowPtr, colIdx, inOrder(t, b, q, q.Value)))
	}
	want := run(t, b, compile(t, b, plain, 20, false), x, labels, 0)
	for step := range uint64(3) {
		assert.Equal(t, want, run(t, b, evaluation, x, labels, step))
	}
	assert.Empty(t, evaluation.Params(), "nothing to train")
}

func TestProgramsShareParameters(t *testing.T) {
	b := newCPU(t)
	m := build(t, b, smallModel(0))
	training, evaluation := compile(t, b, m, 20, true), compile(t, b, m, 7, false)
	x, labels := samples(7)
	before := run(t, b, evaluation, x, labels, 0)
	bias := training.Params()[5]
	require.Equal(t, "5.bias", bias.Name)
	require.NoError(t, bias.Load(b, nil, nil, []float32{1, 2, 3, 4, 5}))
	after := run(t, b, evaluation, x, labels, 0)
	for i, v := range before.output {
		assert.InDelta(t, v+float32(i%classes+1), after.output[i], 1e-5)
	}
	assert.InDelta(t, after.loss, run(t, b, training, x, labels, 0).loss, 1e-6)
}

// The pattern alone makes the difference between the two kinds of layer.
func TestFullSparseLayerIsALinearLayer(t *testing.T) {
	for name, b := range backends(t) {
		t.Run(name, func(t *testing.T) {
			// The same names draw the same weights.
			sparse := build(t, b, nn.SparseLinearConfig{In: features, Out: classes})
			dense := build(t, b, nn.LinearConfig{In: features, Out: classes})
			require.EqualValues(t, sparse.Params()[0].Size(), sparse.Params()[0].NNZ())
			x, labels := samples(70)
			requireClose(t, run(t, b, compile(t, b, dense, 70, true), x, labels, 0),
				run(t, b, compile(t, b, sparse, 70, true), x, labels, 0))
		})
	}
}

// The loss of a model of zeros is log(classes) whatever the input.
func TestLossOfAnUntrainedModel(t *testing.T) {
	for name, b := range backends(t) {
		t.Run(name, func(t *testing.T) {
			m := build(t, b, nn.LinearConfig{In: features, Out: classes})
			require.NoError(t, m.Params()[0].Load(b, nil, nil, make([]float32, features*classes)))
			p := compile(t, b, m, 10, false)
			assert.Zero(t, p.Loss(), "before the first run")
			x, labels := samples(10)
			r := run(t, b, p, x, labels, 0)
			assert.InDelta(t, math.Log(classes), r.loss, 1e-6)
			assert.Equal(t, make([]float32, 10*classes), r.output)
			assert.Equal(t, classes, p.Classes())
		})
	}
}

func TestLoadAndRunErrors(t *testing.T) {
	b := newCPU(t)
	p := compile(t, b, build(t, b, smallModel(0)), 4, true)
	require.ErrorContains(t, p.Output(make([]float32, 4*classes)), "before the first run")
	_, err := p.Gradient(0)
	require.ErrorContains(t, err, "0.weight")
	_, _, _, err = p.GrowthInputs(0)
	require.ErrorContains(t, err, "0.weight")

	x, labels := samples(6)
	want := run(t, b, p, x[:4*features], labels[:4], 0)
	for name, tc := range map[string]struct {
		x      []float32
		labels []int32
		want   string
	}{
		"too many samples": {x[:5*features], labels[:5], "5 labels for up to 4 samples"},
		"a number short":   {x[:4*features-1], labels[:4], "23 numbers and 4 labels"},
		"a label short":    {x[:4*features], labels[:3], "24 numbers and 3 labels"},
		"no labels":        {x[:features], nil, "0 labels"},
	} {
		t.Run(name, func(t *testing.T) { require.ErrorContains(t, p.Load(tc.x, tc.labels), tc.want) })
	}
	for _, label := range []int32{classes, -2, math.MaxInt32, math.MinInt32} {
		require.NoError(t, p.Load(x[:3*features], []int32{0, label, 1}))
		err := p.Run(0)
		require.ErrorIs(t, err, ops.ErrOperand)
		assert.ErrorContains(t, err, fmt.Sprintf("label %d of sample 1, want 0 to 4", label))
	}
	require.ErrorIs(t, p.Output(make([]float32, 3)), ops.ErrOperand)
	assert.Equal(t, want, run(t, b, p, x[:4*features], labels[:4], 0), "errors leave nothing behind")
}

// forgetful lists a parameter that its Forward does not use.
type forgetful struct {
	nn.Module
	extra *nn.Param
}

func (m forgetful) Params() []*nn.Param { return append(m.Module.Params(), m.extra) }

func TestCompileRefuses(t *testing.T) {
	b := newCPU(t)
	model := build(t, b, smallModel(0))
	extra := build(t, b, nn.SequentialConfig{nn.Named("extra", nn.LinearConfig{In: 1, Out: 1})}).Params()[0]
	layer := func() nn.Module { return build(t, b, nn.LinearConfig{In: features, Out: features}) }
	mismatch := func(c nn.Config) nn.Module {
		return build(t, b, nn.SequentialConfig{nn.Named("fc1", nn.LinearConfig{In: features, Out: 8}), nn.Named("fc2", c)})
	}
	for name, tc := range map[string]struct {
		config nn.ProgramConfig
		want   []string
	}{
		"no model":         {nn.ProgramConfig{Features: features, Batch: 1}, []string{"needs a model"}},
		"no features":      {nn.ProgramConfig{Model: model, Batch: 1}, []string{"number of features", "0"}},
		"no batch":         {nn.ProgramConfig{Model: model, Features: features}, []string{"batch = 0"}},
		"other features":   {nn.ProgramConfig{Model: model, Features: 7, Batch: 1}, []string{"0.weight takes 6 features", "has 7"}},
		"sparse mismatch":  {nn.ProgramConfig{Model: mismatch(nn.SparseLinearConfig{In: 9, Out: 2}), Features: features, Batch: 1}, []string{"fc2.weight takes 9 features", "has 8"}},
		"dense mismatch":   {nn.ProgramConfig{Model: mismatch(nn.LinearConfig{In: 9, Out: 2}), Features: features, Batch: 1}, []string{"fc2.weight takes 9 features", "has 8"}},
		"unused parameter": {nn.ProgramConfig{Model: forgetful{model, extra}, Features: features, Batch: 1, Training: true}, []string{"never uses extra.weight"}},
		// Two models of their own Init in one graph: gorgonia would take both
		// weights for one.
		"two of one name": {nn.ProgramConfig{Model: &nn.Sequential{Modules: []nn.Module{layer(), layer()}}, Features: features, Batch: 1}, []string{"two parameters are named weight"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := nn.Compile(b, tc.config)
			require.Error(t, err)
			assertErrorSays(t, err, tc.want...)
		})
	}
}

func TestStepDoesNotAllocate(t *testing.T) {
	b := newCPU(t)
	m := build(t, b, smallModel(0.3))
	x, labels := samples(65)
	for name, p := range map[string]*nn.Program{
		"training":   compile(t, b, m, 70, true),
		"evaluation": compile(t, b, m, 70, false),
	} {
		step := uint64(0)
		output := make([]float32, 70*classes)
		assert.Zero(t, testing.AllocsPerRun(20, func() {
			step++
			if p.Load(x, labels) != nil || p.Run(step) != nil || p.Output(output) != nil {
				t.Error("a step failed")
			}
		}), name)
	}
}
