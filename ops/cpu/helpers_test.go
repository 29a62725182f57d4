package cpu

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/ops/ref"
	"github.com/rigel-ml/rigel/sparse"
)

// open returns a backend with this instruction set, or skips the test where the
// processor or the program lacks it.
func open(t testing.TB, isa string, threads int) *Backend {
	t.Helper()
	b, err := Open(Options{ISA: isa, Threads: threads})
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// onEachISA runs a test on every instruction set that this processor has.
func onEachISA(t *testing.T, threads int, f func(t *testing.T, b *Backend)) {
	for _, name := range isaNames {
		t.Run(name, func(t *testing.T) { f(t, open(t, name, threads)) })
	}
}

func newPanels(t testing.TB, batch int) ops.Panels {
	t.Helper()
	p, err := ops.NewPanels(batch)
	require.NoError(t, err)
	return p
}

func newRNG(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func randomPattern(t require.TestingT, rows, cols, nnz int, rng *rand.Rand) *sparse.Pattern {
	p, err := sparse.RandomPattern(rows, cols, nnz, rng)
	require.NoError(t, err)
	return p
}

// number draws one operand element.
type number func(rng *rand.Rand) float32

// integer draws small integers: their sums are exact in float32, so that kernels
// that add in different orders must agree to the last bit, and scores tie often.
func integer(rng *rand.Rand) float32 { return float32(rng.IntN(5) - 2) }

// special draws integers, and now and then what a sum must pass on.
func special(rng *rand.Rand) float32 {
	if rng.IntN(100) > 0 {
		return integer(rng)
	}
	odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)}
	return float32(odd[rng.IntN(len(odd))])
}

func draw(n int, f number, rng *rand.Rand) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = f(rng)
	}
	return v
}

// inputs draws the operands of a problem, sparse ones in CSR order.
func inputs(t testing.TB, s ops.Spec, f number, rng *rand.Rand) [][]float32 {
	t.Helper()
	sig, err := s.Signature()
	require.NoError(t, err)
	in := make([][]float32, len(sig.In))
	for i, o := range sig.In {
		in[i] = draw(o.Len(), f, rng)
	}
	return in
}

// upload returns a tensor for the operand with these values.
func upload(t testing.TB, b ops.Backend, o ops.Operand, host []float32) *tensor.Dense {
	t.Helper()
	d, err := o.New(b)
	require.NoError(t, err)
	require.NoError(t, ops.SetValues(b, o.Pattern, d, host))
	return d
}

// solve runs a problem and returns the output, a sparse one in CSR order. The
// output starts as NaN, so that what a kernel leaves out shows.
func solve(t testing.TB, b ops.Backend, s ops.Spec, in [][]float32) []float32 {
	t.Helper()
	k, err := b.Plan(s)
	require.NoError(t, err)
	return rerun(t, b, k, s, in)
}

// rerun is solve with a kernel that was planned before.
func rerun(t testing.TB, b ops.Backend, k ops.Kernel, s ops.Spec, in [][]float32) []float32 {
	t.Helper()
	sig, err := s.Signature()
	require.NoError(t, err)
	var args []*tensor.Dense
	for i, o := range sig.In {
		args = append(args, upload(t, b, o, in[i]))
	}
	host := slices.Repeat([]float32{float32(math.NaN())}, sig.Out.Len())
	out := upload(t, b, sig.Out, host)
	require.NoError(t, k.Run(out, args))
	require.NoError(t, ops.Values(b, sig.Out.Pattern, host, out))
	return host
}

// requireSame wants equal numbers, and NaN for NaN.
func requireSame(t testing.TB, want, got []float32, format string, args ...any) {
	t.Helper()
	require.Len(t, got, len(want))
	for i, w := range want {
		if g := got[i]; w != g && (w == w || g == g) {
			require.Failf(t, "differs from the reference", "element %d of %d: want %v, got %v; "+format,
				append([]any{i, len(want), w, g}, args...)...)
		}
	}
}

// sparseSpecs are the operations with a sparse matrix; those that fuse an
// activation do all that can follow.
func sparseSpecs(p ops.SparseProblem) []ops.Spec {
	return []ops.Spec{
		ops.SpMM(p), ops.SpMMT(p), ops.SDDMM(p), ops.SpMMTGate(p),
		ops.SpMMAct{SparseProblem: p, Activation: ops.Activation{Bias: true, ReLU: true}},
	}
}

func denseSpecs(p ops.DenseProblem) []ops.Spec {
	return []ops.Spec{
		ops.Linear(p), ops.LinearT(p), ops.LinearGrad(p), ops.LinearTGate(p),
		ops.LinearAct{DenseProblem: p, Activation: ops.Activation{Bias: true, ReLU: true}},
	}
}

// growOn returns the k cells that a backend grows.
func growOn(t testing.TB, b ops.Backend, g ops.Growth, dy, x []float32, k int, dropped []int32) []int64 {
	t.Helper()
	kernel, err := b.PlanGrowth(g)
	require.NoError(t, err)
	return growWith(t, b, kernel, g, dy, x, k, dropped)
}

func growWith(t testing.TB, b ops.Backend, kernel ops.GrowthKernel, g ops.Growth, dy, x []float32, k int, dropped []int32) []int64 {
	t.Helper()
	sig, err := ops.SDDMM(g).Signature()
	require.NoError(t, err)
	cells, err := kernel.TopK(upload(t, b, sig.In[0], dy), upload(t, b, sig.In[1], x), k, dropped)
	require.NoError(t, err)
	return cells
}

// requireGrowth compares the grown cells with those of the reference, where
// every third stored connection was dropped.
func requireGrowth(t testing.TB, g ops.Growth, f number, rng *rand.Rand, backends ...*Backend) {
	t.Helper()
	dy, x := draw(g.Panels.Shape(g.Pattern.Rows()).TotalSize(), f, rng), draw(g.Panels.Shape(g.Pattern.Cols()).TotalSize(), f, rng)
	var dropped []int32
	for p := rng.IntN(3); p < g.Pattern.NNZ(); p += 3 {
		dropped = append(dropped, int32(p))
	}
	room := int(g.Pattern.Cells()) - g.Pattern.NNZ() + len(dropped)
	k := rng.IntN(room + 1)
	want := growOn(t, ref.New(), g, dy, x, k, dropped)
	for _, b := range backends {
		got := growOn(t, b, g, dy, x, k, dropped)
		require.True(t, slices.Equal(want, got), "growth of %d cells on %s", k, b.ISA())
	}
}
