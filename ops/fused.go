package ops

import "gorgonia.org/tensor"

// Fused operations do in one pass what others do in several: rows are finished
// while they are at hand. A graph is built of the simple ones; graph.Machine puts
// fused ones in their place where a backend has them.
const (
	OpSpMMAct     Op = "spmmact"
	OpSpMMTGate   Op = "spmmtgate"
	OpLinearAct   Op = "linearact"
	OpLinearTGate Op = "lineartgate"
)

// Activation is what follows a product, in this order: a bias, the addition of
// another tensor of the output's shape, a ReLU.
type Activation struct{ Bias, Residual, ReLU bool }

// SpMMAct is SpMM and what follows it: values, X, then the bias (rows) and the
// residual if there are any → Y.
type SpMMAct struct {
	SparseProblem
	Activation
}

// SpMMTGate is SpMMT, then ReLUGrad: values, dY, gate → dX, where dX is Wᵀ dY
// where the gate (cols features) is positive, and 0 elsewhere.
type SpMMTGate SparseProblem

// LinearAct is Linear and what follows it: W, X, then the bias and the residual if
// there are any → Y.
type LinearAct struct {
	DenseProblem
	Activation
}

// LinearTGate is LinearT, then ReLUGrad: W, dY, gate → dX.
type LinearTGate DenseProblem

func (SpMMAct) Op() Op     { return OpSpMMAct }
func (SpMMTGate) Op() Op   { return OpSpMMTGate }
func (LinearAct) Op() Op   { return OpLinearAct }
func (LinearTGate) Op() Op { return OpLinearTGate }

func (a Activation) signature(w, x, y Operand) Signature {
	s := Signature{In: []Operand{w, x}, Out: y}
	if a.Bias {
		features := 0
		if len(y.Shape) == 3 {
			features = y.Shape[1]
		}
		s.In = append(s.In, Operand{Name: "bias", Shape: tensor.Shape{features}})
	}
	if a.Residual {
		s.In = append(s.In, Operand{Name: "residual", Shape: y.Shape})
	}
	return s
}

func (s SpMMAct) Signature() (Signature, error) {
	w, x, y, err := s.operands()
	return s.signature(w, x, y), err
}

func (s LinearAct) Signature() (Signature, error) {
	w, x, y, err := s.operands()
	return s.signature(w, x, y), err
}

func (s SpMMTGate) Signature() (Signature, error) {
	w, x, y, err := SparseProblem(s).operands()
	return gated(w, x, y), err
}

func (s LinearTGate) Signature() (Signature, error) {
	w, x, y, err := DenseProblem(s).operands()
	return gated(w, x, y), err
}

func gated(w, x, y Operand) Signature {
	gate := x
	gate.Name = "gate"
	return Signature{In: []Operand{w, y, gate}, Out: x}
}
