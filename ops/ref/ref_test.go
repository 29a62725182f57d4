package ref_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/ops/opstest"
	"github.com/rigel-ml/rigel/ops/ref"
	"github.com/rigel-ml/rigel/sparse"
)

// run plans a problem and runs it on float64 inputs; labels come last.
func run(t *testing.T, s ops.Spec, labels []int32, in ...[]float64) []float64 {
	t.Helper()
	b := ref.New()
	k, err := b.Plan(s)
	require.NoError(t, err)
	sig, err := s.Signature()
	require.NoError(t, err)
	var args []*tensor.Dense
	for i, o := range sig.In {
		d, err := o.New(b)
		require.NoError(t, err)
		if o.Labels > 0 {
			require.NoError(t, b.UploadInt32(d, labels))
		} else {
			require.Len(t, in[i], o.Len())
			copy(d.Float64s(), in[i])
		}
		args = append(args, d)
	}
	out, err := sig.Out.New(b)
	require.NoError(t, err)
	require.NoError(t, k.Run(out, args))
	return out.Float64s()
}

// panel8 spreads the values of each feature over the first slots of a panel of
// eight samples.
func panel8(features ...[]float64) []float64 {
	x := make([]float64, 8*len(features))
	for f, values := range features {
		copy(x[8*f:], values)
	}
	return x
}

// TestProducts is worked by hand on W = (0 2 0; 3 0 4) with two samples.
func TestProducts(t *testing.T) {
	p, err := sparse.NewPattern(2, 3, []int32{0, 1, 3}, []int32{1, 0, 2})
	require.NoError(t, err)
	panels, err := ops.NewPanels(2)
	require.NoError(t, err)
	w := []float64{2, 3, 4}
	x := panel8([]float64{1, 10}, []float64{2, 20}, []float64{3, 30})
	dy := panel8([]float64{1, -1}, []float64{5, 7})

	assert.Equal(t, panel8([]float64{4, 40}, []float64{15, 150}), run(t, ops.SpMM{Pattern: p, Panels: panels}, nil, w, x))
	assert.Equal(t, panel8([]float64{15, 21}, []float64{2, -2}, []float64{20, 28}), run(t, ops.SpMMT{Pattern: p, Panels: panels}, nil, w, dy))
	// 1·2 - 1·20; 5·1 + 7·10; 5·3 + 7·30
	assert.Equal(t, []float64{-18, 75, 225}, run(t, ops.SDDMM{Pattern: p, Panels: panels}, nil, dy, x))

	dense, problem := []float64{0, 2, 0, 3, 0, 4}, ops.DenseProblem{Out: 2, In: 3, Panels: panels}
	assert.Equal(t, panel8([]float64{4, 40}, []float64{15, 150}), run(t, ops.Linear(problem), nil, dense, x))
	assert.Equal(t, panel8([]float64{15, 21}, []float64{2, -2}, []float64{20, 28}), run(t, ops.LinearT(problem), nil, dense, dy))
	assert.Equal(t, []float64{-9, -18, -27, 75, 150, 225}, run(t, ops.LinearGrad(problem), nil, dy, x))
}

// TestCrossEntropy: with logits (0, ln 3) the classes have probabilities 1/4 and
// 3/4; the third sample does not count.
func TestCrossEntropy(t *testing.T) {
	panels, err := ops.NewPanels(3)
	require.NoError(t, err)
	z := panel8([]float64{0, 1000, 5}, []float64{math.Log(3), 1000 + math.Log(3), 6})
	labels := []int32{0, 1, ops.Ignore, ops.Ignore, ops.Ignore, ops.Ignore, ops.Ignore, ops.Ignore}
	loss := run(t, ops.CrossEntropy{Features: 2, Panels: panels}, labels, z, nil)
	assert.InDelta(t, (math.Log(4)+math.Log(4.0/3))/2, loss[0], 1e-12)
	dz := run(t, ops.CrossEntropyGrad{Features: 2, Panels: panels}, labels, z, nil, []float64{2})
	assert.InDeltaSlice(t, panel8([]float64{-0.75, 0.25}, []float64{0.75, -0.25}), dz, 1e-12)

	none := []int32{-1, -1, -1, -1, -1, -1, -1, -1}
	assert.Zero(t, run(t, ops.CrossEntropy{Features: 2, Panels: panels}, none, z, nil)[0])
	assert.Equal(t, make([]float64, 16), run(t, ops.CrossEntropyGrad{Features: 2, Panels: panels}, none, z, nil, []float64{2}))
}

func TestReLUKeepsNaN(t *testing.T) {
	panels, err := ops.NewPanels(1)
	require.NoError(t, err)
	y := run(t, ops.ReLU{Features: 1, Panels: panels}, nil, panel8([]float64{-1, 2, math.NaN(), math.Copysign(0, -1), math.Inf(1), math.Inf(-1)}))
	assert.True(t, math.IsNaN(y[2]))
	y[2] = 0
	assert.Equal(t, []float64{0, 2, 0, 0, math.Inf(1), 0, 0, 0}, y)
}

// TestConformance runs the suite on the reference itself, which proves the
// suite's own checks of borders and operands.
func TestConformance(t *testing.T) { opstest.Conformance(t, ref.New()) }
