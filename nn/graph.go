package nn

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/ops"
)

// Module is a layer, or a model made of layers, with its parameters.
type Module interface {
	// Forward adds the module to the graph. The node x and the result are panel
	// tensors: (panels, features, width).
	Forward(g *Graph, x *G.Node) (*G.Node, error)
	// Params returns the parameters in an order that never changes.
	Params() []*Param
}

// Graph is what a Module adds its nodes to.
type Graph struct {
	*G.ExprGraph
	Backend ops.Backend
	Panels  ops.Panels
	// Training is false for a graph that evaluates: dropout does nothing there.
	Training bool

	nodes   map[*Param]*G.Node
	streams []*ops.Stream
}

// Param returns the node of a parameter, the same one each time.
func (g *Graph) Param(p *Param) (*G.Node, error) {
	if n, ok := g.nodes[p]; ok {
		return n, nil
	}
	for other := range g.nodes { // gorgonia would make one node of both
		if other.Name == p.Name {
			return nil, fmt.Errorf("nn: two parameters are named %s", p.Name)
		}
	}
	n := newInput(g.ExprGraph, p.Name, p.Value)
	if err := G.Let(n, p.Value); err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name, err)
	}
	g.nodes[p] = n
	return n, nil
}

// newInput returns an input node that fits a tensor.
func newInput(g *G.ExprGraph, name string, v *tensor.Dense) *G.Node {
	s := v.Shape()
	return G.NewTensor(g, v.Dtype(), len(s), G.WithShape(s...), G.WithName(name))
}

// Draws tells the graph that a node draws from a stream, whose step is then
// set before each run.
func (g *Graph) Draws(s *ops.Stream) { g.streams = append(g.streams, s) }

// features returns the number of features of a panel tensor, after checking
// that the layer can take them. want < 0 takes any number.
func (g *Graph) features(layer string, x *G.Node, want int) (int, error) {
	if x == nil {
		return 0, fmt.Errorf("nn: %s has no input", layer)
	}
	s := x.Shape()
	if len(s) != 3 || s[0] != g.Panels.Count || s[2] != g.Panels.Width {
		return 0, fmt.Errorf("nn: the input of %s has shape %v, want (%d, features, %d)", layer, s, g.Panels.Count, g.Panels.Width)
	}
	if want >= 0 && s[1] != want {
		return 0, fmt.Errorf("nn: %s takes %d features, its input has %d", layer, want, s[1])
	}
	return s[1], nil
}
