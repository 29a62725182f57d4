package rigl_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/rigl"
	"github.com/rigel-ml/rigel/sparse"
)

func TestSmallestMagnitude(t *testing.T) {
	nan, inf, negativeZero := float32(math.NaN()), float32(math.Inf(1)), float32(math.Copysign(0, -1))
	for name, tc := range map[string]struct {
		w    []float32
		k    int
		want []int32
	}{
		"by size, not by sign":           {[]float32{-5, 3, -1, 2, 4}, 2, []int32{2, 3}},
		"ascending, whatever the sizes":  {[]float32{2, 9, 1}, 2, []int32{0, 2}},
		"of equals the earlier goes":     {[]float32{1, -1, 1, -1}, 2, []int32{0, 1}},
		"zeros of either sign are equal": {[]float32{1, negativeZero, 0}, 1, []int32{1}},
		"and in the other order":         {[]float32{1, 0, negativeZero}, 1, []int32{1}},
		"NaN stays":                      {[]float32{nan, 7, -nan, 8}, 2, []int32{1, 3}},
		"infinity goes before NaN":       {[]float32{nan, inf, -inf}, 2, []int32{1, 2}},
		"NaNs are equals":                {[]float32{math.Float32frombits(0x7fffffff), nan}, 1, []int32{0}},
		"none":                           {[]float32{1, 2}, 0, []int32{}},
		"all":                            {[]float32{3, nan, -1}, 3, []int32{0, 1, 2}},
		"no weights":                     {nil, 0, []int32{}},
	} {
		t.Run(name, func(t *testing.T) {
			w := slices.Clone(tc.w)
			assert.Equal(t, tc.want, rigl.SmallestMagnitude(w, tc.k))
		})
	}
}

func TestSmallestMagnitudeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := rapid.SliceOf(rapid.Float32()).Draw(t, "w")
		k := rapid.IntRange(0, len(w)).Draw(t, "k")
		dropped := rigl.SmallestMagnitude(w, k)
		require.Len(t, dropped, k)
		require.True(t, slices.IsSorted(dropped))
		largest, smallest := 0.0, math.Inf(1)
		for p, v := range w {
			if slices.Contains(dropped, int32(p)) {
				largest = max(largest, math.Abs(float64(v)))
			} else {
				smallest = min(smallest, math.Abs(float64(v)))
			}
		}
		require.LessOrEqual(t, largest, smallest)
	})
}

// layerOf returns a layer for a Grow that asks for nothing but the pattern.
func layerOf(p *sparse.Pattern) *rigl.Layer {
	return &rigl.Layer{Param: &nn.Param{Name: "w", Pattern: p}}
}

func TestAtRandomGrowsWhatIsNotKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, cols := rapid.IntRange(1, 9).Draw(t, "rows"), rapid.IntRange(1, 9).Draw(t, "cols")
		p, err := sparse.RandomPattern(rows, cols, rapid.IntRange(0, rows*cols).Draw(t, "nnz"), pcg(rapid.Uint64().Draw(t, "pattern")))
		require.NoError(t, err)
		var dropped []int32
		kept := map[int64]bool{}
		for pos, c := range p.AppendCells(nil) {
			if rapid.Bool().Draw(t, "drop") {
				dropped = append(dropped, int32(pos))
			} else {
				kept[c] = true
			}
		}
		k := rapid.IntRange(0, rows*cols-len(kept)).Draw(t, "k")
		seed := rapid.Uint64().Draw(t, "seed")

		grown, err := rigl.AtRandom(layerOf(p), k, slices.Clone(dropped), pcg(seed))
		require.NoError(t, err)
		require.Len(t, grown, k)
		for i, c := range grown {
			require.False(t, kept[c], "cell %d is kept", c)
			require.True(t, c >= 0 && c < p.Cells(), "cell %d", c)
			require.True(t, i == 0 || grown[i-1] < c, "%v is ascending", grown)
		}
		again, err := rigl.AtRandom(layerOf(p), k, dropped, pcg(seed))
		require.NoError(t, err)
		require.Equal(t, grown, again)
	})
}

func TestAtRandomIsUniform(t *testing.T) {
	// Of 20 cells 7 have a connection and 3 of those are dropped: 16 are free,
	// and each is among the 4 that grow in a quarter of the draws.
	const draws, k, free = 4000, 4, 16
	p, err := sparse.RandomPattern(4, 5, 7, pcg(1))
	require.NoError(t, err)
	dropped := []int32{0, 3, 6}
	count, rng := make([]int, p.Cells()), pcg(2)
	for range draws {
		grown, err := rigl.AtRandom(layerOf(p), k, dropped, rng)
		require.NoError(t, err)
		for _, c := range grown {
			count[c]++
		}
	}
	for pos, c := range p.AppendCells(nil) {
		if !slices.Contains(dropped, int32(pos)) {
			assert.Zero(t, count[c], "kept cell %d", c)
			count[c] = draws * k / free
		}
	}
	for c, n := range count {
		assert.InDelta(t, draws*k/free, n, 6*math.Sqrt(draws*k/free), "cell %d", c)
	}
}

func TestAtRandomWithoutRoom(t *testing.T) {
	p, err := sparse.FullPattern(2, 3)
	require.NoError(t, err)
	grown, err := rigl.AtRandom(layerOf(p), 1, []int32{4}, pcg(1))
	require.NoError(t, err)
	assert.Equal(t, []int64{4}, grown, "the one that is dropped is the one that is free")

	_, err = rigl.AtRandom(layerOf(p), 2, []int32{4}, pcg(1))
	require.ErrorIs(t, err, sparse.ErrInvalid)
}

func TestNamesLeadToMethods(t *testing.T) {
	for name, moves := range map[string]bool{"static": false, "set": true, "rigl": true} {
		m, ok := rigl.Methods()[name]
		require.True(t, ok, name)
		assert.Equal(t, name, m.Name)
		assert.Equal(t, moves, m.Drop != nil, name)
		assert.Equal(t, moves, m.Grow != nil, name)
	}
	assert.Len(t, rigl.Methods(), 3)
}
