package opstest

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/ops/ref"
)

// growthConformance compares the grown cells with those of the reference. The
// inputs are small integers, so that scores are exact in float32, ties are
// common, and the answer is one.
func growthConformance(t *testing.T, b ops.Backend) {
	for _, s := range ladder {
		for _, density := range densities {
			panels, err := ops.NewPanels(s.batch)
			require.NoError(t, err)
			g := ops.Growth{Pattern: Pattern(s.out, s.in, density), Panels: panels}
			rng := rand.New(rand.NewPCG(uint64(s.batch), 9))
			integers := func(features int) []float32 {
				v := make([]float32, panels.Shape(features).TotalSize())
				for i := range v {
					v[i] = float32(rng.IntN(5) - 2)
				}
				return v
			}
			dy, x := integers(s.out), integers(s.in)
			if len(dy) > 0 && s.batch > 100 {
				dy[0] = float32(math.NaN()) // scores of the first row lose to all others
			}
			var dropped []int32
			for p := range g.Pattern.NNZ() {
				if rng.IntN(3) == 0 {
					dropped = append(dropped, int32(p))
				}
			}
			room := int(g.Pattern.Cells()) - g.Pattern.NNZ() + len(dropped)
			for _, k := range []int{0, min(1, room), room / 3, room} {
				want, err := growOn(t, ref.New(), g, dy, x, k, dropped)
				require.NoError(t, err)
				got, err := growOn(t, b, g, dy, x, k, dropped)
				require.NoError(t, err)
				require.Len(t, got, k)
				for i := range want {
					require.Equal(t, want[i], got[i], "%v density %.2f: %d of %d grown cells", s, density, i, k)
				}
			}
			for name, bad := range map[string]struct {
				k       int
				dropped []int32
			}{
				"more than there is room for": {room + 1, dropped},
				"negative":                    {-1, dropped},
				"dropped out of range":        {0, []int32{int32(g.Pattern.NNZ())}},
				"dropped twice":               {0, []int32{0, 0}},
			} {
				_, err := growOn(t, b, g, dy, x, bad.k, bad.dropped)
				assert.ErrorIs(t, err, ops.ErrOperand, name)
			}
		}
	}
	_, err := b.PlanGrowth(ops.Growth{})
	require.ErrorIs(t, err, ops.ErrSpec)
}

func growOn(t *testing.T, b ops.Backend, g ops.Growth, dy, x []float32, k int, dropped []int32) ([]int64, error) {
	t.Helper()
	put := func(features int, host []float32) *tensor.Dense {
		d, err := b.New(b.Dtype(), g.Panels.Shape(features)...)
		require.NoError(t, err)
		require.NoError(t, b.Upload(d, host))
		return d
	}
	kernel, err := b.PlanGrowth(g)
	require.NoError(t, err)
	return kernel.TopK(put(g.Pattern.Rows(), dy), put(g.Pattern.Cols(), x), k, dropped)
}
