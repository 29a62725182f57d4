package graph_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/ops/cpu"
	"github.com/rigel-ml/rigel/ops/graph"
	"github.com/rigel-ml/rigel/ops/opstest"
)

// mlp is two sparse layers with a loss, on the CPU backend.
type mlp struct {
	g       *G.ExprGraph
	weights G.Nodes
	loss    *G.Node
	grads   G.Nodes
}

func newMLP(t testing.TB, b ops.Backend) mlp {
	const in, hidden, classes, batch = 40, 30, 10, 70
	panels, err := ops.NewPanels(batch)
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(1, 1))
	m := mlp{g: G.NewGraph()}
	node := func(name string, shape ...int) *G.Node {
		d, err := b.New(tensor.Float32, shape...)
		require.NoError(t, err)
		for i := range d.Float32s() {
			d.Float32s()[i] = float32(rng.NormFloat64())
		}
		n := G.NewTensor(m.g, tensor.Float32, len(shape), G.WithShape(shape...), G.WithName(name))
		require.NoError(t, G.Let(n, d))
		return n
	}
	p1, p2 := opstest.Pattern(hidden, in, 0.2), opstest.Pattern(classes, hidden, 0.5)
	x := node("x", panels.Shape(in)...)
	m.weights = G.Nodes{node("w1", p1.NNZ()), node("w2", p2.NNZ())}
	labels := make([]int32, panels.Slots())
	for i := range labels {
		if labels[i] = int32(i % classes); i >= batch {
			labels[i] = ops.Ignore
		}
	}
	l := G.NewTensor(m.g, tensor.Int32, 2, G.WithShape(panels.LabelShape()...), G.WithName("labels"))
	require.NoError(t, G.Let(l, tensor.New(tensor.WithShape(panels.LabelShape()...), tensor.WithBacking(labels))))

	h, err := graph.SpMM(b, p1, panels, m.weights[0], x)
	require.NoError(t, err)
	h, err = graph.ReLU(b, hidden, panels, h)
	require.NoError(t, err)
	y, err := graph.SpMM(b, p2, panels, m.weights[1], h)
	require.NoError(t, err)
	m.loss, err = graph.CrossEntropy(b, classes, panels, y, l)
	require.NoError(t, err)
	m.grads, err = G.Grad(m.loss, m.weights...)
	require.NoError(t, err)
	return m
}

func TestMachineAgreesWithTheTapeMachine(t *testing.T) {
	b := cpu.NewThreads(2)
	defer b.Close()
	run := func(vm func(mlp) G.VM) (loss float32, grads [][]float32) {
		m := newMLP(t, b)
		machine := vm(m)
		defer machine.Close()
		require.NoError(t, machine.RunAll())
		for _, n := range m.grads {
			grads = append(grads, n.Value().(*tensor.Dense).Float32s())
		}
		return m.loss.Value().Data().(float32), grads
	}
	tapeLoss, tapeGrads := run(func(m mlp) G.VM { return G.NewTapeMachine(m.g, G.WithEngine(b)) })
	loss, grads := run(func(m mlp) G.VM {
		machine, err := graph.NewMachine(append(G.Nodes{m.loss}, m.grads...)...)
		require.NoError(t, err)
		return machine
	})
	assert.Positive(t, loss)
	assert.Equal(t, tapeLoss, loss)
	assert.Equal(t, tapeGrads, grads)
}

func TestMachineRunsOnlyWhatIsWanted(t *testing.T) {
	b := cpu.NewThreads(1)
	m := newMLP(t, b)
	machine, err := graph.NewMachine(append(G.Nodes{m.loss}, m.grads...)...)
	require.NoError(t, err)
	// x, w1, w2, labels, dloss; spmm with relu, spmm, xent; xentgrad, sddmm, spmmt
	// with gate, sddmm. The gradient with respect to x is not among them.
	assert.Equal(t, 12, machine.Len())
	assert.Greater(t, len(m.g.AllNodes()), machine.Len())
}

func TestStepDoesNotAllocate(t *testing.T) {
	b := cpu.NewThreads(2)
	defer b.Close()
	m := newMLP(t, b)
	machine, err := graph.NewMachine(append(G.Nodes{m.loss}, m.grads...)...)
	require.NoError(t, err)
	allocs := testing.AllocsPerRun(20, func() {
		if err := machine.RunAll(); err != nil {
			t.Fatal(err)
		}
	})
	assert.Zero(t, allocs)
}

