package rigl_test

import (
	"math"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rigel-ml/rigel/rigl"
)

// lenet is LeNet-300-100: 235200 + 30000 + 1000 = 266200 weights, and in + out
// is 1084, 400 and 110, together 1594.
var lenet = []rigl.Shape{{Name: "fc1", Out: 300, In: 784}, {Name: "fc2", Out: 100, In: 300}, {Name: "fc3", Out: 10, In: 100}}

func TestERK(t *testing.T) {
	for name, tc := range map[string]struct {
		layers   []rigl.Shape
		sparsity float64
		want     []int
	}{
		"dense": {lenet, 0, []int{235200, 30000, 1000}},
		// Budget 133100, ε = 133100/1594 = 83.5: fc2 would get 33400 of 30000 and
		// fc3 9185 of 1000, so both become dense; fc1 gets the other 102100.
		"half: two dense at once": {lenet, 0.5, []int{102100, 30000, 1000}},
		// Budget 26620, ε = 16.7: fc3 would get 1837 of 1000 and becomes dense.
		// Then ε = 25620/1484 = 17.264 and the shares are 18714.34 and 6905.66:
		// 18714 + 6905 + 1000 is one short, and fc2 has the larger remainder.
		"0.9: one dense": {lenet, 0.9, []int{18714, 6906, 1000}},
		// Budget 5324, ε = 3.34003: 3620.58, 1336.01 and 367.40; one is left for
		// the largest remainder, fc1.
		"0.98": {lenet, 0.98, []int{3621, 1336, 367}},
		// Budget 2662, ε = 1.67001: 1810.29, 668.01, 183.70; it goes to fc3.
		"0.99": {lenet, 0.99, []int{1810, 668, 184}},
		// Budget 420 of 2 + 16 + 10000, in + out 3, 8, 200. ε = 420/211 = 1.991:
		// a gets 5.97 of 2, dense; b gets 15.92 of 16, still sparse. Then ε =
		// 418/208 = 2.0096 and b gets 16.08: dense too. c gets 420 - 18.
		"one dense layer makes another": {
			[]rigl.Shape{{Name: "a", Out: 1, In: 2}, {Name: "b", Out: 4, In: 4}, {Name: "c", Out: 100, In: 100}},
			1 - 420.0/10018, []int{2, 16, 402}},
		"a single layer": {[]rigl.Shape{{Name: "a", Out: 10, In: 20}}, 0.75, []int{50}},
		// 4.5 each: of equal remainders the earlier layer's is rounded up.
		"equal remainders": {[]rigl.Shape{{Name: "a", Out: 3, In: 3}, {Name: "b", Out: 3, In: 3}}, 0.5, []int{5, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := rigl.ERK{}.NNZ(tc.layers, tc.sparsity, nil)
			require.NoError(t, err)
			assert.Equal(t, tc.want, got)
		})
	}
}

func TestUniform(t *testing.T) {
	for name, tc := range map[string]struct {
		layers   []rigl.Shape
		sparsity float64
		want     []int
	}{
		"dense":                   {lenet, 0, []int{235200, 30000, 1000}},
		"the first stays dense":   {lenet, 0.9, []int{235200, 3000, 100}},
		"0.99":                    {lenet, 0.99, []int{235200, 300, 10}},
		"rounded, 0.3 · 9 is 2.7": {[]rigl.Shape{{Name: "a", Out: 1, In: 1}, {Name: "b", Out: 3, In: 3}}, 0.7, []int{1, 3}},
		"a single layer":          {lenet[:1], 0.9, []int{235200}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := rigl.Uniform{}.NNZ(tc.layers, tc.sparsity, nil)
			require.NoError(t, err)
			assert.Equal(t, tc.want, got)
		})
	}
}

