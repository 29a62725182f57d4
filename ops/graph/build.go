package graph

import (
	G "gorgonia.org/gorgonia"

	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/sparse"
)

// The functions below add one node each. Their errors wrap ops.ErrSpec for
// sizes that make no sense and ops.ErrOperand for nodes of the wrong shape.

// SpMM adds Y = W X for the sparse matrix with this pattern. The node w holds
// its values (nnz), x is a panel tensor with a feature for each column; the
// result has one for each row.
//
// The pattern is held by pointer. A mask update that keeps nnz changes it in
// place, and the graph goes on without being rebuilt.
func SpMM(b ops.Backend, p *sparse.Pattern, panels ops.Panels, w, x *G.Node) (*G.Node, error) {
	return apply(b, ops.SpMM{Pattern: p, Panels: panels}, w, x)
}

// SpMMT adds X = Wᵀ Y for the sparse matrix with this pattern.
func SpMMT(b ops.Backend, p *sparse.Pattern, panels ops.Panels, w, y *G.Node) (*G.Node, error) {
	return apply(b, ops.SpMMT{Pattern: p, Panels: panels}, w, y)
}

// SDDMM adds the product Y Xᵀ at the stored positions of the pattern alone: a
// vector of nnz numbers.
func SDDMM(b ops.Backend, p *sparse.Pattern, panels ops.Panels, y, x *G.Node) (*G.Node, error) {
	return apply(b, ops.SDDMM{Pattern: p, Panels: panels}, y, x)
}

// Linear adds Y = W X for a dense W of (out, in).
func Linear(b ops.Backend, out, in int, panels ops.Panels, w, x *G.Node) (*G.Node, error) {
	return apply(b, ops.Linear{Out: out, In: in, Panels: panels}, w, x)
}

// BiasAdd adds bias[f] to every sample of feature f.
func BiasAdd(b ops.Backend, features int, panels ops.Panels, x, bias *G.Node) (*G.Node, error) {
	return apply(b, ops.BiasAdd{Features: features, Panels: panels}, x, bias)
}

// ReLU adds max(x, 0).
func ReLU(b ops.Backend, features int, panels ops.Panels, x *G.Node) (*G.Node, error) {
	return apply(b, ops.ReLU{Features: features, Panels: panels}, x)
}

// Dropout zeroes a share p of x, drawn from the stream at its present step.
func Dropout(b ops.Backend, features int, panels ops.Panels, p float64, s *ops.Stream, x *G.Node) (*G.Node, error) {
	return apply(b, ops.Dropout{LayerProblem: ops.LayerProblem{Features: features, Panels: panels}, P: p, Stream: s}, x)
}

// CrossEntropy adds the mean softmax cross-entropy of the logits, a scalar. The
// node labels is int32 of panels.LabelShape; a sample labelled ops.Ignore does
// not count.
func CrossEntropy(b ops.Backend, classes int, panels ops.Panels, logits, labels *G.Node) (*G.Node, error) {
	return apply(b, ops.CrossEntropy{Features: classes, Panels: panels}, logits, labels)
}
