package nn_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/ops/ref"
	"github.com/rigel-ml/rigel/sparse"
)

// moveMask drops k connections of a parameter at random and grows k others,
// with small values, since at 0 a wrong place could not be told from a right
// one.
func moveMask(t *testing.T, b ops.Backend, p *nn.Param, k int, rng *rand.Rand) {
	t.Helper()
	positions, err := sparse.Sample(int64(p.NNZ()), k, rng)
	require.NoError(t, err)
	var drop []int32
	for _, pos := range positions {
		drop = append(drop, int32(pos))
	}
	stored := p.Pattern.AppendCells(nil)
	var free []int64
	for c := range p.Pattern.Cells() {
		if !slices.Contains(stored, c) {
			free = append(free, c)
		}
	}
	rng.Shuffle(len(free), func(i, j int) { free[i], free[j] = free[j], free[i] })
	grow := free[:k]
	slices.Sort(grow)
	d, err := ops.UpdatePattern(b, p.Pattern, drop, grow)
	require.NoError(t, err)
	require.Equal(t, k, d.Grown)
	require.NoError(t, ops.Move(b, p.Value, d))
	values := download(t, b, p.Value)
	for i, from := range d.From {
		if from < 0 {
			require.Zero(t, values[i])
			values[i] = float32(rng.NormFloat64())
		}
	}
	require.NoError(t, b.Upload(p.Value, values))
}

// rebuilt is a model of the same weights that has never seen another mask.
func rebuilt(t *testing.T, b ops.Backend, m nn.Module) nn.Module {
	t.Helper()
	params := m.Params()
	config := smallModel(0)
	for i, layer := range []int{0, 3} {
		c := config[layer].(nn.SparseLinearConfig)
		c.Pattern = params[2*i].Pattern.Clone()
		config[layer] = c
	}
	fresh := build(t, b, config)
	for i, p := range fresh.Params() {
		require.NoError(t, b.Upload(p.Value, download(t, b, params[i].Value)))
	}
	return fresh
}

// A program that was compiled before its masks moved goes on as if it had been
// compiled afterwards.
func TestProgramFollowsMaskUpdates(t *testing.T) {
	const n = 65
	x, labels := samples(n)
	for name, b := range backends(t) {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(5, 5))
			m := buildFilled(t, b, smallModel(0))
			training, evaluation := compile(t, b, m, n, true), compile(t, b, m, n, false)
			last := run(t, b, training, x, labels, 0)
			run(t, b, evaluation, x, labels, 0)
			for round := range 3 {
				for _, p := range m.Params() {
					if p.Pattern != nil {
						moveMask(t, b, p, 5+round, rng)
					}
				}
				fresh := rebuilt(t, b, m)
				want := run(t, b, compile(t, b, fresh, n, true), x, labels, 0)
				assert.Equal(t, want, run(t, b, training, x, labels, 0), "bit for bit")
				assert.Equal(t, want.output, run(t, b, evaluation, x, labels, 0).output)
				assert.NotEqual(t, last, want, "the update made a difference")
				last = want
			}
		})
	}
}

// GrowthInputs multiply to the dense gradient, which at the stored positions is
// the gradient itself.
func TestGrowthInputs(t *testing.T) {
	b := ref.New()
	p := compile(t, b, buildFilled(t, b, smallModel(0)), 20, true)
	x, labels := samples(20)
	run(t, b, p, x, labels, 0)
	sparseLayers := 0
	for i, param := range p.Params() {
		problem, dy, in, err := p.GrowthInputs(i)
		if param.Pattern == nil {
			require.ErrorContains(t, err, param.Name)
			continue
		}
		sparseLayers++
		require.NoError(t, err)
		require.Same(t, param.Pattern, problem.Pattern)
		k, err := b.Plan(ops.LinearGrad{Out: param.Shape[0], In: param.Shape[1], Panels: problem.Panels})
		require.NoError(t, err)
		dense, err := b.New(b.Dtype(), param.Shape...)
		require.NoError(t, err)
		require.NoError(t, k.Run(dense, []*tensor.Dense{dy, in}))
		g, err := p.Gradient(i)
		require.NoError(t, err)
		for pos, c := range param.Pattern.AppendCells(nil) {
			assert.InDelta(t, dense.Float64s()[c], g.Float64s()[pos], 1e-12)
		}
	}
	assert.Equal(t, 2, sparseLayers)
}
