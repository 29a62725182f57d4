package ops

import (
	"errors"
	"fmt"

	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/sparse"
)

var (
	// ErrSpec is wrapped by errors about a problem that makes no sense, such
	// as a batch of no samples.
	ErrSpec = errors.New("invalid operation")

	// ErrOperand is wrapped by errors about a tensor that does not fit the
	// problem: wrong length, wrong dtype, nil.
	ErrOperand = errors.New("operand does not fit")

	// ErrNotImplemented is wrapped by errors about an operation that a backend
	// has no kernel for.
	ErrNotImplemented = errors.New("not implemented")
)

// Backend plans and runs kernels on one device. It is a tensor.Engine, so its
// tensors can live in a gorgonia graph. A Backend may be used from one
// goroutine at a time; it may use many itself.
type Backend interface {
	tensor.Engine

	// Device names where the kernels run, such as "cpu".
	Device() string

	// Dtype is the type of activations, weights and gradients here.
	Dtype() tensor.Dtype

	// Plan returns a kernel for the problem. The error wraps ErrSpec or
	// ErrNotImplemented.
	Plan(Spec) (Kernel, error)

	// PlanGrowth returns a kernel that finds the cells with the largest dense
	// gradient.
	PlanGrowth(Growth) (GrowthKernel, error)

	// Order tells how the values of a pattern are stored here at its present
	// version: element k of a tensor of values belongs to the CSR position
	// Order(p)[k]. Nil stands for CSR order. The slice is the caller's.
	Order(p *sparse.Pattern) []int32

	// New returns a zeroed tensor on the device, of Dtype or of tensor.Int32.
	New(dt tensor.Dtype, shape ...int) (*tensor.Dense, error)

	// Upload copies host values into a tensor of the same number of elements.
	Upload(dst *tensor.Dense, src []float32) error
	// UploadInt32 does so for labels.
	UploadInt32(dst *tensor.Dense, src []int32) error
	// Download copies a tensor into a host slice of the same length.
	Download(dst []float32, src *tensor.Dense) error
}

// Kernel solves one planned problem. Its operands are those of the Spec's
// Signature, checked on each call; after that check it cannot fail on the CPU.
// A Kernel runs on one goroutine at a time.
type Kernel interface {
	Run(out *tensor.Dense, in []*tensor.Dense) error
}

// CheckTransfer reports whether a tensor has this dtype and number of elements.
func CheckTransfer(t *tensor.Dense, dt tensor.Dtype, n int) error {
	switch {
	case t == nil:
		return fmt.Errorf("%w: transfer with a nil tensor", ErrOperand)
	case t.Dtype() != dt:
		return fmt.Errorf("%w: transfer with a tensor of %v, want %v", ErrOperand, t.Dtype(), dt)
	case t.DataSize() != n:
		return fmt.Errorf("%w: transfer of %d values with a tensor of shape %v", ErrOperand, n, t.Shape())
	}
	return nil
}
