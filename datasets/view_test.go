package datasets

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestViews(t *testing.T) {
	s := testSet(t, 10, 2) // labels 0 … 9
	train, val, err := s.Split(3)
	require.NoError(t, err)
	assert.Equal(t, []int32{0, 1, 2, 3, 4, 5, 6}, labelsOf(t, train))
	assert.Equal(t, []int32{7, 8, 9}, labelsOf(t, val))
	assert.Equal(t, 10, val.Classes(), "classes stay those of the whole")
	assert.Same(t, &s.bytes[14], &val.bytes[0], "no copy")

	sub, err := s.Subset([]int{9, 0, 9, 4})
	require.NoError(t, err)
	assert.Equal(t, []int32{9, 0, 9, 4}, labelsOf(t, sub))

	// Views of views.
	head, tail, err := sub.Split(2)
	require.NoError(t, err)
	assert.Equal(t, []int32{9, 0}, labelsOf(t, head))
	assert.Equal(t, []int32{9, 4}, labelsOf(t, tail))
	inner, err := val.Subset([]int{2, 1})
	require.NoError(t, err)
	assert.Equal(t, []int32{9, 8}, labelsOf(t, inner))
	one, err := tail.Take(1)
	require.NoError(t, err)
	assert.Equal(t, []int32{9}, labelsOf(t, one))

	floats, err := FromFloats(SetConfig{}, []float32{1, 2, 3}, []int32{0, 1, 2})
	require.NoError(t, err)
	_, last, err := floats.Split(1)
	require.NoError(t, err)
	x := make([]float32, 1)
	label, err := last.Sample(0, x)
	require.NoError(t, err)
	assert.Equal(t, int32(2), label)
	assert.Equal(t, []float32{3}, x)
}

func TestShuffled(t *testing.T) {
	s := testSet(t, 10, 2)
	a := labelsOf(t, s.Shuffled(1))
	assert.Equal(t, a, labelsOf(t, s.Shuffled(1)))
	assert.NotEqual(t, a, labelsOf(t, s.Shuffled(2)))
	assert.ElementsMatch(t, labelsOf(t, s), a)
	assert.ElementsMatch(t, a, labelsOf(t, s.Shuffled(1).Shuffled(2)), "a view shuffles its own samples")
}

func TestViewsReject(t *testing.T) {
	s := testSet(t, 10, 2)
	for _, n := range []int{math.MinInt, -1, 0, 11, math.MaxInt} {
		_, err := s.Take(n)
		require.ErrorContains(t, err, "cannot take")
	}
	for _, n := range []int{math.MinInt, -1, 0, 10, math.MaxInt} {
		_, _, err := s.Split(n)
		require.ErrorContains(t, err, "cannot split")
	}
	for _, i := range []int{-1, 10} {
		_, err := s.Subset([]int{0, i})
		require.ErrorContains(t, err, "subset index 1")
	}
	_, err := s.Subset(nil)
	require.ErrorContains(t, err, "subset of 0 indices")
}

// A change of these numbers breaks the resumption of every stored run. They were
// also found by a separate program, from the published description of PCG-DXSM.
func TestPermuteIsPinned(t *testing.T) {
	p := make([]int32, 10)
	permute(p, 1, 0)
	assert.Equal(t, []int32{7, 6, 1, 3, 2, 4, 8, 9, 0, 5}, p)
	permute(p, 1, 1)
	assert.Equal(t, []int32{2, 5, 8, 3, 4, 1, 7, 6, 0, 9}, p)
	permute(p, math.MaxUint64, math.MaxUint64)
	assert.Equal(t, []int32{0, 3, 5, 9, 2, 4, 7, 1, 8, 6}, p)
}

func TestPermuteIsAPermutation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := make([]int32, rapid.IntRange(0, 200).Draw(t, "n"))
		permute(p, rapid.Uint64().Draw(t, "seed"), rapid.Uint64().Draw(t, "stream"))
		slices.Sort(p)
		for i, v := range p {
			require.Equal(t, int32(i), v)
		}
	})
}

// Every sample is equally likely at every place. Rows and columns of the counts
// have fixed sums, so 9/10 of their chi-square statistic follows the
// distribution with 81 degrees of freedom: mean 81, variance 162.
func TestPermuteIsUniform(t *testing.T) {
	const n, epochs = 10, 10_000
	var count [n][n]float64
	p := make([]int32, n)
	for epoch := range uint64(epochs) {
		permute(p, 42, epoch)
		for place, sample := range p {
			count[place][sample]++
		}
	}
	var chi2 float64
	for _, row := range count {
		for _, c := range row {
			d := c - epochs/n
			chi2 += d * d / (epochs / n)
		}
	}
	assert.InDelta(t, 81, 0.9*chi2, 5*math.Sqrt(2*81), "five standard deviations")
}
