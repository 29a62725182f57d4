package graph

import (
	G "gorgonia.org/gorgonia"

	"github.com/rigel-ml/rigel/ops"
)

// rule is how an operation is differentiated: which inputs have a gradient and
// the nodes that compute it from the gradient dy of the output.
type rule struct {
	wrt       []bool
	gradients func(b ops.Backend, in G.Nodes, out, dy *G.Node) (G.Nodes, error)
}

// ruleFor returns the rule of an operation, and none for an operation that is
// itself the end of a backward pass.
func ruleFor(s ops.Spec) rule {
	both := []bool{true, true}
	switch s := s.(type) {
	case ops.SpMM: // Y = W X
		return rule{both, func(b ops.Backend, in G.Nodes, _, dy *G.Node) (G.Nodes, error) {
			return pair(apply(b, ops.SDDMM(s), dy, in[1]))(apply(b, ops.SpMMT(s), in[0], dy))
		}}
	case ops.SpMMT: // X = Wᵀ Y
		return rule{both, func(b ops.Backend, in G.Nodes, _, dx *G.Node) (G.Nodes, error) {
			return pair(apply(b, ops.SDDMM(s), in[1], dx))(apply(b, ops.SpMM(s), in[0], dx))
		}}
	case ops.SDDMM: // W = Y Xᵀ on the pattern
		return rule{both, func(b ops.Backend, in G.Nodes, _, dw *G.Node) (G.Nodes, error) {
			return pair(apply(b, ops.SpMM(s), dw, in[1]))(apply(b, ops.SpMMT(s), dw, in[0]))
		}}
	case ops.Linear:
		return rule{both, func(b ops.Backend, in G.Nodes, _, dy *G.Node) (G.Nodes, error) {
			return pair(apply(b, ops.LinearGrad(s), dy, in[1]))(apply(b, ops.LinearT(s), in[0], dy))
		}}
	case ops.LinearT:
		return rule{both, func(b ops.Backend, in G.Nodes, _, dx *G.Node) (G.Nodes, error) {
			return pair(apply(b, ops.LinearGrad(s), in[1], dx))(apply(b, ops.Linear(s), in[0], dx))
		}}
	case ops.LinearGrad:
		return rule{both, func(b ops.Backend, in G.Nodes, _, dw *G.Node) (G.Nodes, error) {
			return pair(apply(b, ops.Linear(s), dw, in[1]))(apply(b, ops.LinearT(s), dw, in[0]))
		}}
	case ops.BiasAdd:
		return rule{both, func(b ops.Backend, _ G.Nodes, _, dy *G.Node) (G.Nodes, error) {
			return pair(dy, nil)(apply(b, ops.BiasGrad(s), dy))
		}}
	case ops.ReLU:
		return rule{[]bool{true}, func(b ops.Backend, _ G.Nodes, y, dy *G.Node) (G.Nodes, error) {
			dx, err := apply(b, ops.ReLUGrad(s), y, dy)
			return G.Nodes{dx}, err
		}}
	case ops.Dropout: // linear, and the mask is the same all through a step
		return rule{[]bool{true}, func(b ops.Backend, _ G.Nodes, _, dy *G.Node) (G.Nodes, error) {
			dx, err := apply(b, s, dy)
			return G.Nodes{dx}, err
		}}
	case ops.CrossEntropy:
		return rule{[]bool{true, false}, func(b ops.Backend, in G.Nodes, _, dloss *G.Node) (G.Nodes, error) {
			return pair(apply(b, ops.CrossEntropyGrad(s), in[0], in[1], dloss))(nil, nil)
		}}
	}
	return rule{}
}

// pair joins two calls that each return a node and an error.
func pair(first *G.Node, err error) func(*G.Node, error) (G.Nodes, error) {
	return func(second *G.Node, err2 error) (G.Nodes, error) {
		if err == nil {
			err = err2
		}
		return G.Nodes{first, second}, err
	}
}
