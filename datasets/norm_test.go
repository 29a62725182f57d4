package datasets

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNormIsTheStatedFormula(t *testing.T) {
	bytes := testSet(t, 300, 3) // all byte values occur
	floats, err := FromFloats(SetConfig{}, []float32{1, 2, 3, -4, 5e5, 6}, []int32{0, 1})
	require.NoError(t, err)
	norms := []Norm{
		{},
		{Mean: []float32{0.1307}, Std: []float32{0.3081}},
		{Mean: []float32{0.1, -0.2, 0.3}, Std: []float32{0.5, 1, 3}},
	}
	at := func(v []float32, j int) float32 { return v[min(j, len(v)-1)] }
	for _, s := range []*Set{bytes, floats} {
		plain, x := make([]float32, 3), make([]float32, 3)
		for _, n := range norms {
			view, err := s.WithNorm(n)
			require.NoError(t, err)
			for i := range s.Len() {
				_, err := s.Sample(i, plain)
				require.NoError(t, err)
				_, err = view.Sample(i, x)
				require.NoError(t, err)
				for j, v := range plain {
					want := v
					if len(n.Mean) > 0 {
						want = (v - at(n.Mean, j)) / at(n.Std, j)
					}
					require.Equal(t, want, x[j], "norm %v, sample %d, feature %d", n, i, j)
				}
			}
		}
	}
}

func TestWithNormRejects(t *testing.T) {
	s := testSet(t, 4, 3)
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	tests := []struct {
		name string
		norm Norm
		want string
	}{
		{"unequal lengths", Norm{Mean: []float32{0}}, "1 means but 0 standard deviations"},
		{"neither one nor all", Norm{Mean: make([]float32, 2), Std: []float32{1, 1}}, "2 means; want 0, 1 or 3"},
		{"NaN mean", Norm{Mean: []float32{nan}, Std: []float32{1}}, "mean[0] is NaN"},
		{"zero std", Norm{Mean: []float32{0, 0, 0}, Std: []float32{1, 0, 1}}, "std[1] is 0"},
		{"negative std", Norm{Mean: []float32{0}, Std: []float32{-1}}, "std[0] is -1"},
		{"NaN std", Norm{Mean: []float32{0}, Std: []float32{nan}}, "std[0] is NaN"},
		{"infinite std", Norm{Mean: []float32{0}, Std: []float32{inf}}, "std[0] is +Inf"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := s.WithNorm(tt.norm)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestComputeNorm(t *testing.T) {
	// Columns 1, 3 and 10, 10, far from zero in the second set.
	for _, offset := range []float32{0, 1e6} {
		s, err := FromFloats(SetConfig{}, []float32{1 + offset, 10, 3 + offset, 10}, []int32{0, 1})
		require.NoError(t, err)
		assert.Equal(t, Norm{Mean: []float32{2 + offset, 10}, Std: []float32{1, 1}}, s.ComputeFeatureNorm(),
			"a constant column gets 1")
	}

	s, err := FromBytes(SetConfig{}, []uint8{0, 255, 255, 255}, []int32{0, 1})
	require.NoError(t, err)
	n := s.ComputeNorm()
	assert.Equal(t, []float32{0.75}, n.Mean)
	assert.InDelta(t, math.Sqrt(0.1875), n.Std[0], 1e-7)

	normalized, err := s.WithNorm(n)
	require.NoError(t, err)
	assert.Equal(t, n, normalized.ComputeNorm(), "measured before normalization")
	assert.Equal(t, n, normalized.Norm())
	normalized.Norm().Mean[0] = 9
	assert.Equal(t, n, normalized.Norm(), "Norm returns a copy")

	first, err := s.Take(1)
	require.NoError(t, err)
	assert.Equal(t, Norm{Mean: []float32{0.5}, Std: []float32{0.5}}, first.ComputeNorm(), "a view counts its own samples")

	var zero Set
	assert.Equal(t, Norm{}, zero.ComputeNorm())
	assert.Equal(t, Norm{}, zero.ComputeFeatureNorm())
}
