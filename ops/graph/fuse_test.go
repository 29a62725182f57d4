package graph

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/ops"
)

const (
	both     = "act{Bias:true Residual:false ReLU:true}"
	biasOnly = "act{Bias:true Residual:false ReLU:false}"
	reluOnly = "act{Bias:false Residual:false ReLU:true}"
)

// TestFuse compares what a machine runs with what it should run, and its results
// with those of the same graph on gorgonia's machine, which fuses nothing. P
// stands for the product, sparse or dense.
func TestFuse(t *testing.T) {
	other := newCPU(t)
	for name, tc := range map[string]struct {
		build func(s *scene) G.Nodes // what is wanted
		want  []string
	}{
		"bias and relu": {func(s *scene) G.Nodes { return G.Nodes{s.relu(s.bias(s.product(s.x())))} }, []string{"P" + both}},
		"bias":          {func(s *scene) G.Nodes { return G.Nodes{s.bias(s.product(s.x()))} }, []string{"P" + biasOnly}},
		"relu":          {func(s *scene) G.Nodes { return G.Nodes{s.relu(s.product(s.x()))} }, []string{"P" + reluOnly}},
		"gate":          {func(s *scene) G.Nodes { return G.Nodes{s.reluGrad(s.x(), s.transposed(s.x()))} }, []string{"Ptgate"}},
		"two layers": {func(s *scene) G.Nodes {
			return G.Nodes{s.relu(s.bias(s.product(s.relu(s.product(s.x())))))}
		}, []string{"P" + reluOnly, "P" + both}},
		"gate of a fused layer": {func(s *scene) G.Nodes {
			y := s.relu(s.product(s.x()))
			return G.Nodes{s.reluGrad(y, s.transposed(s.x()))}
		}, []string{"P" + reluOnly, "Ptgate"}},

		"the product is wanted": {func(s *scene) G.Nodes {
			h := s.product(s.x())
			return G.Nodes{h, s.relu(s.bias(h))}
		}, []string{"P", "biasadd", "relu"}},
		"the sum with the bias is wanted": {func(s *scene) G.Nodes {
			h := s.bias(s.product(s.x()))
			return G.Nodes{s.relu(h), h}
		}, []string{"P" + biasOnly, "relu"}},
		"the product is read twice": {func(s *scene) G.Nodes {
			h := s.product(s.x())
			return G.Nodes{s.relu(h), s.bias(h)}
		}, []string{"P", "relu", "biasadd"}},
		"the sum is read twice": {func(s *scene) G.Nodes {
			h := s.bias(s.product(s.x()))
			return G.Nodes{s.relu(h), s.dropout(h)}
		}, []string{"P" + biasOnly, "relu", "dropout"}},
		"the transposed product is wanted": {func(s *scene) G.Nodes {
			h := s.transposed(s.x())
			return G.Nodes{s.reluGrad(s.x(), h), h}
		}, []string{"Pt", "relugrad"}},

		"relu twice":      {func(s *scene) G.Nodes { return G.Nodes{s.relu(s.relu(s.product(s.x())))} }, []string{"P" + reluOnly, "relu"}},
		"bias after relu": {func(s *scene) G.Nodes { return G.Nodes{s.bias(s.relu(s.product(s.x())))} }, []string{"P" + reluOnly, "biasadd"}},
		"bias twice":      {func(s *scene) G.Nodes { return G.Nodes{s.bias(s.bias(s.product(s.x())))} }, []string{"P" + biasOnly, "biasadd"}},
		"dropout between": {func(s *scene) G.Nodes { return G.Nodes{s.relu(s.dropout(s.product(s.x())))} }, []string{"P", "dropout", "relu"}},
		"no product":      {func(s *scene) G.Nodes { return G.Nodes{s.relu(s.bias(s.x()))} }, []string{"biasadd", "relu"}},
		"relu of a transposed product": {func(s *scene) G.Nodes {
			return G.Nodes{s.relu(s.transposed(s.x()))}
		}, []string{"Pt", "relu"}},
		"gate after a product that is not transposed": {func(s *scene) G.Nodes {
			return G.Nodes{s.reluGrad(s.x(), s.product(s.x()))}
		}, []string{"P", "relugrad"}},
		"the product is the gate": {func(s *scene) G.Nodes {
			return G.Nodes{s.reluGrad(s.transposed(s.x()), s.x())}
		}, []string{"Pt", "relugrad"}},
		"the product is gate and gradient": {func(s *scene) G.Nodes {
			h := s.transposed(s.x())
			return G.Nodes{s.reluGrad(h, h)}
		}, []string{"Pt", "relugrad"}},
		"another backend goes on": {func(s *scene) G.Nodes {
			h := s.product(s.x())
			s.b = other
			return G.Nodes{s.relu(h)}
		}, []string{"P", "relu"}},
	} {
		for product, dense := range map[string]bool{"spmm": false, "linear": true} {
			t.Run(name+"/"+product, func(t *testing.T) {
				s := newScene(t, newCPU(t), dense)
				wanted := tc.build(s)
				m := s.machine(wanted...)
				var want []string
				for _, op := range tc.want {
					want = append(want, strings.Replace(op, "P", product, 1))
				}
				assert.Equal(t, want, operations(m))
				first := runAndCopy(t, m, wanted)
				assert.Equal(t, s.onTape(wanted), first)
				assert.Equal(t, first, runAndCopy(t, m, wanted), "and again")
			})
		}
	}
}

