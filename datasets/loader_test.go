package datasets

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func newLoader(t require.TestingT, s *Set, cfg LoaderConfig) *Loader {
	l, err := NewLoader(s, cfg)
	require.NoError(t, err)
	return l
}

// epochLabels serves the rest of an epoch and returns its labels and the N of
// its batches.
func epochLabels(l *Loader) (labels []int32, sizes []int) {
	var b Batch
	for l.Next(&b) {
		labels = append(labels, b.Labels[:b.N]...)
		sizes = append(sizes, b.N)
	}
	return labels, sizes
}

func TestLoaderBatches(t *testing.T) {
	tests := []struct {
		name  string
		n     int
		cfg   LoaderConfig
		sizes []int
	}{
		{"batch of one", 3, LoaderConfig{Batch: 1}, []int{1, 1, 1}},
		{"even", 6, LoaderConfig{Batch: 3}, []int{3, 3}},
		{"even, dropping", 6, LoaderConfig{Batch: 3, DropLast: true}, []int{3, 3}},
		{"short last", 7, LoaderConfig{Batch: 3}, []int{3, 3, 1}},
		{"short last dropped", 7, LoaderConfig{Batch: 3, DropLast: true}, []int{3, 3}},
		{"larger than the set", 2, LoaderConfig{Batch: 5}, []int{2}},
		{"default", 65, LoaderConfig{}, []int{64, 1}},
	}
	for _, tt := range tests {
		for _, shuffle := range []bool{false, true} {
			t.Run(tt.name, func(t *testing.T) {
				tt.cfg.Shuffle = shuffle
				s := testSet(t, tt.n, 3)
				l := newLoader(t, s, tt.cfg)
				assert.Equal(t, len(tt.sizes), l.Batches())
				served := 0
				for _, n := range tt.sizes {
					served += n
				}
				for epoch := range 3 {
					assert.Equal(t, epoch, l.State().Epoch)
					assert.Zero(t, l.State().Position)
					labels, sizes := epochLabels(l)
					assert.Equal(t, tt.sizes, sizes)
					assert.Len(t, labels, served)
					switch {
					case !shuffle:
						assert.Equal(t, labelsOf(t, s)[:served], labels)
					case served == tt.n:
						assert.ElementsMatch(t, labelsOf(t, s), labels, "every sample once")
					}
				}
			})
		}
	}
}

func TestLoaderFillsRows(t *testing.T) {
	s, err := testSet(t, 10, 3).WithNorm(Norm{Mean: []float32{0.5}, Std: []float32{0.25}})
	require.NoError(t, err)
	s, err = s.Subset([]int{9, 3, 5, 2, 0})
	require.NoError(t, err)
	l := newLoader(t, s, LoaderConfig{Batch: 3, Shuffle: true, Seed: 7})
	order := make([]int32, 5)
	permute(order, 7, 0)

	// A used batch of another size, to see that nothing of it remains.
	b := Batch{X: slices.Repeat([]float32{8}, 90), Labels: slices.Repeat([]int32{8}, 90), N: 90}
	want := make([]float32, 3)
	for _, rows := range [][]int32{order[:3], order[3:]} {
		require.True(t, l.Next(&b))
		require.Equal(t, len(rows), b.N)
		require.Len(t, b.X, 9)
		require.Len(t, b.Labels, 3)
		for k, i := range rows {
			label, err := s.Sample(int(i), want)
			require.NoError(t, err)
			assert.Equal(t, label, b.Labels[k])
			assert.Equal(t, want, b.X[3*k:3*k+3])
		}
	}
	assert.Equal(t, []float32{0, 0, 0}, b.X[6:], "padding")
	assert.Equal(t, int32(-1), b.Labels[2], "padding")

	last := slices.Clone(b.X)
	require.False(t, l.Next(&b))
	assert.Equal(t, 2, b.N, "the end of an epoch leaves the batch alone")
	assert.Equal(t, last, b.X)
}

func TestLoaderOrderDependsOnSeedAndEpoch(t *testing.T) {
	s := testSet(t, 10, 1)
	orders := func(seed uint64) (first, second []int32) {
		l := newLoader(t, s, LoaderConfig{Batch: 4, Shuffle: true, Seed: seed})
		first, _ = epochLabels(l)
		second, _ = epochLabels(l)
		return first, second
	}
	a0, a1 := orders(1)
	b0, b1 := orders(1)
	c0, _ := orders(2)
	assert.Equal(t, a0, b0)
	assert.Equal(t, a1, b1)
	assert.NotEqual(t, a0, a1)
	assert.NotEqual(t, a0, c0)
}