// With a budget of 1% the counts of a million weights are drawn, and the mean
// over the draws is the same density for each layer. A hypergeometric count has
// at most the variance of a binomial one, so six of its standard deviations
// leave room for none of 10^8 runs to fail; the seed is fixed anyway.
func TestRandomIsUniformOverWeights(t *testing.T) {
	const draws, sparsity = 50, 0.99
	layers := []rigl.Shape{{Name: "wide", Out: 900, In: 1000}, {Name: "mid", Out: 300, In: 300}, {Name: "small", Out: 100, In: 100}}
	sum, rng := make([]float64, len(layers)), pcg(3)
	for range draws {
		nnz, err := rigl.Random{}.NNZ(layers, sparsity, rng)
		require.NoError(t, err)
		require.Equal(t, 10000, total(nnz), "one percent of a million, to the connection")
		for i, n := range nnz {
			sum[i] += float64(n)
		}
	}
	for i, l := range layers {
		mean := float64(l.Out) * float64(l.In) * (1 - sparsity)
		assert.InDelta(t, mean, sum[i]/draws, 6*math.Sqrt(mean/draws), l.Name)
	}
}

// Two layers of 2 weights with 2 connections: of the 6 ways to place them, 1 is
// (2, 0), 4 are (1, 1), 1 is (0, 2). The first and the last are refused.
func TestRandomIsHypergeometric(t *testing.T) {
	const draws = 6000
	layers, rng := []rigl.Shape{{Name: "a", Out: 1, In: 2}, {Name: "b", Out: 1, In: 2}}, pcg(5)
	even := 0
	for range draws {
		if nnz, err := (rigl.Random{}).NNZ(layers, 0.5, rng); err == nil {
			require.Equal(t, []int{1, 1}, nnz)
			even++
		}
	}
	assert.InDelta(t, draws*4.0/6, even, 6*math.Sqrt(draws*4.0/6*2/6))
}

func TestDistributionProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		layers := drawLayers(t)
		sparsity := rapid.Float64Range(0, 0.999).Draw(t, "sparsity")
		seed := rapid.Uint64().Draw(t, "seed")
		for name, d := range rigl.Distributions() {
			nnz, err := d.NNZ(layers, sparsity, pcg(seed))
			again, againErr := d.NNZ(layers, sparsity, pcg(seed))
			require.Equal(t, nnz, again, "%s: the same generator gives the same counts", name)
			require.Equal(t, err, againErr)
			if err != nil {
				continue
			}
			for i, l := range layers {
				require.GreaterOrEqual(t, nnz[i], 1, "%s: %s", name, l.Name)
				require.LessOrEqual(t, nnz[i], l.Out*l.In, "%s: %s", name, l.Name)
			}
			if name != "uniform" { // whose first layer is dense
				require.Equal(t, budget(layers, sparsity), total(nnz), name)
			}
		}
	})
}

// The density of layers that are not dense grows with (in + out) / (in · out),
// but for the rounding, which moves a count by less than one.
func TestERKFavoursSmallLayers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		layers := drawLayers(t)
		nnz, err := rigl.ERK{}.NNZ(layers, rapid.Float64Range(0, 0.99).Draw(t, "sparsity"), nil)
		if err != nil {
			t.Skip(err)
		}
		size := func(i int) float64 { return float64(layers[i].Out * layers[i].In) }
		raw := func(i int) float64 { return float64(layers[i].Out+layers[i].In) / size(i) }
		for i := range layers {
			for j := range layers {
				if raw(i) >= raw(j) {
					assert.GreaterOrEqual(t, min((float64(nnz[i])+1)/size(i), 1), (float64(nnz[j])-1)/size(j), "%v, %v", layers[i], layers[j])
				}
			}
		}
	})
}

