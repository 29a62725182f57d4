package nn

import (
	G "gorgonia.org/gorgonia"

	"github.com/rigel-ml/rigel/ops/graph"
)

// Loss makes a number of a model's output and the labels.
type Loss interface {
	// Forward adds the loss, a scalar. labels is int32 of (panels, width), with
	// ops.Ignore for samples that do not count.
	Forward(g *Graph, output, labels *G.Node) (*G.Node, error)
}

// CrossEntropy is the mean softmax cross-entropy of the samples. The model's
// output is logits, one feature for each class.
type CrossEntropy struct{}

// Forward adds the loss.
func (CrossEntropy) Forward(g *Graph, logits, labels *G.Node) (*G.Node, error) {
	classes, err := g.features("cross-entropy", logits, -1)
	if err != nil {
		return nil, err
	}
	return graph.CrossEntropy(g.Backend, classes, g.Panels, logits, labels)
}
