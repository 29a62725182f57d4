package rigl_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rigel-ml/rigel/optim"
	"github.com/rigel-ml/rigel/rigl"
)

// growth is one call of a method's Grow.
type growth struct {
	layer   string
	dropped []int32
	kept    map[int64]bool
	grown   []int64
}

// recorded returns a method that does the same and notes what it did.
func recorded(m rigl.Method, calls *[]growth) rigl.Method {
	grow := m.Grow
	m.Grow = func(l *rigl.Layer, k int, dropped []int32, rng *rand.Rand) ([]int64, error) {
		kept := map[int64]bool{}
		for pos, c := range cellsOf(l.Param) {
			if !slices.Contains(dropped, int32(pos)) {
				kept[c] = true
			}
		}
		grown, err := grow(l, k, dropped, rng)
		*calls = append(*calls, growth{l.Param.Name, slices.Clone(dropped), kept, slices.Clone(grown)})
		return grown, err
	}
	return m
}

// moving are the methods that change masks, and rules those that have state.
var (
	moving = []rigl.Method{rigl.SET(), rigl.RigL()}
	rules  = []optim.Rule{optim.SGD{Momentum: 0.9}, optim.SGD{Momentum: 0.5, Nesterov: true, WeightDecay: 1e-3}, optim.Adam{}}
)

// drawSpec draws a network of two layers, the second one dense now and then,
// whose first update is due at step Every.
func drawSpec(t *rapid.T) spec {
	features := func(name string) int { return rapid.IntRange(3, 7).Draw(t, name) }
	s := spec{sizes: []int{features("in"), features("hidden"), features("classes")}}
	s.nnz = []int{
		rapid.IntRange(1, s.sizes[0]*s.sizes[1]).Draw(t, "nnz 0"),
		rapid.IntRange(0, s.sizes[1]*s.sizes[2]).Draw(t, "nnz 1"),
	}
	s.batch = rapid.IntRange(1, 20).Draw(t, "batch")
	s.threads = rapid.IntRange(1, 3).Draw(t, "threads")
	s.seed = rapid.Uint64().Draw(t, "seed")
	s.rule = rapid.SampledFrom(rules).Draw(t, "rule")
	every := rapid.IntRange(1, 3).Draw(t, "every")
	s.config = rigl.Config{
		Method: rapid.SampledFrom(moving).Draw(t, "method"),
		Schedule: rigl.Schedule{
			Every: every, End: every + rapid.IntRange(1, 20).Draw(t, "until the end"),
			Fraction: rapid.Float64Range(0.05, 0.95).Draw(t, "α"),
		},
		Seed: rapid.Uint64().Draw(t, "growth seed"),
	}
	return s
}

func TestUpdateProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpec(t)
		var calls []growth
		s.config.Method = recorded(s.config.Method, &calls)
		n := newNet(t, s)
		step := s.config.Schedule.Every
		n.train(t, 0, step) // so that there is optimizer state
		n.run(t, step)
		gradients, smooth := n.denseGradients(t)
		if !smooth {
			t.Skip("a neuron at the kink of its ReLU")
		}
		before := n.snapshot(t)
		require.True(t, n.updater.Due(step))
		reports := n.update(t, step)
		after := n.snapshot(t)

		require.Len(t, calls, len(n.sparseParams()))
		require.Len(t, reports, len(calls))
		for i, p := range n.sparseParams() {
			require.Equal(t, p.Name, calls[i].layer)
			k := int(s.config.Schedule.DropFraction(step) * float64(len(before[p.Name])))
			require.Len(t, calls[i].dropped, k, "floor(f · nnz)")
			require.Len(t, calls[i].grown, k)
			requireCanonical(t, p.Pattern)
			require.EqualValues(t, 1, p.Pattern.Version())
			requireMoved(t, before[p.Name], after[p.Name], calls[i], reports[i])
			if s.config.Method.Name == "rigl" {
				assertLargest(t, gradients[i], calls[i].kept, calls[i].grown)
			}
			delete(before, p.Name)
			delete(after, p.Name)
		}
		require.Equal(t, before, after, "biases and dense layers are left alone")
	})
}