func TestDistributionsReject(t *testing.T) {
	for name, tc := range map[string]struct {
		layers   []rigl.Shape
		sparsity float64
		message  string
	}{
		"NaN":            {lenet, math.NaN(), "sparsity NaN, want at least 0 and below 1"},
		"negative":       {lenet, -0.1, "sparsity -0.1, want at least 0 and below 1"},
		"1":              {lenet, 1, "sparsity 1, want at least 0 and below 1"},
		"infinite":       {lenet, math.Inf(1), "sparsity +Inf"},
		"no layers":      {nil, 0.5, "no layers"},
		"empty layer":    {[]rigl.Shape{{Name: "fc9", Out: 3}}, 0.5, "layer fc9 is 3 × 0"},
		"nothing left":   {append([]rigl.Shape{{Name: "in", Out: 1, In: 1}}, lenet...), 1 - 1e-9, "without a connection"},
		"negative layer": {[]rigl.Shape{{Name: "fc9", Out: -3, In: -4}}, 0.5, "layer fc9 is -3 × -4"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, d := range rigl.Distributions() {
				nnz, err := d.NNZ(tc.layers, tc.sparsity, pcg(1))
				require.ErrorContains(t, err, tc.message, d.Name())
				assert.Nil(t, nnz, d.Name())
			}
		})
	}
}

func TestCutOffLayerIsNamed(t *testing.T) {
	for name, tc := range map[string]struct {
		distribution rigl.Distribution
		sparsity     float64
		message      string
	}{
		// 0.0001 · 30000 is 3, but 0.0001 · 1000 is 0.1.
		"uniform": {rigl.Uniform{}, 0.9999, "layer fc3 (10 × 100) without a connection; a sparsity of 0.999 leaves"},
		// Three connections are shared out as 2, 1 and 0. 1594/110 = 14.5 of them
		// would give fc3 its one: 1 - 15/266200 = 0.99994365.
		"erk":    {rigl.ERK{}, 0.99999, "layer fc3 (10 × 100) without a connection; a sparsity of 0.9999436 leaves"},
		"random": {rigl.Random{}, 0.9999, "layer fc3 (10 × 100) without a connection; it can expect 0.1; a sparsity of 0.99 lets it expect 10"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tc.distribution.NNZ(lenet, tc.sparsity, pcg(1))
			require.ErrorContains(t, err, tc.message)
		})
	}
}

// What an error says is possible has to be so, also for layers so large that a
// few digits would round to 1.
func TestCutOffNamesAPossibleSparsity(t *testing.T) {
	possible := regexp.MustCompile(`a sparsity of (\S+) leaves every layer`)
	rapid.Check(t, func(t *rapid.T) {
		layers := drawLayers(t)
		if rapid.Bool().Draw(t, "huge") {
			layers = append(layers, rigl.Shape{Name: "huge", Out: 30_000, In: 100_000})
		}
		sparsity := 1 - math.Pow(10, rapid.Float64Range(-12, -1).Draw(t, "log density"))
		for _, d := range []rigl.Distribution{rigl.Uniform{}, rigl.ERK{}} {
			_, err := d.NNZ(layers, sparsity, nil)
			if err == nil {
				continue
			}
			match := possible.FindStringSubmatch(err.Error())
			require.NotNil(t, match, err)
			lower, parseErr := strconv.ParseFloat(match[1], 64)
			require.NoError(t, parseErr)
			require.Less(t, lower, sparsity)
			_, err = d.NNZ(layers, lower, nil)
			require.NoError(t, err, d.Name())
		}
	})
}

func TestNamesLeadToDistributions(t *testing.T) {
	assert.Equal(t, map[string]rigl.Distribution{"uniform": rigl.Uniform{}, "erk": rigl.ERK{}, "random": rigl.Random{}}, rigl.Distributions())
}

func drawLayers(t *rapid.T) []rigl.Shape {
	side := rapid.OneOf(rapid.IntRange(1, 8), rapid.IntRange(1, 120))
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) rigl.Shape {
		return rigl.Shape{Name: "layer", Out: side.Draw(t, "out"), In: side.Draw(t, "in")}
	}), 1, 6).Draw(t, "layers")
}

func budget(layers []rigl.Shape, sparsity float64) int {
	size := 0
	for _, l := range layers {
		size += l.Out * l.In
	}
	return int(math.Round((1 - sparsity) * float64(size)))
}

func total(nnz []int) int {
	sum := 0
	for _, n := range nnz {
		sum += n
	}
	return sum
}
