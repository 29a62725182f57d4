package rigl_test

import (
	"math/rand/v2"
	"slices"

	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/ops/cpu"
	"github.com/rigel-ml/rigel/optim"
	"github.com/rigel-ml/rigel/rigl"
	"github.com/rigel-ml/rigel/sparse"
)

// tb is what helpers need of *testing.T and of *rapid.T.
type tb interface {
	require.TestingT
	Helper()
	Cleanup(func())
}

func pcg(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// spec describes a perceptron with ReLU between its layers, and how it is
// trained.
type spec struct {
	sizes   []int // features, from the input to the classes
	nnz     []int // connections of each layer; 0 makes it a dense Linear
	batch   int
	threads int
	seed    uint64 // of the weights and of the data
	rule    optim.Rule
	config  rigl.Config
}

// net is a spec with everything that trains it.
type net struct {
	spec
	backend   *cpu.Backend
	model     nn.Module
	program   *nn.Program
	optimizer *optim.Optimizer
	updater   *rigl.Updater

	x      []float32 // the batch of the last run
	labels []int32
}

func newNet(t tb, s spec) *net {
	t.Helper()
	n := &net{spec: s, backend: cpu.NewThreads(max(s.threads, 1))}
	t.Cleanup(func() { require.NoError(t, n.backend.Close()) })
	var layers nn.SequentialConfig
	for i, nnz := range s.nnz {
		in, out := s.sizes[i], s.sizes[i+1]
		if i > 0 {
			layers = append(layers, nn.ReLUConfig{})
		}
		if nnz == 0 {
			layers = append(layers, nn.LinearConfig{In: in, Out: out})
		} else {
			layers = append(layers, nn.SparseLinearConfig{In: in, Out: out, NNZ: nnz})
		}
	}
	var err error
	n.model, err = layers.Init(nn.NewInit(n.backend, s.seed))
	require.NoError(t, err)
	n.program = n.compile(t)
	if n.rule == nil {
		n.rule = optim.SGD{Momentum: 0.9}
	}
	n.optimizer, err = optim.New(n.backend, optim.Config{Rule: n.rule}, n.program.Params())
	require.NoError(t, err)
	n.updater = n.newUpdater(t)
	return n
}

func (n *net) compile(t tb) *nn.Program {
	t.Helper()
	p, err := nn.Compile(n.backend, nn.ProgramConfig{Model: n.model, Features: n.sizes[0], Batch: n.batch, Training: true})
	require.NoError(t, err)
	return p
}

func (n *net) newUpdater(t tb) *rigl.Updater {
	t.Helper()
	u, err := rigl.NewUpdater(n.backend, n.config, n.program, n.optimizer)
	require.NoError(t, err)
	return u
}

// run computes loss and gradients of this step's batch.
func (n *net) run(t tb, step int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(n.seed, uint64(step)))
	n.x, n.labels = make([]float32, n.batch*n.sizes[0]), make([]int32, n.batch)
	for i := range n.x {
		n.x[i] = float32(rng.NormFloat64())
	}
	for i := range n.labels {
		n.labels[i] = int32(rng.IntN(n.sizes[len(n.sizes)-1]))
	}
	require.NoError(t, n.program.Load(n.x, n.labels))
	require.NoError(t, n.program.Run(uint64(step)))
}

// gradients are those of the last run, by parameter.
func (n *net) gradients(t tb, p *nn.Program) []*tensor.Dense {
	t.Helper()
	all := make([]*tensor.Dense, len(p.Params()))
	for i := range all {
		var err error
		all[i], err = p.Gradient(i)
		require.NoError(t, err)
	}
	return all
}

// train takes the steps from one to before another, as a training loop does.
func (n *net) train(t tb, from, to int) {
	t.Helper()
	for step := from; step < to; step++ {
		n.run(t, step)
		if n.updater.Due(step) {
			n.update(t, step)
			continue
		}
		require.NoError(t, n.optimizer.Step(n.gradients(t, n.program), 0.05))
	}
}

func (n *net) update(t tb, step int) []rigl.LayerReport {
	t.Helper()
	reports, err := n.updater.Update(step)
	require.NoError(t, err)
	return reports
}

func (n *net) hash(t tb) string {
	t.Helper()
	h, err := nn.Hash(n.backend, n.program.Params())
	require.NoError(t, err)
	return h
}

// sparseParams are the parameters whose masks are trained, in order.
func (n *net) sparseParams() []*nn.Param {
	return slices.DeleteFunc(slices.Clone(n.program.Params()), func(p *nn.Param) bool { return p.Pattern == nil })
}

// cells holds, by cell number, the value of a weight and then its optimizer
// state.
type cells map[int64][]float32

// snapshot copies all weights and all optimizer state, by parameter.
func (n *net) snapshot(t tb) map[string]cells {
	t.Helper()
	all := map[string]cells{}
	for _, p := range n.program.Params() {
		arrays := []*tensor.Dense{p.Value}
		for _, s := range n.optimizer.States() {
			if s.Param == p {
				arrays = append(arrays, s.Value)
			}
		}
		where := cellsOf(p)
		all[p.Name] = make(cells, len(where))
		for _, a := range arrays {
			host := make([]float32, len(where))
			require.NoError(t, ops.Values(n.backend, p.Pattern, host, a))
			for pos, c := range where {
				all[p.Name][c] = append(all[p.Name][c], host[pos])
			}
		}
	}
	return all
}

// cellsOf returns the cell number of each stored value.
func cellsOf(p *nn.Param) []int64 {
	if p.Pattern != nil {
		return p.Pattern.AppendCells(nil)
	}
	where := make([]int64, p.NNZ())
	for i := range where {
		where[i] = int64(i)
	}
	return where
}

// requireCanonical checks the arrays of a pattern as a file reader would.
func requireCanonical(t tb, p *sparse.Pattern) {
	t.Helper()
	_, err := sparse.NewPattern(p.Rows(), p.Cols(), p.RowPtr(), p.ColIdx())
	require.NoError(t, err)
}
