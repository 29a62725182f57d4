package ops

import (
	"fmt"

	"gorgonia.org/tensor"
)

// SumSquares adds up the squares of N numbers in blocks of a fixed size, each
// in float64, so that the sum does not depend on the number of threads: x (N) →
// a scalar.
type SumSquares struct{ N int }

func (SumSquares) Op() Op { return OpSumSquares }

func (s SumSquares) Signature() (Signature, error) {
	sig, err := vectors(s.N, "x")
	return Signature{In: sig.In, Out: Operand{Name: "sum", Shape: tensor.ScalarShape()}}, err
}

// SGDHyper are the numbers of a stochastic gradient descent step. The kernel
// reads them when it runs.
type SGDHyper struct {
	LR          float32
	Momentum    float32 // not used by SGD
	Nesterov    bool    // not used by SGD
	WeightDecay float32 // L2: added to the gradient as WeightDecay·w
	GradScale   float32 // multiplies the gradient first, for clipping
}

// SGD is one step of plain stochastic gradient descent:
//
//	g ← GradScale·g + WeightDecay·w;  w ← w - LR·g
//
// gradient (N) → w (N, in and out).
type SGD struct {
	N     int
	Hyper *SGDHyper
}

// Momentum is one step with momentum (Sutskever et al., ICML 2013, in
// PyTorch's form):
//
//	g ← GradScale·g + WeightDecay·w;  v ← Momentum·v + g
//	w ← w - LR·v,  or with Nesterov  w ← w - LR·(g + Momentum·v)
//
// gradient (N), velocity (N, in and out) → w (N, in and out).
type Momentum SGD

func (SGD) Op() Op      { return OpSGD }
func (Momentum) Op() Op { return OpMomentum }

func (s SGD) Signature() (Signature, error) {
	if s.Hyper == nil {
		return Signature{}, fmt.Errorf("%w: sgd without hyperparameters", ErrSpec)
	}
	return vectors(s.N, "gradient")
}

func (s Momentum) Signature() (Signature, error) {
	if s.Hyper == nil {
		return Signature{}, fmt.Errorf("%w: momentum without hyperparameters", ErrSpec)
	}
	return vectors(s.N, "gradient", "velocity")
}

// AdamHyper are the numbers of an Adam step. The kernel reads them when it
// runs.
type AdamHyper struct {
	LR           float32
	Beta1, Beta2 float32
	Epsilon      float32
	WeightDecay  float32
	GradScale    float32
	Decoupled    bool // AdamW: decay the weight itself, not through the gradient
	Step         int  // 1 for the first step, for the correction of the bias
}

// Adam is one step of Adam (Kingma and Ba, ICLR 2015, algorithm 1) or, with
// Decoupled, of AdamW (Loshchilov and Hutter, ICLR 2019, algorithm 2):
// gradient (N), first and second moment (N, in and out) → w (N, in and out).
type Adam struct {
	N     int
	Hyper *AdamHyper
}

func (Adam) Op() Op { return OpAdam }

func (s Adam) Signature() (Signature, error) {
	if s.Hyper == nil {
		return Signature{}, fmt.Errorf("%w: adam without hyperparameters", ErrSpec)
	}
	return vectors(s.N, "gradient", "first moment", "second moment")
}

// vectors is the signature of an optimizer: the first operand is the gradient,
// the others are state, the output is the weights, and all have n elements.
func vectors(n int, in ...string) (Signature, error) {
	if n < 0 {
		return Signature{}, fmt.Errorf("%w: %d elements", ErrSpec, n)
	}
	sig := Signature{Out: Operand{Name: "w", Shape: tensor.Shape{n}, InOut: true}}
	for i, name := range in {
		sig.In = append(sig.In, Operand{Name: name, Shape: tensor.Shape{n}, InOut: i > 0})
	}
	return sig, nil
}
