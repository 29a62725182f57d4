package ops

import (
	"fmt"

	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/sparse"
)

// The operations. Each has a Spec type of the same name.
const (
	OpSpMM             Op = "spmm"
	OpSpMMT            Op = "spmmt"
	OpSDDMM            Op = "sddmm"
	OpLinear           Op = "linear"
	OpLinearT          Op = "lineart"
	OpLinearGrad       Op = "lineargrad"
	OpBiasAdd          Op = "biasadd"
	OpBiasGrad         Op = "biasgrad"
	OpReLU             Op = "relu"
	OpReLUGrad         Op = "relugrad"
	OpDropout          Op = "dropout"
	OpCrossEntropy     Op = "xent"
	OpCrossEntropyGrad Op = "xentgrad"
	OpPack             Op = "pack"
	OpUnpack           Op = "unpack"
	OpSumSquares       Op = "sumsq"
	OpSGD              Op = "sgd"
	OpMomentum         Op = "momentum"
	OpAdam             Op = "adam"
)

// AllOps lists every operation, in the order of the kernel table.
func AllOps() []Op {
	return []Op{
		OpSpMM, OpSpMMT, OpSDDMM, OpLinear, OpLinearT, OpLinearGrad, OpBiasAdd, OpBiasGrad, OpReLU, OpReLUGrad,
		OpDropout, OpCrossEntropy, OpCrossEntropyGrad, OpPack, OpUnpack, OpSumSquares, OpSGD, OpMomentum, OpAdam,
		OpSpMMAct, OpSpMMTGate, OpLinearAct, OpLinearTGate,
	}
}

// SparseProblem is what the three products with a sparse matrix W, of rows ×
// cols, have in common. W's values are (nnz), in the backend's order.
type SparseProblem struct {
	Pattern *sparse.Pattern
	Panels  Panels
}

func (s SparseProblem) operands() (w, x, y Operand, err error) {
	if s.Pattern == nil {
		return w, x, y, fmt.Errorf("%w: nil pattern", ErrSpec)
	}
	if err := s.Panels.check(); err != nil {
		return w, x, y, err
	}
	w = Operand{Name: "values", Shape: tensor.Shape{s.Pattern.NNZ()}, Pattern: s.Pattern, FLOPs: 2 * float64(s.Panels.Slots())}
	x = Operand{Name: "x", Shape: s.Panels.Shape(s.Pattern.Cols())}
	y = Operand{Name: "y", Shape: s.Panels.Shape(s.Pattern.Rows())}
	return w, x, y, nil
}

// SpMM is Y = W X: values, X (cols features) → Y (rows features).
type SpMM SparseProblem

// SpMMT is dX = Wᵀ dY: values, dY (rows features) → dX (cols features).
type SpMMT SparseProblem

// SDDMM is the gradient of SpMM with respect to the stored values alone,
// dW[p] = dY[row(p),:] · X[col(p),:]: dY, X → dW (nnz).
type SDDMM SparseProblem

func (SpMM) Op() Op  { return OpSpMM }
func (SpMMT) Op() Op { return OpSpMMT }
func (SDDMM) Op() Op { return OpSDDMM }

func (s SpMM) Signature() (Signature, error) {
	w, x, y, err := SparseProblem(s).operands()
	return Signature{In: []Operand{w, x}, Out: y}, err
}

func (s SpMMT) Signature() (Signature, error) {
	w, x, y, err := SparseProblem(s).operands()
	return Signature{In: []Operand{w, y}, Out: x}, err
}

func (s SDDMM) Signature() (Signature, error) {
	w, x, y, err := SparseProblem(s).operands()
	return Signature{In: []Operand{y, x}, Out: w}, err
}

// DenseProblem is what the three products with a dense matrix W have in
// common. W is row-major, Out × In.
type DenseProblem struct {
	Out, In int
	Panels  Panels
}

func (s DenseProblem) operands() (w, x, y Operand, err error) {
	if s.Out < 0 || s.In < 0 {
		return w, x, y, fmt.Errorf("%w: %d × %d weights", ErrSpec, s.Out, s.In)
	}
	if err := s.Panels.check(); err != nil {
		return w, x, y, err
	}
	w = Operand{Name: "w", Shape: tensor.Shape{s.Out, s.In}, FLOPs: 2 * float64(s.Panels.Slots())}
	x = Operand{Name: "x", Shape: s.Panels.Shape(s.In)}
	y = Operand{Name: "y", Shape: s.Panels.Shape(s.Out)}
	return w, x, y, nil
}

// Linear is Y = W X for a dense W: W, X → Y.
type Linear DenseProblem

// LinearT is dX = Wᵀ dY: W, dY → dX.
type LinearT DenseProblem

// LinearGrad is dW = dY Xᵀ: dY, X → dW.
type LinearGrad DenseProblem

func (Linear) Op() Op     { return OpLinear }
func (LinearT) Op() Op    { return OpLinearT }
func (LinearGrad) Op() Op { return OpLinearGrad }

func (s Linear) Signature() (Signature, error) {
	w, x, y, err := DenseProblem(s).operands()
	return Signature{In: []Operand{w, x}, Out: y}, err
}

func (s LinearT) Signature() (Signature, error) {
	w, x, y, err := DenseProblem(s).operands()
	return Signature{In: []Operand{w, y}, Out: x}, err
}

func (s LinearGrad) Signature() (Signature, error) {
	w, x, y, err := DenseProblem(s).operands()
	return Signature{In: []Operand{y, x}, Out: w}, err
}

