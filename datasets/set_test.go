package datasets

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFromBytes(t *testing.T) {
	s, err := FromBytes(SetConfig{Name: "tiny", Shape: []int{1, 2}}, []uint8{0, 255, 51, 102}, []int32{2, 0})
	require.NoError(t, err)
	assert.Equal(t, "tiny", s.Name())
	assert.Equal(t, 2, s.Len())
	assert.Equal(t, 2, s.Features())
	assert.Equal(t, []int{1, 2}, s.Shape())
	assert.Equal(t, 3, s.Classes(), "the largest label plus one")

	x := make([]float32, 2)
	label, err := s.Sample(1, x)
	require.NoError(t, err)
	assert.Equal(t, int32(0), label)
	assert.Equal(t, []float32{51. / 255, 102. / 255}, x)

	s.Shape()[0] = 9
	assert.Equal(t, []int{1, 2}, s.Shape(), "Shape returns a copy")
}

func TestFromFloats(t *testing.T) {
	s, err := FromFloats(SetConfig{Classes: 5}, []float32{-1, 300, 0.5, 2}, []int32{0, 1})
	require.NoError(t, err)
	assert.Equal(t, []int{2}, s.Shape(), "flat without a shape")
	assert.Equal(t, 5, s.Classes())

	x := make([]float32, 2)
	_, err = s.Sample(0, x)
	require.NoError(t, err)
	assert.Equal(t, []float32{-1, 300}, x, "floats are not divided by 255")
}

func TestNewSetRejects(t *testing.T) {
	tests := []struct {
		name   string
		cfg    SetConfig
		x      []uint8
		labels []int32
		want   string
	}{
		{"no samples", SetConfig{}, nil, nil, "no samples"},
		{"no features", SetConfig{}, nil, []int32{0}, "dimension 0 is 0"},
		{"zero dimension", SetConfig{Shape: []int{3, 0}}, nil, []int32{0}, "dimension 1 is 0"},
		{"negative dimension", SetConfig{Shape: []int{-1, -4}}, make([]uint8, 4), []int32{0}, "dimension 0 is -1"},
		{"shape overflows", SetConfig{Shape: []int{1 << 20, 1 << 20}}, make([]uint8, 4), []int32{0}, "dimension 1"},
		{"ragged", SetConfig{}, make([]uint8, 5), []int32{0, 0}, "5 values do not make 2 samples"},
		{"too few samples", SetConfig{Shape: []int{2}}, make([]uint8, 4), []int32{0, 0, 0}, "do not make 3 samples"},
		{"negative label", SetConfig{}, make([]uint8, 2), []int32{0, -1}, "label of sample 1 is -1"},
		{"label over classes", SetConfig{Classes: 3}, make([]uint8, 2), []int32{0, 3}, "label of sample 1 is 3, outside [0, 3)"},
		{"label without a class count", SetConfig{}, make([]uint8, 1), []int32{math.MaxInt32}, "outside"},
		{"negative classes", SetConfig{Classes: -1}, make([]uint8, 1), []int32{0}, "classes is -1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Name = "the set"
			_, err := FromBytes(tt.cfg, tt.x, tt.labels)
			require.ErrorContains(t, err, tt.want)
			require.ErrorContains(t, err, `"the set"`)
			_, err = FromFloats(tt.cfg, make([]float32, len(tt.x)), tt.labels)
			require.ErrorContains(t, err, tt.want)
		})
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		_, err := FromFloats(SetConfig{}, []float32{0, 0, 0, float32(v)}, []int32{0, 1})
		require.ErrorContains(t, err, "sample 1, feature 1")
	}
}

func TestSampleRejects(t *testing.T) {
	s := testSet(t, 4, 3)
	for _, i := range []int{-1, 4, math.MaxInt} {
		_, err := s.Sample(i, make([]float32, 3))
		require.ErrorContains(t, err, "outside [0, 4)")
	}
	for _, n := range []int{0, 2, 4} {
		_, err := s.Sample(0, make([]float32, n))
		require.ErrorContains(t, err, "dst has length")
	}
	var zero Set
	_, err := zero.Sample(0, nil)
	require.Error(t, err, "the zero Set is empty")
}
