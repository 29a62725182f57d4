package rigl_test

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rigel-ml/rigel/optim"
	"github.com/rigel-ml/rigel/rigl"
)

// trained is a network large enough that its kernels share work among threads,
// with six updates in its first 35 steps.
func trained(m rigl.Method, rule optim.Rule) spec {
	return spec{sizes: []int{60, 50, 40, 10}, nnz: []int{600, 400, 0}, batch: 70, seed: 8, rule: rule,
		config: rigl.Config{Method: m, Schedule: rigl.Schedule{Every: 5, End: 31}, Seed: 6}}
}

// methodsAndRules runs a test for each pair, with static masks among them.
func methodsAndRules(t *testing.T, f func(t *testing.T, m rigl.Method, rule optim.Rule)) {
	for name, m := range rigl.Methods() {
		for _, rule := range []optim.Rule{optim.SGD{Momentum: 0.9, Nesterov: true}, optim.Adam{}} {
			t.Run(name+" "+rule.Name(), func(t *testing.T) { f(t, m, rule) })
		}
	}
}

func TestTrainingKeepsTheBudgetOfEachLayer(t *testing.T) {
	methodsAndRules(t, func(t *testing.T, m rigl.Method, rule optim.Rule) {
		n := newNet(t, trained(m, rule))
		var start [][]int64
		for _, p := range n.sparseParams() {
			start = append(start, cellsOf(p))
		}
		n.train(t, 0, 40)
		for i, p := range n.sparseParams() {
			assert.Equal(t, n.nnz[i], p.NNZ())
			assert.Equal(t, n.nnz[i], p.Pattern.NNZ())
			requireCanonical(t, p.Pattern)
			if m.Name == "static" {
				assert.Equal(t, start[i], cellsOf(p))
				assert.Zero(t, p.Pattern.Version())
			} else {
				assert.NotEqual(t, start[i], cellsOf(p))
				assert.EqualValues(t, 6, p.Pattern.Version(), "steps 5 to 30")
			}
		}
		// An update takes the place of an optimizer step.
		assert.Equal(t, 40-int(n.sparseParams()[0].Pattern.Version()), n.optimizer.Steps())
	})
}

func TestThreadsDoNotChangeTheResult(t *testing.T) {
	methodsAndRules(t, func(t *testing.T, m rigl.Method, rule optim.Rule) {
		var hashes []string
		for _, threads := range []int{1, 2, 5} {
			s := trained(m, rule)
			s.threads = threads
			n := newNet(t, s)
			n.train(t, 0, 36)
			hashes = append(hashes, n.hash(t))
		}
		assert.Equal(t, hashes[0], hashes[1])
		assert.Equal(t, hashes[0], hashes[2])
	})
}

// A resumed run makes its Updater anew.
func TestUpdaterHasNoState(t *testing.T) {
	methodsAndRules(t, func(t *testing.T, m rigl.Method, rule optim.Rule) {
		one, many := newNet(t, trained(m, rule)), newNet(t, trained(m, rule))
		one.train(t, 0, 36)
		for step := range 36 {
			many.updater = many.newUpdater(t)
			many.train(t, step, step+1)
		}
		assert.Equal(t, one.hash(t), many.hash(t))
	})
}

// The compiled graph reads the pattern in place; a graph compiled after the
// updates has never seen another one.
func TestCompiledGraphFollowsTheMask(t *testing.T) {
	methodsAndRules(t, func(t *testing.T, m rigl.Method, rule optim.Rule) {
		n := newNet(t, trained(m, rule))
		n.train(t, 0, 31)
		n.run(t, 31)
		fresh := n.compile(t)
		require.NoError(t, fresh.Load(n.x, n.labels))
		require.NoError(t, fresh.Run(31))
		assert.Equal(t, fresh.Loss(), n.program.Loss())
		want, got := n.gradients(t, fresh), n.gradients(t, n.program)
		for i := range want {
			assert.Equal(t, want[i].Float32s(), got[i].Float32s(), n.program.Params()[i].Name)
		}
	})
}

// What a Grow draws is a function of the seed, the step and the layer alone.
func TestRandomNumbersOfAnUpdate(t *testing.T) {
	drawn := func(seed uint64, step int) map[string]uint64 {
		all := map[string]uint64{}
		s := trained(rigl.Method{Drop: rigl.SmallestMagnitude,
			Grow: func(l *rigl.Layer, k int, dropped []int32, rng *rand.Rand) ([]int64, error) {
				all[l.Param.Name] = rng.Uint64()
				return rigl.AtRandom(l, k, dropped, rng)
			}}, nil)
		s.config.Seed = seed
		newNet(t, s).update(t, step)
		return all
	}
	base := drawn(6, 5)
	assert.Equal(t, base, drawn(6, 5))
	assert.NotEqual(t, base["0.weight"], base["2.weight"])
	for _, other := range []map[string]uint64{drawn(7, 5), drawn(6, 10)} {
		for layer := range base {
			assert.NotEqual(t, base[layer], other[layer], layer)
		}
	}
}

// A layer of 4000 × 5000 would have a dense gradient of 80 MB. An update stays
// below a twentieth of that.
func TestUpdateNeverHoldsTheDenseGradient(t *testing.T) {
	const out, in, nnz = 4000, 5000, 20_000
	for _, m := range moving {
		t.Run(m.Name, func(t *testing.T) {
			n := newNet(t, spec{sizes: []int{in, out}, nnz: []int{nnz}, batch: 8, threads: 2, seed: 1,
				config: rigl.Config{Method: m, Schedule: rigl.Schedule{Every: 1, End: 10}}})
			n.run(t, 1)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			reports := n.update(t, 1)
			runtime.ReadMemStats(&after)
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(out*in*4/20))
			assert.Greater(t, reports[0].Dropped, nnz/4, "f is 0.3 · (1 + cos 18°) / 2 = 0.29")
		})
	}
}
