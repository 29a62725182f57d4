package nn

import (
	"fmt"

	G "gorgonia.org/gorgonia"

	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/ops/graph"
)

// ReLUConfig describes max(x, 0). It is its own module: there is nothing to
// draw.
type ReLUConfig struct{}

// Init returns the module.
func (c ReLUConfig) Init(*Init) (Module, error) { return c, nil }

// Forward adds max(x, 0).
func (ReLUConfig) Forward(g *Graph, x *G.Node) (*G.Node, error) {
	n, err := g.features("relu", x, -1)
	if err != nil {
		return nil, err
	}
	return graph.ReLU(g.Backend, n, g.Panels, x)
}

// Params returns nothing.
func (ReLUConfig) Params() []*Param { return nil }

// DropoutConfig describes dropout, which zeroes a share P of its input in
// training and scales the rest by 1/(1-P) (Srivastava et al., JMLR 2014).
type DropoutConfig struct {
	P float64 // 0 ≤ P < 1
}

// Dropout draws a new mask at each step.
type Dropout struct {
	p      float64
	stream *ops.Stream
}

// Init returns a module with a stream of random numbers of its own.
func (c DropoutConfig) Init(in *Init) (Module, error) {
	if !(c.P >= 0 && c.P < 1) {
		return nil, fmt.Errorf("nn: %s: p = %v, want at least 0 and below 1", in.Name("dropout"), c.P)
	}
	stream, err := in.Stream("dropout")
	if err != nil {
		return nil, err
	}
	return &Dropout{p: c.P, stream: stream}, nil
}

// Forward adds the mask in training, and nothing in evaluation.
func (d *Dropout) Forward(g *Graph, x *G.Node) (*G.Node, error) {
	n, err := g.features("dropout", x, -1)
	if err != nil || !g.Training || d.p == 0 {
		return x, err
	}
	g.Draws(d.stream)
	return graph.Dropout(g.Backend, n, g.Panels, d.p, d.stream, x)
}

// Params returns nothing.
func (*Dropout) Params() []*Param { return nil }
