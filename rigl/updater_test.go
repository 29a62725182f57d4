package rigl_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	G "gorgonia.org/gorgonia"

	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/ops/cpu"
	"github.com/rigel-ml/rigel/optim"
	"github.com/rigel-ml/rigel/rigl"
)

// small is a network of one sparse layer.
func small(m rigl.Method) spec {
	return spec{sizes: []int{6, 4}, nnz: []int{12}, batch: 5, seed: 3,
		config: rigl.Config{Method: m, Schedule: rigl.Schedule{Every: 2, End: 20, Fraction: 0.5}}}
}

func TestNewUpdaterRejects(t *testing.T) {
	n := newNet(t, small(rigl.RigL()))
	for name, tc := range map[string]struct {
		config  rigl.Config
		message string
	}{
		"only drops":    {rigl.Config{Method: rigl.Method{Name: "half", Drop: rigl.SmallestMagnitude}}, `method "half" drops or grows`},
		"only grows":    {rigl.Config{Method: rigl.Method{Name: "half", Grow: rigl.AtRandom}}, `method "half" drops or grows`},
		"bad schedule":  {rigl.Config{Method: rigl.SET(), Schedule: rigl.Schedule{Every: -1}}, "every -1 steps"},
		"static checks": {rigl.Config{Method: rigl.Static(), Schedule: rigl.Schedule{End: -1}}, "until step -1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := rigl.NewUpdater(n.backend, tc.config, n.program, n.optimizer)
			require.ErrorContains(t, err, tc.message)
		})
	}
}

func TestUpdaterDue(t *testing.T) {
	dense := small(rigl.RigL())
	dense.nnz = []int{0}
	for name, tc := range map[string]struct {
		spec spec
		due  bool
	}{
		"rigl": {small(rigl.RigL()), true}, "set": {small(rigl.SET()), true},
		"static": {small(rigl.Static()), false}, "no method is static": {small(rigl.Method{}), false},
		"no sparse layer": {dense, false},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNet(t, tc.spec)
			assert.Equal(t, tc.due, n.updater.Due(2))
			assert.False(t, n.updater.Due(0), "nothing was learnt yet")
			assert.False(t, n.updater.Due(3), "the schedule has its say")
			assert.False(t, n.updater.Due(20), "the end")
		})
	}
}

// Nobody need call Update where it is not due, but it must do no harm.
func TestUpdateThatIsNotDueMovesNothing(t *testing.T) {
	dense := small(rigl.SET())
	dense.nnz = []int{0}
	for name, tc := range map[string]struct {
		spec spec
		step int
	}{
		"static": {small(rigl.Static()), 2}, "dense": {dense, 2},
		"rigl at the end": {small(rigl.RigL()), 20}, "set past the end": {small(rigl.SET()), 21},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNet(t, tc.spec)
			n.train(t, 0, 2)
			n.run(t, 2)
			before := n.snapshot(t)
			for _, r := range n.update(t, tc.step) {
				assert.Zero(t, r.Dropped)
			}
			assert.Equal(t, before, n.snapshot(t))
		})
	}
}

func TestFailedUpdateLeavesTheMask(t *testing.T) {
	wrong := errors.New("no idea where to grow")
	grow := func(cells []int64, err error) rigl.Grow {
		return func(*rigl.Layer, int, []int32, *rand.Rand) ([]int64, error) { return cells, err }
	}
	drop := func(positions ...int32) rigl.Drop {
		return func([]float32, int) []int32 { return positions }
	}
	for name, tc := range map[string]struct {
		method  rigl.Method
		message string
	}{
		"grow fails":           {rigl.Method{Drop: drop(0), Grow: grow(nil, wrong)}, wrong.Error()},
		"more dropped":         {rigl.Method{Drop: drop(0, 1), Grow: grow([]int64{0}, nil)}, "2 connections dropped but 1 grown"},
		"more grown":           {rigl.Method{Drop: drop(), Grow: grow([]int64{0}, nil)}, "0 connections dropped but 1 grown"},
		"dropped twice":        {rigl.Method{Drop: drop(1, 1), Grow: grow([]int64{0, 1}, nil)}, "ascending"},
		"no such position":     {rigl.Method{Drop: drop(12), Grow: grow([]int64{0}, nil)}, "want 0 to 11"},
		"no such cell":         {rigl.Method{Drop: drop(0), Grow: grow([]int64{24}, nil)}, "want 0 to 23"},
		"no position, by RigL": {rigl.Method{Drop: drop(12, 13, 14, 15, 16), Grow: rigl.LargestGradient}, "dropped position 12"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNet(t, small(tc.method))
			n.train(t, 0, 2)
			n.run(t, 2)
			before := n.snapshot(t)
			_, err := n.updater.Update(2)
			require.ErrorContains(t, err, tc.message)
			require.ErrorContains(t, err, "updating 0.weight at step 2")
			assert.Equal(t, before, n.snapshot(t))
			assert.Zero(t, n.sparseParams()[0].Pattern.Version())
		})
	}
}

func TestRigLBeforeTheFirstRun(t *testing.T) {
	n := newNet(t, small(rigl.RigL()))
	_, err := n.updater.Update(2)
	require.ErrorContains(t, err, "updating 0.weight at step 2")
	require.ErrorContains(t, err, "has not run")
}

// twice feeds a layer to itself, so that one weight serves two layers and its
// gradient is a sum.
type twice struct{ *nn.SparseLinear }

func (m twice) Forward(g *nn.Graph, x *G.Node) (*G.Node, error) {
	once, err := m.SparseLinear.Forward(g, x)
	if err != nil {
		return nil, err
	}
	return m.SparseLinear.Forward(g, once)
}

func TestSharedWeight(t *testing.T) {
	const side, nnz = 5, 12
	b := cpu.NewThreads(1)
	defer b.Close()
	layer, err := nn.SparseLinearConfig{In: side, Out: side, NNZ: nnz}.Init(nn.NewInit(b, 1).Scope("tied"))
	require.NoError(t, err)
	program, err := nn.Compile(b, nn.ProgramConfig{Model: twice{layer.(*nn.SparseLinear)}, Features: side, Batch: 2, Training: true})
	require.NoError(t, err)
	optimizer, err := optim.New(b, optim.Config{Rule: optim.Adam{}}, program.Params())
	require.NoError(t, err)
	n := &net{spec: spec{sizes: []int{side, side}, batch: 2}, backend: b, program: program, optimizer: optimizer}
	n.run(t, 1)
	before := n.snapshot(t)

	n.config = rigl.Config{Method: rigl.RigL(), Schedule: rigl.Schedule{End: 10}}
	_, err = n.newUpdater(t).Update(1)
	require.ErrorContains(t, err, "updating tied.weight at step 1")
	require.ErrorContains(t, err, "used by several layers")
	assert.Equal(t, before, n.snapshot(t))

	n.config.Method = rigl.SET() // which needs no gradient
	reports, err := n.newUpdater(t).Update(1)
	require.NoError(t, err)
	assert.Equal(t, nnz, reports[0].NNZ)
	assert.NotEqual(t, before, n.snapshot(t))
}
