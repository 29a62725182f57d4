package ops

import (
	"fmt"

	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/sparse"
)

// Op names a family of kernels.
type Op string

// Spec states a problem: an operation and the sizes it works on.
type Spec interface {
	Op() Op
	// Signature returns the operands, or an error that wraps ErrSpec if the
	// sizes make no sense.
	Signature() (Signature, error)
}

// Signature lists the operands of a kernel in order.
type Signature struct {
	In  []Operand
	Out Operand
}

// Operand describes one tensor. A scalar has an empty shape and one element.
type Operand struct {
	Name  string
	Shape tensor.Shape
	// Labels marks int32 class labels from 0 to Labels-1, or Ignore. Zero
	// means numbers of the backend's dtype.
	Labels int
	// Pattern is set for the values of a sparse matrix, which are in the
	// backend's order of it.
	Pattern *sparse.Pattern
	// FLOPs is how many floating-point operations the problem spends on each
	// element of this operand, beyond reading or writing it: 2 a sample for the
	// weights of a product.
	FLOPs float64
	// InOut marks an operand that the kernel also writes, as optimizers do
	// with their state. The output of such a kernel is read as well.
	InOut bool
}

// Len returns the number of elements.
func (o Operand) Len() int { return o.Shape.TotalSize() }

func (o Operand) dtype(b Backend) tensor.Dtype {
	if o.Labels > 0 {
		return tensor.Int32
	}
	return b.Dtype()
}

// New returns a zeroed tensor that fits the operand.
func (o Operand) New(b Backend) (*tensor.Dense, error) {
	shape := o.Shape
	if len(shape) == 0 {
		shape = tensor.Shape{1} // a scalar lives in a tensor of one element
	}
	return b.New(o.dtype(b), shape...)
}

// Check reports whether t fits the operand.
func (o Operand) check(b Backend, op Op, t *tensor.Dense) error {
	switch {
	case t == nil:
		return fmt.Errorf("%w: %s %s is nil", ErrOperand, op, o.Name)
	case t.Dtype() != o.dtype(b):
		return fmt.Errorf("%w: %s %s is %v, want %v", ErrOperand, op, o.Name, t.Dtype(), o.dtype(b))
	case t.DataSize() != o.Len():
		return fmt.Errorf("%w: %s %s has shape %v, want %v", ErrOperand, op, o.Name, t.Shape(), o.Shape)
	case o.Pattern != nil && o.Pattern.NNZ() != o.Len():
		// An update that keeps nnz is followed; after another a kernel would
		// read past its operands.
		return fmt.Errorf("%w: %s was planned for %d non-zeros, the pattern has %d non-zeros now; plan again", ErrOperand, op, o.Len(), o.Pattern.NNZ())
	}
	return nil
}

// Check reports whether the tensors fit the signature. Shapes may differ as
// long as the number of elements agrees. It allocates only to report an error.
func (s *Signature) Check(b Backend, op Op, out *tensor.Dense, in []*tensor.Dense) error {
	if len(in) != len(s.In) {
		return fmt.Errorf("%w: %s takes %d operands, got %d", ErrOperand, op, len(s.In), len(in))
	}
	for i := range in {
		if err := s.In[i].check(b, op, in[i]); err != nil {
			return err
		}
	}
	return s.Out.check(b, op, out)
}

// Variant is a row of a backend's kernel table.
//
// Names follow one grammar, read from the left: operation, storage format,
// dtype, tile, instruction set. spmm_csr_f32_p_go is SpMM over CSR in float32,
// a panel at a time, in portable Go.
type Variant struct {
	Name   string
	Op     Op
	Format string
	Dtype  string
	Tile   string
	ISA    string
}
