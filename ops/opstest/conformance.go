package opstest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/ops/ref"
)

// tolerance is the largest difference from the reference, relative to
// 1 + |reference|, over sums of up to a few hundred products of normal numbers
// in float32.
const tolerance = 3e-5

// Conformance runs every operation that the backend implements over the ladder.
func Conformance(t *testing.T, b ops.Backend) {
	implemented := 0
	for _, op := range ops.AllOps() {
		t.Run(string(op), func(t *testing.T) {
			cases := Cases(op)
			require.NotEmpty(t, cases, "no cases for %s", op)
			if _, err := b.Plan(cases[len(cases)-1].Spec); err != nil {
				require.ErrorIs(t, err, ops.ErrNotImplemented)
				t.Skipf("%s has no kernel for it", b.Device())
			}
			implemented++
			for _, c := range cases {
				t.Run(c.Name, func(t *testing.T) {
					agree(t, b, c.Spec, normal)
					agree(t, b, c.Spec, special)
				})
			}
			rejects(t, b, cases[len(cases)-1].Spec)
		})
	}
	require.NotZero(t, implemented)
	t.Run("growth", func(t *testing.T) { growthConformance(t, b) })
	t.Run("rejects nil", func(t *testing.T) {
		_, err := b.Plan(nil)
		require.ErrorIs(t, err, ops.ErrSpec)
	})
}

// agree runs a problem on the backend and on the reference and compares all
// that either wrote.
func agree(t *testing.T, b ops.Backend, s ops.Spec, f fill) {
	t.Helper()
	sig, err := s.Signature()
	require.NoError(t, err)
	v := draw(sig, f, 1)

	run := func(b ops.Backend) [][]float32 {
		k, err := b.Plan(s)
		require.NoError(t, err)
		p := place(t, b, sig, v)
		require.NoError(t, k.Run(p.out, p.in))
		p.checkGuards(t)
		return p.written(t, b, sig)
	}
	got, want := run(b), run(ref.New())
	for i := range want {
		requireClose(t, want[i], got[i])
	}
}

func requireClose(t testing.TB, want, got []float32) {
	t.Helper()
	require.Len(t, got, len(want))
	for i, w := range want {
		w, g := float64(w), float64(got[i])
		switch {
		case math.IsNaN(w) && math.IsNaN(g), w == g:
		case math.Abs(w-g) <= tolerance*(1+math.Abs(w)):
		default:
			require.Failf(t, "differs from the reference", "element %d of %d: want %v, got %v", i, len(want), w, g)
		}
	}
}

// rejects gives a planned kernel operands that do not fit.
func rejects(t *testing.T, b ops.Backend, s ops.Spec) {
	t.Helper()
	sig, err := s.Signature()
	require.NoError(t, err)
	k, err := b.Plan(s)
	require.NoError(t, err)
	fresh := func() operands { return place(t, b, sig, draw(sig, normal, 1)) }
	refuse := func(name string, p operands) {
		t.Helper()
		require.ErrorIs(t, k.Run(p.out, p.in), ops.ErrOperand, name)
	}

	p := fresh()
	p.out = nil
	refuse("nil output", p)
	p = fresh()
	p.in = p.in[:len(p.in)-1]
	refuse("too few inputs", p)
	for i := range sig.In {
		p = fresh()
		p.in[i] = nil
		refuse("nil input", p)

		p = fresh()
		long, err := b.New(p.in[i].Dtype(), sig.In[i].Len()+1)
		require.NoError(t, err)
		p.in[i] = long
		refuse("input of the wrong length", p)

		p = fresh()
		other := tensor.Int32
		if sig.In[i].Labels > 0 {
			other = b.Dtype()
			for _, bad := range []int32{-2, int32(sig.In[i].Labels)} {
				q := fresh()
				require.NoError(t, b.UploadInt32(q.in[i], append(make([]int32, sig.In[i].Len()-1), bad)))
				refuse("label out of range", q)
			}
		}
		p.in[i], err = b.New(other, sig.In[i].Len())
		require.NoError(t, err)
		refuse("input of the wrong dtype", p)
	}
}
