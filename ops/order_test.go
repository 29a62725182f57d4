package ops_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"
	"pgregory.net/rapid"

	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/ops/cpu"
	"github.com/rigel-ml/rigel/ops/ref"
	"github.com/rigel-ml/rigel/sparse"
)

func drawPattern(t *rapid.T) *sparse.Pattern {
	size := rapid.OneOf(rapid.IntRange(0, 8), rapid.IntRange(255, 300))
	rows, cols := size.Draw(t, "rows"), size.Draw(t, "cols")
	nnz := rapid.IntRange(0, min(rows*cols, 3000)).Draw(t, "nnz")
	p, err := sparse.RandomPattern(rows, cols, nnz, newRNG(t))
	require.NoError(t, err)
	return p
}

func newRNG(t *rapid.T) *rand.Rand {
	return rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
}

// numbered returns 1, 2, 3 and so on, so that a value tells where it was.
func numbered(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(i + 1)
	}
	return v
}

func newValues(t require.TestingT, b ops.Backend, p *sparse.Pattern) *tensor.Dense {
	d, err := b.New(b.Dtype(), p.NNZ())
	require.NoError(t, err)
	return d
}

func TestValuesRoundTrip(t *testing.T) {
	b := cpu.NewThreads(1)
	defer b.Close()
	reordered := 0
	rapid.Check(t, func(t *rapid.T) {
		p := drawPattern(t)
		want, got := numbered(p.NNZ()), make([]float32, p.NNZ())
		d := newValues(t, b, p)
		require.NoError(t, ops.SetValues(b, p, d, want))
		require.NoError(t, ops.Values(b, p, got, d))
		require.True(t, slices.Equal(want, got))

		order := b.Order(p)
		for k, v := range d.Float32s() {
			require.Equal(t, want[order[k]], v, "element %d is stored in the backend's order", k)
		}
		if !slices.IsSorted(order) {
			reordered++
		}
	})
	assert.Positive(t, reordered, "some patterns are stored in another order than CSR's")
}

// TestUpdateAndMove follows values through updates on a backend that has an
// order of its own, and on one that has none.
func TestUpdateAndMove(t *testing.T) {
	processor := cpu.NewThreads(1)
	defer processor.Close()
	for name, b := range map[string]ops.Backend{"cpu": processor, "ref": ref.New()} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := drawPattern(t)
				plain := p.Clone()
				want := numbered(p.NNZ())
				d := newValues(t, b, p)
				require.NoError(t, ops.SetValues(b, p, d, want))
				for range 3 {
					drop, grow := drawUpdate(t, p)
					delta, err := ops.UpdatePattern(b, p, drop, grow)
					require.NoError(t, err)
					require.NoError(t, ops.Move(b, d, delta))

					csr, err := plain.Update(drop, grow)
					require.NoError(t, err)
					want, err = sparse.Move(csr, want)
					require.NoError(t, err)
					got := make([]float32, p.NNZ())
					require.NoError(t, ops.Values(b, p, got, d))
					require.True(t, slices.Equal(want, got))
					require.Equal(t, []int{csr.OldNNZ, csr.Dropped, csr.Grown}, []int{delta.OldNNZ, delta.Dropped, delta.Grown})
				}
			})
		})
	}
}

// drawUpdate draws an update that keeps the number of non-zeros; what it drops may
// grow again.
func drawUpdate(t *rapid.T, p *sparse.Pattern) (drop []int32, grow []int64) {
	rng := newRNG(t)
	cells := p.AppendCells(nil)
	stored := map[int64]bool{}
	for pos, c := range cells {
		if rng.IntN(3) == 0 {
			drop = append(drop, int32(pos))
		} else {
			stored[c] = true
		}
	}
	for len(grow) < len(drop) {
		c := rng.Int64N(p.Cells())
		if rng.IntN(4) == 0 {
			c = cells[drop[rng.IntN(len(drop))]]
		}
		if !stored[c] {
			stored[c] = true
			grow = append(grow, c)
		}
	}
	slices.Sort(grow)
	return drop, grow
}

