package graph_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/ops/graph"
	"github.com/rigel-ml/rigel/ops/opstest"
	"github.com/rigel-ml/rigel/ops/ref"
)

// differentiable is an operation under test: the shapes of the inputs it is
// differentiated in, and how to add its node.
type differentiable struct {
	shapes []tensor.Shape
	build  func(in []*G.Node) (*G.Node, error)
}

func differentiables(t *testing.T, b ops.Backend, g *G.ExprGraph) map[string]differentiable {
	const rows, cols, batch = 5, 7, 11
	panels, err := ops.NewPanels(batch)
	require.NoError(t, err)
	p := opstest.Pattern(rows, cols, 0.4)
	w, x, y := tensor.Shape{p.NNZ()}, panels.Shape(cols), panels.Shape(rows)
	dense := tensor.Shape{rows, cols}
	labels := labelNode(t, g, panels, rows)
	return map[string]differentiable{
		"spmm": {[]tensor.Shape{w, x}, func(in []*G.Node) (*G.Node, error) {
			return graph.SpMM(b, p, panels, in[0], in[1])
		}},
		"spmmt": {[]tensor.Shape{w, y}, func(in []*G.Node) (*G.Node, error) {
			return graph.SpMMT(b, p, panels, in[0], in[1])
		}},
		"sddmm": {[]tensor.Shape{y, x}, func(in []*G.Node) (*G.Node, error) {
			return graph.SDDMM(b, p, panels, in[0], in[1])
		}},
		"linear": {[]tensor.Shape{dense, x}, func(in []*G.Node) (*G.Node, error) {
			return graph.Linear(b, rows, cols, panels, in[0], in[1])
		}},
		"bias": {[]tensor.Shape{y, {rows}}, func(in []*G.Node) (*G.Node, error) {
			return graph.BiasAdd(b, rows, panels, in[0], in[1])
		}},
		"relu": {[]tensor.Shape{y}, func(in []*G.Node) (*G.Node, error) {
			return graph.ReLU(b, rows, panels, in[0])
		}},
		"dropout": {[]tensor.Shape{y}, func(in []*G.Node) (*G.Node, error) {
			return graph.Dropout(b, rows, panels, 0.3, &ops.Stream{Key: 4, Step: 9}, in[0])
		}},
		"cross-entropy": {[]tensor.Shape{y}, func(in []*G.Node) (*G.Node, error) {
			return graph.CrossEntropy(b, rows, panels, in[0], labels)
		}},
		"a layer twice, so that gradients add up": {[]tensor.Shape{w, x}, func(in []*G.Node) (*G.Node, error) {
			once, err := graph.SpMM(b, p, panels, in[0], in[1])
			if err != nil {
				return nil, err
			}
			back, err := graph.SpMMT(b, p, panels, in[0], once)
			if err != nil {
				return nil, err
			}
			return graph.SpMM(b, p, panels, in[0], back)
		}},
	}
}

func labelNode(t *testing.T, g *G.ExprGraph, panels ops.Panels, classes int) *G.Node {
	values := make([]int32, panels.Slots())
	for i := range values {
		values[i] = int32(i%(classes+1)) - 1
	}
	shape := panels.LabelShape()
	n := G.NewTensor(g, tensor.Int32, len(shape), G.WithShape(shape...), G.WithName("labels"))
	require.NoError(t, G.Let(n, tensor.New(tensor.WithShape(shape...), tensor.WithBacking(values))))
	return n
}

// TestGradients compares gorgonia.Grad through every operation with central
// differences in float64, on gorgonia's tape machine and on Machine.
func TestGradients(t *testing.T) {
	b := ref.New()
	for name := range differentiables(t, b, G.NewGraph()) {
		for _, vm := range []string{"tape machine", "machine"} {
			t.Run(name+"/"+vm, func(t *testing.T) {
				g := G.NewGraph()
				checkGradient(t, g, differentiables(t, b, g)[name], vm)
			})
		}
	}
}

func checkGradient(t *testing.T, g *G.ExprGraph, d differentiable, vm string) {
	rng := rand.New(rand.NewPCG(11, 12))
	random := func(shape tensor.Shape) *tensor.Dense {
		v := make([]float64, shape.TotalSize())
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v))
	}
	var in G.Nodes
	for i, s := range d.shapes {
		n := G.NewTensor(g, tensor.Float64, len(s), G.WithShape(s...), G.WithName(fmt.Sprint("in", i)))
		require.NoError(t, G.Let(n, random(s)))
		in = append(in, n)
	}
	y, err := d.build(in)
	require.NoError(t, err)

	// A weighted sum makes a scalar of the output, by gorgonia's own operations.
	loss := y
	if !y.IsScalar() {
		s := y.Shape()
		r := G.NewTensor(g, tensor.Float64, len(s), G.WithShape(s...), G.WithName("r"))
		require.NoError(t, G.Let(r, random(s)))
		loss = G.Must(G.Sum(G.Must(G.HadamardProd(y, r))))
	}
	loss = G.Must(G.Mul(loss, G.NewConstant(2.5)))
	grads, err := G.Grad(loss, in...)
	require.NoError(t, err)

	var run func() float64
	if vm == "machine" {
		m, err := graph.NewMachine(append(G.Nodes{loss}, grads...)...)
		require.NoError(t, err)
		run = func() float64 {
			require.NoError(t, m.RunAll())
			return loss.Value().Data().(float64)
		}
	} else {
		run = func() float64 {
			m := G.NewTapeMachine(g)
			defer m.Close()
			require.NoError(t, m.RunAll())
			return loss.Value().Data().(float64)
		}
	}
	run()
	var analytic [][]float64
	for _, n := range grads {
		analytic = append(analytic, append([]float64(nil), n.Value().(*tensor.Dense).Float64s()...))
	}
	const h = 1e-6
	for i, n := range in {
		values := n.Value().(*tensor.Dense).Float64s()
		for j := range values {
			at := values[j]
			values[j] = at + h
			up := run()
			values[j] = at - h
			down := run()
			values[j] = at
			numeric := (up - down) / (2 * h)
			assert.InDelta(t, numeric, analytic[i][j], 1e-6*(1+math.Abs(numeric)), "input %d element %d", i, j)
		}
	}
}