// requireMoved compares one layer before and after an update: what it holds now
// is what was kept and what was grown; what was there before, kept or grown
// back, has its value and state; what is new has zeros.
func requireMoved(t tb, before, after cells, g growth, r rigl.LayerReport) {
	t.Helper()
	want := make(cells, len(before))
	for c := range g.kept {
		want[c] = before[c]
	}
	arrivals := 0
	for _, c := range g.grown {
		if was, ok := before[c]; ok {
			want[c] = was
			continue
		}
		arrivals++
		for _, was := range before { // any, for the number of arrays of state
			want[c] = make([]float32, len(was))
			break
		}
	}
	require.Equal(t, want, after)
	require.Len(t, after, len(before), "the number of connections")
	require.Equal(t, rigl.LayerReport{Name: g.layer, NNZ: len(before), Dropped: arrivals}, r)
	require.InDelta(t, float64(arrivals)/float64(len(before)), r.Churn(), 1e-12)
}

// A pattern that lacks one cell has room for 1 + k connections where k grow, so
// at least k - 1 of those just dropped come back at once.
func TestDroppedAndGrownBackNeverLeft(t *testing.T) {
	for _, m := range moving {
		for _, rule := range rules {
			t.Run(m.Name+" "+rule.Name(), func(t *testing.T) {
				var calls []growth
				n := newNet(t, spec{sizes: []int{6, 5, 4}, nnz: []int{29, 20}, batch: 9, rule: rule, seed: 4,
					config: rigl.Config{Method: recorded(m, &calls), Schedule: rigl.Schedule{Every: 3, End: 30, Fraction: 0.5}}})
				n.train(t, 0, 3)
				n.run(t, 3)
				before := n.snapshot(t)
				reports := n.update(t, 3)
				after := n.snapshot(t)

				// f = 0.25 · (1 + cos 18°) = 0.488: 14 of 29, 9 of 20.
				require.Len(t, calls[0].dropped, 14)
				require.Len(t, calls[1].dropped, 9)
				assert.LessOrEqual(t, reports[0].Dropped, 1)
				assert.Zero(t, reports[1].Dropped, "a full layer has nowhere else to grow")
				assert.Equal(t, before["2.weight"], after["2.weight"])
				requireMoved(t, before["0.weight"], after["0.weight"], calls[0], reports[0])
				for c, values := range before["2.weight"] {
					assert.NotContains(t, values, float32(0), "cell %d has a value and state to lose", c)
				}
			})
		}
	}
}

// All features of a sample are the same number here, so all gradients of a
// neuron are the same, to the bit, and the cell number alone decides.
func TestEqualGradientsGrowInOrder(t *testing.T) {
	var calls []growth
	n := newNet(t, spec{sizes: []int{40, 3}, nnz: []int{24}, batch: 5, seed: 2,
		config: rigl.Config{Method: recorded(rigl.RigL(), &calls), Schedule: rigl.Schedule{Every: 1, End: 1000, Fraction: 0.5}}})
	n.x, n.labels = make([]float32, 5*40), []int32{0, 1, 2, 0, 0}
	for i := range n.x {
		n.x[i] = float32(1 + i/40)
	}
	require.NoError(t, n.program.Load(n.x, n.labels))
	require.NoError(t, n.program.Run(1))
	n.update(t, 1)

	gradients, smooth := n.denseGradients(t)
	require.True(t, smooth)
	require.Len(t, calls[0].grown, 11, "f is a little below a half")
	// The neuron with the largest gradient has room for all eleven.
	best, _ := largest(gradients[0], nil, 1)
	var want []int64
	for c := best[0] / 40 * 40; len(want) < 11; c++ {
		if !calls[0].kept[c] {
			want = append(want, c)
		}
	}
	assert.Equal(t, want, calls[0].grown)
}