// TestKernelsFollowUpdates plans once and runs after each update.
func TestKernelsFollowUpdates(t *testing.T) {
	b := cpu.NewThreads(2)
	defer b.Close()
	panels, err := ops.NewPanels(9)
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		p := drawPattern(t)
		problem := ops.SparseProblem{Pattern: p, Panels: panels}
		specs := []ops.Spec{ops.SpMM(problem), ops.SpMMT(problem), ops.SDDMM(problem), ops.SpMMTGate(problem),
			ops.SpMMAct{SparseProblem: problem, Activation: ops.Activation{Bias: true, ReLU: true}}}
		backends := []ops.Backend{ref.New(), b}
		planned := make([][]ops.Kernel, len(backends))
		for i, backend := range backends {
			for _, s := range specs {
				k, err := backend.Plan(s)
				require.NoError(t, err)
				planned[i] = append(planned[i], k)
			}
		}
		for range 3 {
			for j, s := range specs {
				seed := rapid.Uint64().Draw(t, "inputs")
				want := runOn(t, backends[0], planned[0][j], s, seed)
				require.True(t, slices.Equal(want, runOn(t, backends[1], planned[1][j], s, seed)), "%s at version %d", s.Op(), p.Version())
			}
			_, err := p.Update(drawUpdate(t, p))
			require.NoError(t, err)
		}
	})
}

// runOn runs a planned kernel on small integers, whose sums are exact.
func runOn(t require.TestingT, b ops.Backend, k ops.Kernel, s ops.Spec, seed uint64) []float32 {
	sig, err := s.Signature()
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(seed, 2))
	var in []*tensor.Dense
	for _, o := range sig.In {
		host := make([]float32, o.Len())
		for i := range host {
			host[i] = float32(rng.IntN(5) - 2)
		}
		d, err := o.New(b)
		require.NoError(t, err)
		require.NoError(t, ops.SetValues(b, o.Pattern, d, host))
		in = append(in, d)
	}
	out, err := sig.Out.New(b)
	require.NoError(t, err)
	require.NoError(t, k.Run(out, in))
	host := make([]float32, sig.Out.Len())
	require.NoError(t, ops.Values(b, sig.Out.Pattern, host, out))
	return host
}

// TestKernelsRefuseAnotherNumberOfNonZeros: an update that changes nnz needs new
// kernels, and those of before must not read past their operands.
func TestKernelsRefuseAnotherNumberOfNonZeros(t *testing.T) {
	processor := cpu.NewThreads(1)
	defer processor.Close()
	panels, err := ops.NewPanels(1)
	require.NoError(t, err)
	for name, b := range map[string]ops.Backend{"cpu": processor, "ref": ref.New()} {
		t.Run(name, func(t *testing.T) {
			p, err := sparse.NewPattern(2, 2, []int32{0, 1, 2}, []int32{0, 1})
			require.NoError(t, err)
			problem := ops.SparseProblem{Pattern: p, Panels: panels}
			specs := []ops.Spec{ops.SpMM(problem), ops.SDDMM(problem)}
			var kernels []ops.Kernel
			var signatures []ops.Signature
			for _, s := range specs {
				k, err := b.Plan(s)
				require.NoError(t, err)
				sig, err := s.Signature()
				require.NoError(t, err)
				kernels, signatures = append(kernels, k), append(signatures, sig)
			}
			_, err = p.Update(nil, []int64{1})
			require.NoError(t, err)
			for i, sig := range signatures {
				var in []*tensor.Dense
				for _, o := range sig.In {
					d, err := o.New(b)
					require.NoError(t, err)
					in = append(in, d)
				}
				out, err := sig.Out.New(b)
				require.NoError(t, err)
				err = kernels[i].Run(out, in)
				require.ErrorIs(t, err, ops.ErrOperand)
				require.ErrorContains(t, err, "3 non-zeros", "the present pattern")
			}
		})
	}
}

func TestOrderErrors(t *testing.T) {
	b := cpu.NewThreads(1)
	defer b.Close()
	p, err := sparse.FullPattern(2, 2)
	require.NoError(t, err)
	d := newValues(t, b, p)
	delta := &sparse.Delta{From: []int32{0, 1, 2, 3}, OldNNZ: 4}
	for name, f := range map[string]func() error{
		"values into too little":   func() error { return ops.Values(b, p, make([]float32, 3), d) },
		"set too few values":       func() error { return ops.SetValues(b, p, d, make([]float32, 3)) },
		"values of another tensor": func() error { return ops.Values(b, nil, make([]float32, 3), d) },
		"move another tensor":      func() error { return ops.Move(b, d, &sparse.Delta{From: []int32{0}, OldNNZ: 1}) },
		"move to another nnz":      func() error { return ops.Move(b, d, &sparse.Delta{From: delta.From[:3], OldNNZ: 4}) },
		"set values of no tensor":  func() error { return ops.SetValues(b, p, nil, make([]float32, 4)) },
	} {
		t.Run(name, func(t *testing.T) { require.ErrorIs(t, f(), ops.ErrOperand) })
	}
	require.NoError(t, ops.Move(b, d, delta))

	_, err = ops.UpdatePattern(b, p, []int32{9}, nil)
	require.ErrorIs(t, err, sparse.ErrInvalid)
	assert.Zero(t, p.Version())
}