// network is a sparse and a dense layer with a loss and its gradients. The loss is
// made of integers as well.
type network struct {
	*scene
	middle G.Nodes // what is fused into others
	hidden *G.Node
	wanted G.Nodes
}

func newNetwork(t testing.TB, b ops.Backend) network {
	n := network{scene: newScene(t, b, false)}
	layer := func(x *G.Node) *G.Node {
		p := n.product(x)
		h := n.bias(p)
		n.middle = append(n.middle, p, h)
		return n.relu(h)
	}
	x := n.x()
	first := layer(x)
	n.dense = true
	n.hidden = layer(first)
	cost := n.must(G.Sum(n.must(G.HadamardProd(n.hidden, n.x()))))
	params := G.Nodes{n.inputs[1], n.inputs[2], n.inputs[3], n.inputs[4]}
	grads, err := G.Grad(cost, params...)
	require.NoError(t, err)
	n.wanted = append(G.Nodes{n.hidden}, grads...)
	return n
}

// TestGradientsThroughFusedKernels compares them with those of a backend that has
// no fused kernels, and of gorgonia's machine.
func TestGradientsThroughFusedKernels(t *testing.T) {
	b := newCPU(t)
	n := newNetwork(t, b)
	m := n.machine(n.wanted...)
	assert.Equal(t, []string{"spmm" + both, "linear" + both}, operations(m)[:2])
	assert.Contains(t, operations(m), "lineartgate")
	assert.NotContains(t, operations(m), "spmmt", "the gradient of the input is not wanted")
	got := runAndCopy(t, m, n.wanted)
	assert.Equal(t, n.onTape(n.wanted), got)

	p := newNetwork(t, plain{b})
	unfused := p.machine(p.wanted...)
	for _, op := range operations(unfused) {
		assert.NotContains(t, op, "act")
		assert.NotContains(t, op, "gate")
	}
	assert.Greater(t, unfused.Len(), m.Len())
	assert.Equal(t, got, runAndCopy(t, unfused, p.wanted))
}

func TestFusedValuesAreBoundToTheLastNode(t *testing.T) {
	n := newNetwork(t, newCPU(t))
	require.NoError(t, n.machine(n.wanted...).RunAll())
	for _, node := range n.middle {
		assert.Nil(t, node.Value(), "%v is nowhere", node)
	}
	assert.NotNil(t, n.hidden.Value())
}

// TestMachinesShareNodes: each machine has fused kernels with outputs of their
// own, and a node holds what ran last.
func TestMachinesShareNodes(t *testing.T) {
	b := newCPU(t)
	n, other := newNetwork(t, b), newNetwork(t, plain{b}) // with the same weights
	train, evaluate := n.machine(n.wanted...), n.machine(n.hidden)
	reference := other.machine(other.hidden)
	for range 3 {
		for name, run := range map[string]func() []any{
			"train":    func() []any { return runAndCopy(t, train, G.Nodes{n.hidden}) },
			"evaluate": func() []any { return runAndCopy(t, evaluate, G.Nodes{n.hidden}) },
			"tape":     func() []any { return n.onTape(G.Nodes{n.hidden}) },
		} {
			n.refill(n.inputs[0])
			require.NoError(t, G.Let(other.inputs[0], n.inputs[0].Value()))
			assert.Equal(t, runAndCopy(t, reference, G.Nodes{other.hidden}), run(), name)
		}
	}
}

// broken is a backend whose fused kernels fail to plan.
type broken struct {
	ops.Backend
	err error
}

func (b broken) Plan(s ops.Spec) (ops.Kernel, error) {
	if s.Op() == ops.OpSpMMAct {
		return nil, b.err
	}
	return b.Backend.Plan(s)
}

func TestFuseReportsWhatIsNotALack(t *testing.T) {
	out := errors.New("out of memory")
	s := newScene(t, &broken{newCPU(t), out}, false)
	_, err := NewMachine(s.relu(s.product(s.x())))
	require.ErrorIs(t, err, out)
}

func TestFusedStepDoesNotAllocate(t *testing.T) {
	s := newScene(t, newCPU(t), false)
	h := s.relu(s.bias(s.product(s.x())))
	s.dense = true
	h = s.bias(s.product(s.relu(s.bias(s.product(h)))))
	labels := G.NewTensor(s.g, tensor.Int32, 2, G.WithShape(s.panels.LabelShape()...), G.WithName("labels"),
		G.WithValue(tensor.New(tensor.WithShape(s.panels.LabelShape()...), tensor.Of(tensor.Int32))))
	loss := s.must(CrossEntropy(s.b, features, s.panels, h, labels))
	grads, err := G.Grad(loss, s.inputs...)
	require.NoError(t, err)
	m := s.machine(append(G.Nodes{loss}, grads...)...)
	assert.Contains(t, operations(m), "spmm"+both)
	allocs := testing.AllocsPerRun(20, func() {
		if err := m.RunAll(); err != nil {
			t.Fatal(err)
		}
	})
	assert.Zero(t, allocs)
}
