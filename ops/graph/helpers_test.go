package graph

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/ops/cpu"
	"github.com/rigel-ml/rigel/ops/opstest"
	"github.com/rigel-ml/rigel/sparse"
)

// features is the size of every layer of a scene, so that layers can be put in
// any order.
const features, batch = 20, 70

// scene builds small graphs. Its inputs are small integers, whose sums are exact
// in float32, so that fused and unfused kernels agree to the last bit.
type scene struct {
	t       testing.TB
	b       ops.Backend
	g       *G.ExprGraph
	panels  ops.Panels
	pattern *sparse.Pattern
	rng     *rand.Rand
	dense   bool // products are with dense matrices
	inputs  G.Nodes
}

func newScene(t testing.TB, b ops.Backend, dense bool) *scene {
	t.Helper()
	panels, err := ops.NewPanels(batch)
	require.NoError(t, err)
	return &scene{t: t, b: b, g: G.NewGraph(), panels: panels, pattern: opstest.Pattern(features, features, 0.3),
		rng: rand.New(rand.NewPCG(1, 2)), dense: dense}
}

func newCPU(t testing.TB) ops.Backend {
	b := cpu.NewThreads(2)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// input adds an input with a value.
func (s *scene) input(shape ...int) *G.Node {
	d, err := s.b.New(tensor.Float32, shape...)
	require.NoError(s.t, err)
	n := G.NewTensor(s.g, tensor.Float32, len(shape), G.WithShape(shape...), G.WithName(fmt.Sprint("in", len(s.inputs))))
	require.NoError(s.t, G.Let(n, d))
	s.inputs = append(s.inputs, n)
	s.refill(n)
	return n
}

// refill draws new values for an input.
func (s *scene) refill(n *G.Node) {
	values := n.Value().(*tensor.Dense).Float32s()
	for i := range values {
		values[i] = float32(s.rng.IntN(5) - 2)
	}
}

func (s *scene) x() *G.Node { return s.input(s.panels.Shape(features)...) }

// must returns a node that was added.
func (s *scene) must(n *G.Node, err error) *G.Node {
	s.t.Helper()
	require.NoError(s.t, err)
	return n
}

// weights adds the weights of a product.
func (s *scene) weights() *G.Node {
	if s.dense {
		return s.input(features, features)
	}
	return s.input(s.pattern.NNZ())
}

func (s *scene) product(x *G.Node) *G.Node { return s.productOf(s.weights(), x) }

func (s *scene) productOf(w, x *G.Node) *G.Node {
	if s.dense {
		return s.must(Linear(s.b, features, features, s.panels, w, x))
	}
	return s.must(SpMM(s.b, s.pattern, s.panels, w, x))
}

func (s *scene) transposed(y *G.Node) *G.Node {
	if s.dense {
		return s.must(apply(s.b, ops.LinearT{Out: features, In: features, Panels: s.panels}, s.weights(), y))
	}
	return s.must(SpMMT(s.b, s.pattern, s.panels, s.weights(), y))
}

func (s *scene) bias(x *G.Node) *G.Node {
	return s.must(BiasAdd(s.b, features, s.panels, x, s.input(features)))
}

func (s *scene) relu(x *G.Node) *G.Node { return s.must(ReLU(s.b, features, s.panels, x)) }

func (s *scene) reluGrad(y, dy *G.Node) *G.Node {
	return s.must(apply(s.b, ops.ReLUGrad{Features: features, Panels: s.panels}, y, dy))
}

func (s *scene) dropout(x *G.Node) *G.Node {
	return s.must(Dropout(s.b, features, s.panels, 0.5, &ops.Stream{Key: 1}, x))
}

// machine compiles what the nodes need.
func (s *scene) machine(wanted ...*G.Node) *Machine {
	s.t.Helper()
	m, err := NewMachine(wanted...)
	require.NoError(s.t, err)
	return m
}

// operations lists what a machine runs on kernels, in order.
func operations(m *Machine) []string {
	var names []string
	for _, in := range m.instrs {
		o, ok := in.op.(*op)
		if !ok {
			continue
		}
		name := string(o.spec.Op())
		switch s := o.spec.(type) {
		case ops.SpMMAct:
			name += fmt.Sprintf("%+v", s.Activation)
		case ops.LinearAct:
			name += fmt.Sprintf("%+v", s.Activation)
		}
		names = append(names, name)
	}
	return names
}

// runAndCopy runs a machine and returns copies of what the nodes then hold.
func runAndCopy(t testing.TB, vm G.VM, nodes G.Nodes) []any {
	t.Helper()
	require.NoError(t, vm.RunAll())
	var values []any
	for _, n := range nodes {
		require.NotNil(t, n.Value(), "%v has no value", n)
		v, err := G.CloneValue(n.Value())
		require.NoError(t, err)
		values = append(values, v.Data())
	}
	return values
}

// onTape runs the graph unfused, on gorgonia's machine.
func (s *scene) onTape(nodes G.Nodes) []any {
	s.t.Helper()
	vm := G.NewTapeMachine(s.g)
	defer vm.Close()
	return runAndCopy(s.t, vm, nodes)
}

// plain is a backend without fused kernels.
type plain struct{ ops.Backend }

func (b plain) Plan(s ops.Spec) (ops.Kernel, error) {
	switch s.Op() {
	case ops.OpSpMMAct, ops.OpSpMMTGate, ops.OpLinearAct, ops.OpLinearTGate:
		return nil, fmt.Errorf("%w: %s", ops.ErrNotImplemented, s.Op())
	}
	return b.Backend.Plan(s)
}