// LayerProblem is an operation on every feature of a panel tensor.
type LayerProblem struct {
	Features int
	Panels   Panels
}

func (s LayerProblem) operand(name string) (Operand, error) {
	if s.Features < 0 {
		return Operand{}, fmt.Errorf("%w: %d features", ErrSpec, s.Features)
	}
	return Operand{Name: name, Shape: s.Panels.Shape(s.Features)}, s.Panels.check()
}

func (s LayerProblem) signature(out string, in ...string) (sig Signature, err error) {
	if sig.Out, err = s.operand(out); err != nil {
		return sig, err
	}
	for _, name := range in {
		o, _ := s.operand(name)
		sig.In = append(sig.In, o)
	}
	return sig, nil
}

// BiasAdd adds one number to each feature: x, b (features) → y.
type BiasAdd LayerProblem

// BiasGrad sums each feature over the batch: dy → db (features).
type BiasGrad LayerProblem

// ReLU is max(x, 0), and NaN for NaN: x → y.
type ReLU LayerProblem

// ReLUGrad passes dy where the output y is positive: y, dy → dx. The
// derivative at 0 is 0.
type ReLUGrad LayerProblem

func (BiasAdd) Op() Op  { return OpBiasAdd }
func (BiasGrad) Op() Op { return OpBiasGrad }
func (ReLU) Op() Op     { return OpReLU }
func (ReLUGrad) Op() Op { return OpReLUGrad }

func (s BiasAdd) Signature() (Signature, error) {
	sig, err := LayerProblem(s).signature("y", "x")
	sig.In = append(sig.In, Operand{Name: "b", Shape: tensor.Shape{s.Features}})
	return sig, err
}

func (s BiasGrad) Signature() (Signature, error) {
	sig, err := LayerProblem(s).signature("db", "dy")
	sig.Out.Shape = tensor.Shape{s.Features}
	return sig, err
}

func (s ReLU) Signature() (Signature, error)     { return LayerProblem(s).signature("y", "x") }
func (s ReLUGrad) Signature() (Signature, error) { return LayerProblem(s).signature("dx", "y", "dy") }

// Dropout zeroes a share P of the numbers and scales the others by 1/(1-P), so
// that the expectation stays (Srivastava et al., JMLR 2014): x → y. Which ones
// it zeroes depends on the Stream's key and step alone, so that the same Spec
// run on dy, at the same step, is its gradient.
type Dropout struct {
	LayerProblem
	P      float64 // 0 ≤ P < 1
	Stream *Stream
}

func (Dropout) Op() Op { return OpDropout }

// Keeps reports whether a feature of a sample survives the present step. It
// does not depend on the layout.
func (s *Dropout) Keeps(sample, feature int) bool {
	return float64(s.Stream.Uniform(uint64(sample)*uint64(s.Features)+uint64(feature))) >= s.P
}

func (s Dropout) Signature() (Signature, error) {
	if !(s.P >= 0 && s.P < 1) {
		return Signature{}, fmt.Errorf("%w: dropout of %v, want 0 ≤ p < 1", ErrSpec, s.P)
	}
	if s.Stream == nil {
		return Signature{}, fmt.Errorf("%w: dropout without a random stream", ErrSpec)
	}
	return s.signature("y", "x")
}

// CrossEntropy is the mean over the samples whose label is not Ignore of
// -log softmax(logits)[label], computed from shifted logits: logits, labels →
// loss (a scalar). Without any such sample the loss is 0. A label out of range
// is an error.
type CrossEntropy LayerProblem

// CrossEntropyGrad is its gradient: logits, labels, dloss (a scalar) →
// dlogits. Samples that are ignored get zeros.
type CrossEntropyGrad LayerProblem

func (CrossEntropy) Op() Op     { return OpCrossEntropy }
func (CrossEntropyGrad) Op() Op { return OpCrossEntropyGrad }

func (s CrossEntropy) Signature() (Signature, error) {
	sig, err := LayerProblem(s).signature("loss", "logits")
	if err == nil && s.Features < 1 {
		err = fmt.Errorf("%w: cross-entropy over %d classes", ErrSpec, s.Features)
	}
	sig.In = append(sig.In, Operand{Name: "labels", Shape: s.Panels.LabelShape(), Labels: s.Features})
	sig.Out.Shape = tensor.ScalarShape()
	return sig, err
}

func (s CrossEntropyGrad) Signature() (Signature, error) {
	sig, err := CrossEntropy(s).Signature()
	sig.In = append(sig.In, Operand{Name: "dloss", Shape: tensor.ScalarShape()})
	if len(sig.In) > 0 {
		sig.Out = Operand{Name: "dlogits", Shape: sig.In[0].Shape}
	}
	return sig, err
}

// Pack turns batch-major samples into panels and pads with zeros: a (Batch,
// features) → x.
type Pack LayerProblem

// Unpack is its inverse and drops the padding: x → a (Batch, features).
type Unpack LayerProblem

func (Pack) Op() Op   { return OpPack }
func (Unpack) Op() Op { return OpUnpack }

func (s Pack) Signature() (Signature, error) {
	sig, err := LayerProblem(s).signature("x", "a")
	if err == nil {
		sig.In[0].Shape = tensor.Shape{s.Panels.Batch, s.Features}
	}
	return sig, err
}

func (s Unpack) Signature() (Signature, error) {
	sig, err := LayerProblem(s).signature("a", "x")
	sig.Out.Shape = tensor.Shape{s.Panels.Batch, s.Features}
	return sig, err
}
