package opstest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rigel-ml/rigel/ops"
)

// SameBits runs every case on both backends and requires equal bits.
func SameBits(t *testing.T, a, b ops.Backend) {
	t.Helper()
	for _, op := range ops.AllOps() {
		for _, c := range Cases(op) {
			sig, err := c.Spec.Signature()
			require.NoError(t, err)
			v := draw(sig, normal, 2)
			run := func(b ops.Backend) [][]float32 {
				k, err := b.Plan(c.Spec)
				require.NoError(t, err)
				p := place(t, b, sig, v)
				require.NoError(t, k.Run(p.out, p.in))
				return p.written(t, b, sig)
			}
			first, second := run(a), run(b)
			for i := range first {
				for j := range first[i] {
					require.Equal(t, math.Float32bits(first[i][j]), math.Float32bits(second[i][j]), "%s %s element %d", op, c.Name, j)
				}
			}
		}
	}
}

// NoAllocs requires that a planned kernel allocates nothing when it runs again.
func NoAllocs(t *testing.T, b ops.Backend) {
	t.Helper()
	for _, op := range ops.AllOps() {
		cases := Cases(op)
		c := cases[len(cases)-1]
		k, err := b.Plan(c.Spec)
		require.NoError(t, err)
		sig, err := c.Spec.Signature()
		require.NoError(t, err)
		p := place(t, b, sig, draw(sig, normal, 1))
		n := testing.AllocsPerRun(10, func() {
			if err := k.Run(p.out, p.in); err != nil {
				t.Fatal(err)
			}
		})
		require.Zero(t, n, "%s allocates", op)
	}
}