func TestErrorsAtTheBorder(t *testing.T) {
	b := cpu.NewThreads(1)
	g := G.NewGraph()
	panels, err := ops.NewPanels(8)
	require.NoError(t, err)
	p := opstest.Pattern(3, 4, 0.5)
	node := func(name string, shape ...int) *G.Node {
		return G.NewTensor(g, tensor.Float32, len(shape), G.WithShape(shape...), G.WithName(name))
	}
	x, w, short := node("x", 1, 4, 8), node("w", p.NNZ()), node("short", p.NNZ()-1)

	for name, tc := range map[string]struct {
		build func() (*G.Node, error)
		want  error
	}{
		"no backend":      {func() (*G.Node, error) { return graph.SpMM(nil, p, panels, w, x) }, ops.ErrSpec},
		"no pattern":      {func() (*G.Node, error) { return graph.SpMM(b, nil, panels, w, x) }, ops.ErrSpec},
		"no panels":       {func() (*G.Node, error) { return graph.SpMM(b, p, ops.Panels{}, w, x) }, ops.ErrSpec},
		"nil node":        {func() (*G.Node, error) { return graph.SpMM(b, p, panels, w, nil) }, ops.ErrOperand},
		"negative size":   {func() (*G.Node, error) { return graph.Linear(b, -1, 4, panels, w, x) }, ops.ErrSpec},
		"no classes":      {func() (*G.Node, error) { return graph.CrossEntropy(b, 0, panels, x, x) }, ops.ErrSpec},
		"dropout of 1":    {func() (*G.Node, error) { return graph.Dropout(b, 4, panels, 1, &ops.Stream{}, x) }, ops.ErrSpec},
		"dropout unkeyed": {func() (*G.Node, error) { return graph.Dropout(b, 4, panels, 0.5, nil, x) }, ops.ErrSpec},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tc.build()
			require.ErrorIs(t, err, tc.want)
		})
	}
	_, err = graph.SpMM(b, p, panels, short, x)
	require.ErrorContains(t, err, "values of spmm")

	_, err = graph.NewMachine()
	require.Error(t, err)
	_, err = graph.NewMachine(nil)
	require.Error(t, err)

	y, err := graph.SpMM(b, p, panels, w, x)
	require.NoError(t, err)
	machine, err := graph.NewMachine(y)
	require.NoError(t, err)
	require.ErrorContains(t, machine.RunAll(), `input "w" has no value`)
}

func BenchmarkMachine(b *testing.B) {
	backend := cpu.NewThreads(1)
	m := newMLP(b, backend)
	machine, err := graph.NewMachine(append(G.Nodes{m.loss}, m.grads...)...)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if err := machine.RunAll(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTapeMachine(b *testing.B) {
	backend := cpu.NewThreads(1)
	m := newMLP(b, backend)
	machine := G.NewTapeMachine(m.g)
	b.ReportAllocs()
	for b.Loop() {
		if err := machine.RunAll(); err != nil {
			b.Fatal(err)
		}
		machine.Reset()
	}
}

// BenchmarkInstruction times what an instruction costs beside its kernel: a chain
// of operations on one panel of one feature.
func BenchmarkInstruction(b *testing.B) {
	backend := cpu.NewThreads(1)
	panels, err := ops.NewPanels(8)
	require.NoError(b, err)
	const chain = 100
	build := func() *G.Node {
		g := G.NewGraph()
		x := G.NewTensor(g, tensor.Float32, 3, G.WithShape(panels.Shape(1)...), G.WithName("x"))
		v, err := backend.New(tensor.Float32, panels.Shape(1)...)
		require.NoError(b, err)
		require.NoError(b, G.Let(x, v))
		for range chain {
			x, err = graph.ReLU(backend, 1, panels, x)
			require.NoError(b, err)
		}
		return x
	}
	b.Run("machine", func(b *testing.B) {
		m, err := graph.NewMachine(build())
		require.NoError(b, err)
		for b.Loop() {
			if err := m.RunAll(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/chain, "ns/instruction")
	})
	b.Run("tape machine", func(b *testing.B) {
		m := G.NewTapeMachine(build().Graph())
		for b.Loop() {
			if err := m.RunAll(); err != nil {
				b.Fatal(err)
			}
			m.Reset()
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/chain, "ns/instruction")
	})
}