func TestNewLoaderRejects(t *testing.T) {
	s := testSet(t, 5, 3)
	tests := []struct {
		name string
		set  *Set
		cfg  LoaderConfig
		want string
	}{
		{"nil set", nil, LoaderConfig{}, "empty"},
		{"zero set", &Set{}, LoaderConfig{}, "empty"},
		{"negative batch", s, LoaderConfig{Batch: -1}, "batch is -1"},
		{"batch without bounds", s, LoaderConfig{Batch: math.MaxInt}, "want between 1 and"},
		{"everything dropped", s, LoaderConfig{Batch: 6, DropLast: true}, "drops all 5 samples"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := NewLoader(tt.set, tt.cfg)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

// A run cut at any point and resumed through JSON serves what an uninterrupted
// run serves: the same answers, labels, padding and bits.
func TestResumeIsBitIdentical(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(rt, "samples")
		cfg := LoaderConfig{
			Batch:   rapid.IntRange(1, 45).Draw(rt, "batch"),
			Shuffle: rapid.Bool().Draw(rt, "shuffle"),
			Seed:    rapid.Uint64().Draw(rt, "seed"),
		}
		cfg.DropLast = cfg.Batch <= n && rapid.Bool().Draw(rt, "drop last")
		s := testSet(t, n, 3)
		whole := newLoader(rt, s, cfg)
		for range rapid.IntRange(0, 100).Draw(rt, "steps before the cut") {
			whole.Next(nil)
		}

		encoded, err := json.Marshal(whole.State())
		require.NoError(rt, err)
		var st State
		require.NoError(rt, json.Unmarshal(encoded, &st))
		resumed := newLoader(rt, s, cfg)
		for range rapid.IntRange(0, 10).Draw(rt, "steps before restoring") {
			resumed.Next(nil)
		}
		require.NoError(rt, resumed.Restore(st))

		var a, b Batch
		for range 2*whole.Batches() + 3 {
			require.Equal(rt, whole.State(), resumed.State())
			okA, okB := whole.Next(&a), resumed.Next(&b)
			require.Equal(rt, okA, okB)
			require.Equal(rt, a, b)
		}
	})
}

func TestRestoreRejects(t *testing.T) {
	s := testSet(t, 10, 2)
	cfg := LoaderConfig{Batch: 4, Shuffle: true, Seed: 3}
	tests := []struct {
		name   string
		change func(*State)
		want   []string
	}{
		{"another set", func(st *State) { st.Samples, st.LabelSum = 11, 1 }, []string{"samples is 11 in the state but 10", "label_sum"}},
		{"batch", func(st *State) { st.Batch = 5 }, []string{"batch is 5"}},
		{"seed", func(st *State) { st.Seed = 4 }, []string{"seed is 4"}},
		{"shuffle and drop", func(st *State) { st.Shuffle, st.DropLast = false, true }, []string{"shuffle is false", "drop_last is true"}},
		{"negative epoch", func(st *State) { st.Epoch = -1 }, []string{"epoch is -1"}},
		{"negative position", func(st *State) { st.Position = -4 }, []string{"position -4"}},
		{"position inside a batch", func(st *State) { st.Position = 6 }, []string{"position 6"}},
		{"position past the end", func(st *State) { st.Position = 12 }, []string{"position 12"}},
		{"zero state", func(st *State) { *st = State{} }, []string{"samples", "batch", "shuffle", "seed", "label_sum"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLoader(t, s, cfg)
			require.True(t, l.Next(nil))
			before := l.State()
			st := before
			tt.change(&st)
			err := l.Restore(st)
			for _, want := range tt.want {
				require.ErrorContains(t, err, want)
			}
			assert.Equal(t, before, l.State(), "a refused state changes nothing")
		})
	}

	drop := newLoader(t, s, LoaderConfig{Batch: 4, DropLast: true})
	st := drop.State()
	st.Position = 10
	require.ErrorContains(t, drop.Restore(st), "position 10", "an epoch that drops the rest ends at 8")

	reversed, err := s.Subset([]int{9, 8, 7, 6, 5, 4, 3, 2, 1, 0})
	require.NoError(t, err)
	require.ErrorContains(t, newLoader(t, reversed, cfg).Restore(newLoader(t, s, cfg).State()), "label_sum")
}

func TestZeroLoader(t *testing.T) {
	var l Loader
	assert.False(t, l.Next(&Batch{}))
	assert.Zero(t, l.Batches())
	require.Error(t, l.Restore(State{}))
}

func TestNextDoesNotAllocate(t *testing.T) {
	l := newLoader(t, testSet(t, 100, 8), LoaderConfig{Batch: 32, Shuffle: true})
	var b Batch
	l.Next(&b)
	// 20 calls pass several ends of epochs and their shuffles.
	allocs := testing.AllocsPerRun(10, func() {
		for range 20 {
			l.Next(&b)
		}
	})
	assert.Zero(t, allocs)
}
