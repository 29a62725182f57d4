package nn

import (
	"fmt"
	"math"

	G "gorgonia.org/gorgonia"

	"github.com/rigel-ml/rigel/ops/graph"
	"github.com/rigel-ml/rigel/sparse"
)

// SparseLinearConfig describes a layer whose weight stores only its non-zeros.
// Pattern, NNZ and Sparsity each say which; the first that is set counts, and
// with none of them the layer is fully connected.
type SparseLinearConfig struct {
	In, Out int // features

	// Pattern is used as it is, and owned by the layer from then on.
	Pattern *sparse.Pattern
	// NNZ connections are drawn uniformly at random.
	NNZ int
	// Sparsity is the share of connections that are left out, 0 ≤ Sparsity < 1;
	// the others are drawn uniformly at random.
	Sparsity float64

	NoBias  bool       // the layer has a bias unless this is set
	Weights WeightInit // KaimingNormal if nil, with the fan-in of each neuron
}

// SparseLinear is Y = W X + b with a sparse weight.
//
// Shapes: weight (Out, In) with nnz stored values, bias (Out); X has In
// features, Y has Out. Memory and time of a step are in proportion to nnz.
type SparseLinear struct {
	Weight, Bias *Param // Bias is nil without one
}

// Init draws the connections, if they are not given, and the weights; the bias
// starts at 0.
func (c SparseLinearConfig) Init(in *Init) (Module, error) {
	p, err := c.pattern(in)
	if err != nil {
		return nil, err
	}
	l := &SparseLinear{}
	if l.Weight, err = in.Sparse("weight", p, drawRows(c.Weights, in.Rand("weight"), p.RowPtr())); err != nil {
		return nil, err
	}
	l.Bias, err = bias(in, c.NoBias, c.Out)
	return l, err
}

func (c SparseLinearConfig) pattern(in *Init) (*sparse.Pattern, error) {
	name := in.Name("weight")
	if c.In < 1 || c.Out < 1 {
		return nil, fmt.Errorf("nn: %s takes %d features and gives %d, want at least 1 each", name, c.In, c.Out)
	}
	size := int64(c.In) * int64(c.Out)
	nnz := int64(c.NNZ)
	switch {
	case c.Pattern != nil:
		if c.Pattern.Rows() != c.Out || c.Pattern.Cols() != c.In || c.Pattern.NNZ() == 0 {
			return nil, fmt.Errorf("nn: %s: a pattern of %d × %d with %d connections, want %d × %d with at least one",
				name, c.Pattern.Rows(), c.Pattern.Cols(), c.Pattern.NNZ(), c.Out, c.In)
		}
		return c.Pattern, nil
	case c.NNZ != 0:
		if nnz < 1 || nnz > size {
			return nil, fmt.Errorf("nn: %s: %d connections, want 1 to %d", name, nnz, size)
		}
	case !(c.Sparsity >= 0 && c.Sparsity < 1):
		return nil, fmt.Errorf("nn: %s: sparsity %v, want at least 0 and below 1", name, c.Sparsity)
	default:
		nnz = int64(math.Round((1 - c.Sparsity) * float64(size)))
		if nnz < 1 {
			return nil, fmt.Errorf("nn: %s: sparsity %v leaves none of %d connections; at most %v leaves one",
				name, c.Sparsity, size, 1-1/float64(size))
		}
	}
	p, err := sparse.RandomPattern(c.Out, c.In, int(nnz), in.Rand("weight.pattern"))
	if err != nil {
		return nil, fmt.Errorf("nn: %s: %w", name, err)
	}
	return p, nil
}

// Forward adds the product and the bias.
func (l *SparseLinear) Forward(g *Graph, x *G.Node) (*G.Node, error) {
	p := l.Weight.Pattern
	if _, err := g.features(l.Weight.Name, x, p.Cols()); err != nil {
		return nil, err
	}
	w, err := g.Param(l.Weight)
	if err != nil {
		return nil, err
	}
	y, err := graph.SpMM(g.Backend, p, g.Panels, w, x)
	if err != nil {
		return nil, err
	}
	return addBias(g, y, l.Bias, p.Rows())
}

// Params returns the weight and the bias, if any.
func (l *SparseLinear) Params() []*Param { return present(l.Weight, l.Bias) }
