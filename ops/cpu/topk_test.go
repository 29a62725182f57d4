package cpu

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/ops/ref"
)

// candidate is a cell and its score.
type candidate struct {
	score float32
	cell  int64
}

// bestBySorting is what topK must find: the k best cells, ascending.
func bestBySorting(all []candidate, k int) []int64 {
	magnitude := func(v float32) float64 {
		if m := math.Abs(float64(v)); m >= 0 {
			return m
		}
		return -1 // NaN
	}
	sorted := slices.SortedFunc(slices.Values(all), func(a, b candidate) int {
		return cmp.Or(cmp.Compare(magnitude(b.score), magnitude(a.score)), cmp.Compare(a.cell, b.cell))
	})
	var cells []int64
	for _, c := range sorted[:k] {
		cells = append(cells, c.cell)
	}
	slices.Sort(cells)
	return cells
}

func drawScores(t *rapid.T) []float32 {
	odd := []float32{0, float32(math.Copysign(0, -1)), 1, -1, float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)),
		math.SmallestNonzeroFloat32, math.MaxFloat32}
	score := rapid.OneOf(rapid.SampledFrom(odd), rapid.Float32())
	return rapid.SliceOfN(score, 1, 60).Draw(t, "scores")
}

func TestTopKAgainstSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scores := drawScores(t)
		all := make([]candidate, len(scores))
		for i, s := range scores {
			all[i] = candidate{s, int64(3 * i)}
		}
		k := rapid.OneOf(rapid.Just(1), rapid.Just(len(all)), rapid.IntRange(1, len(all))).Draw(t, "k")
		want := bestBySorting(all, k)
		var best topK
		best.reset(k, 0)
		for _, c := range rapid.Permutation(all).Draw(t, "order") {
			best.offer(keyOf(c.score), c.cell)
			if rapid.IntRange(0, 5).Draw(t, "shrink") == 0 {
				best.shrink()
			}
		}
		best.shrink()
		require.Equal(t, want, best.ascending(1, 3*len(all)))
	})
}

// TestTopKShrinksByItself offers far more than topK holds, in orders that are
// good and bad for it. One topK serves all, as it does from one update to the
// next.
func TestTopKShrinksByItself(t *testing.T) {
	const n, cols = 20_000, 100
	rng := newRNG(3)
	all := make([]candidate, n)
	for i := range all {
		all[i] = candidate{float32(rng.IntN(50) - 25), int64(i)}
	}
	var best topK
	for _, k := range []int{1, 1000, n - 1, n} {
		want := bestBySorting(all, k)
		byScore := func(a, b candidate) int { return cmp.Compare(keyOf(a.score), keyOf(b.score)) }
		for name, reorder := range map[string]func(){
			"ascending scores":  func() { slices.SortFunc(all, byScore) },
			"descending scores": func() { slices.SortFunc(all, func(a, b candidate) int { return byScore(b, a) }) },
			"shuffled":          func() { rng.Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] }) },
			"descending cells":  func() { slices.SortFunc(all, func(a, b candidate) int { return cmp.Compare(b.cell, a.cell) }) },
		} {
			reorder()
			best.reset(k, 0)
			for _, c := range all {
				best.offer(keyOf(c.score), c.cell)
				require.Less(t, len(best.keys), 2*k+4096, "memory is of the order of k")
			}
			best.shrink()
			require.True(t, slices.Equal(want, best.ascending(n/cols, cols)), "k = %d, %s", k, name)
		}
	}
}

func TestKeysOrderMagnitudes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.SampledFrom(drawScores(t)).Draw(t, "a"), rapid.SampledFrom(drawScores(t)).Draw(t, "b")
		if b != b {
			require.Zero(t, keyOf(b))
			require.True(t, a != a || keyOf(a) > keyOf(b), "a NaN is below every number")
			return
		}
		require.Equal(t, math.Float32bits(b)&^signBit, scoreOf(keyOf(b)))
		if a == a {
			require.Equal(t, cmp.Compare(math.Abs(float64(a)), math.Abs(float64(b))), cmp.Compare(keyOf(a), keyOf(b)))
		}
	})
	assert.Zero(t, scoreOf(0), "everything passes the least key")
}

// TestAtLeast holds the comparison of each instruction set to its meaning.
func TestAtLeast(t *testing.T) {
	onEachISA(t, 1, func(t *testing.T, b *Backend) {
		rng := newRNG(5)
		x := draw(64*7, special, rng)
		for _, threshold := range []uint32{0, 1, math.Float32bits(1), math.Float32bits(2), infinity, infinity + 1, math.MaxInt32} {
			masks := make([]uint64, 7)
			b.kernels.atLeast(masks, x, threshold)
			for i, v := range x {
				require.Equal(t, math.Float32bits(v)&^signBit >= threshold, masks[i/64]>>(i%64)&1 == 1, "%v and %#x", v, threshold)
			}
		}
	})
}

// TestGrowthWhenTheGuessIsTooHigh gives the sampled rows by far the largest
// gradients, so that fewer cells reach the threshold than are wanted, and all
// must be looked at again.
func TestGrowthWhenTheGuessIsTooHigh(t *testing.T) {
	const rows, cols, groups, grow = 480, 2000, 4, 90_000
	rng := newRNG(7)
	g := ops.Growth{Pattern: randomPattern(t, rows, cols, rows*cols/100, rng), Panels: newPanels(t, 1)}
	width := g.Panels.Width
	dy, x := draw(rows*width, integer, rng), draw(cols*width, integer, rng)
	for i := range groups * sampleRows {
		row := i/sampleRows*rows/groups + i%sampleRows
		for s := range width {
			dy[row*width+s] = 1000 + integer(rng)
		}
	}
	want := growOn(t, ref.New(), g, dy, x, grow, nil)
	onEachISA(t, 2, func(t *testing.T, b *Backend) {
		kernel, err := b.PlanGrowth(g)
		require.NoError(t, err)
		for range 2 { // in fresh and in used memory
			require.True(t, slices.Equal(want, growWith(t, b, kernel, g, dy, x, grow, nil)))
		}
		k := kernel.(*growth)
		require.Zero(t, k.threshold, "the fallback ran")
		require.Positive(t, k.guess(grow), "and something had been guessed")
		for i := range k.workers {
			assertBounded(t, fmt.Sprint("worker ", i), &k.workers[i].topK)
		}
	})
}

// TestSampleIsBounded has a matrix of which a fortieth is too much.
func TestSampleIsBounded(t *testing.T) {
	const rows, cols = 480, 100_000
	g := ops.Growth{Pattern: randomPattern(t, rows, cols, 0, newRNG(1)), Panels: newPanels(t, 1)}
	kernel, err := open(t, "", 1).PlanGrowth(g)
	require.NoError(t, err)
	k := kernel.(*growth)
	k.dy = draw(rows*g.Panels.Width, integer, newRNG(2))
	k.strips.fill(k.b.kernels, draw(cols*g.Panels.Width, integer, newRNG(3)))
	require.Positive(t, k.guess(1000))
	assert.Greater(t, len(k.sampled.keys), sampleCells/2)
	assert.LessOrEqual(t, cap(k.sampled.keys), 2*sampleCells)
}

// assertBounded wants memory of the order of k, however many cells there are.
// Append may reserve up to twice of what it needs.
func assertBounded(t *testing.T, name string, best *topK) {
	assert.LessOrEqual(t, cap(best.keys), 2*(2*best.k+4096), name)
	assert.LessOrEqual(t, cap(best.cells), 2*(2*best.k+4096), name)
}
