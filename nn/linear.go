package nn

import (
	"fmt"
	"math"

	G "gorgonia.org/gorgonia"

	"github.com/rigel-ml/rigel/ops/graph"
)

// LinearConfig describes a dense layer.
type LinearConfig struct {
	In, Out int        // features
	NoBias  bool       // the layer has a bias unless this is set
	Weights WeightInit // KaimingNormal if nil
}

// Linear is Y = W X + b with a dense weight.
//
// Shapes: weight (Out, In), bias (Out); X has In features, Y has Out.
type Linear struct {
	Weight, Bias *Param // Bias is nil without one
	in, out      int
}

// Init draws the weight; the bias starts at 0.
func (c LinearConfig) Init(in *Init) (Module, error) {
	if c.In < 1 || c.Out < 1 {
		return nil, fmt.Errorf("nn: %s takes %d features and gives %d, want at least 1 each", in.Name("linear"), c.In, c.Out)
	}
	if c.Out > math.MaxInt32/c.In { // rather than wrap below
		return nil, fmt.Errorf("nn: %s has %d × %d weights, want at most %d", in.Name("linear"), c.Out, c.In, math.MaxInt32)
	}
	rowPtr := make([]int32, c.Out+1)
	for i := range rowPtr {
		rowPtr[i] = int32(i * c.In)
	}
	l := &Linear{in: c.In, out: c.Out}
	var err error
	if l.Weight, err = in.Dense("weight", drawRows(c.Weights, in.Rand("weight"), rowPtr), c.Out, c.In); err != nil {
		return nil, err
	}
	l.Bias, err = bias(in, c.NoBias, c.Out)
	return l, err
}

// Forward adds the product and the bias.
func (l *Linear) Forward(g *Graph, x *G.Node) (*G.Node, error) {
	if _, err := g.features(l.Weight.Name, x, l.in); err != nil {
		return nil, err
	}
	w, err := g.Param(l.Weight)
	if err != nil {
		return nil, err
	}
	y, err := graph.Linear(g.Backend, l.out, l.in, g.Panels, w, x)
	if err != nil {
		return nil, err
	}
	return addBias(g, y, l.Bias, l.out)
}

// Params returns the weight and the bias, if any.
func (l *Linear) Params() []*Param { return present(l.Weight, l.Bias) }

func addBias(g *Graph, y *G.Node, bias *Param, features int) (*G.Node, error) {
	if bias == nil {
		return y, nil
	}
	b, err := g.Param(bias)
	if err != nil {
		return nil, err
	}
	return graph.BiasAdd(g.Backend, features, g.Panels, y, b)
}

func present(params ...*Param) []*Param {
	var all []*Param
	for _, p := range params {
		if p != nil {
			all = append(all, p)
		}
	}
	return all
}
