package graph

import (
	"encoding/binary"
	"fmt"
	"hash"
	"hash/fnv"
	"sync/atomic"

	"github.com/chewxy/hm"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/ops"
)

// op is a gorgonia Op that runs one planned kernel.
type op struct {
	backend ops.Backend
	spec    ops.Spec
	sig     ops.Signature
	kernel  ops.Kernel
	rule    rule
	id      uint64

	out       *tensor.Dense
	outScalar G.Value // what Do returns where the output is a scalar
	in        []*tensor.Dense
	scalars   []*tensor.Dense // stand-ins for scalar inputs, nil for the others
}

var _ G.SDOp = (*op)(nil)

// ids tells ops apart. Two nodes of equal hash and equal children would be
// merged by gorgonia; ops own buffers and may draw random numbers, so they
// never are.
var ids atomic.Uint64

// apply plans a kernel and adds its node to the graph of its inputs.
func apply(b ops.Backend, s ops.Spec, inputs ...*G.Node) (*G.Node, error) {
	if b == nil {
		return nil, fmt.Errorf("%w: %s without a backend", ops.ErrSpec, s.Op())
	}
	for i, n := range inputs {
		if n == nil {
			return nil, fmt.Errorf("%w: input %d of %s is nil", ops.ErrOperand, i, s.Op())
		}
	}
	o, err := newOp(b, s)
	if err != nil {
		return nil, err
	}
	return G.ApplyOp(o, inputs...)
}

func newOp(b ops.Backend, s ops.Spec) (*op, error) {
	kernel, err := b.Plan(s)
	if err != nil {
		return nil, err
	}
	sig, err := s.Signature()
	if err != nil {
		return nil, err
	}
	o := &op{backend: b, spec: s, sig: sig, kernel: kernel, rule: ruleFor(s), id: ids.Add(1),
		in: make([]*tensor.Dense, len(sig.In)), scalars: make([]*tensor.Dense, len(sig.In))}
	for i, operand := range sig.In {
		if len(operand.Shape) == 0 {
			if o.scalars[i], err = operand.New(b); err != nil {
				return nil, err
			}
		}
	}
	if len(sig.Out.Shape) == 0 {
		if o.outScalar, err = newScalar(b.Dtype()); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// Operands returns the problem that a node's kernel solves and the tensors it
// last ran on, which are overwritten by the next run. ok is false for a node
// that is not of this package or has not run.
func Operands(n *G.Node) (s ops.Spec, in []*tensor.Dense, ok bool) {
	o, ok := n.Op().(*op)
	if !ok || o.in[0] == nil {
		return nil, nil, false
	}
	return o.spec, o.in, true
}

// Do runs the kernel.
func (o *op) Do(values ...G.Value) (G.Value, error) {
	if len(values) != len(o.in) {
		return nil, fmt.Errorf("%w: %s takes %d inputs, got %d", ops.ErrOperand, o, len(o.in), len(values))
	}
	for i, v := range values {
		if o.scalars[i] == nil {
			d, ok := v.(*tensor.Dense)
			if !ok {
				return nil, fmt.Errorf("%w: input %s of %s is a %T, want a dense tensor", ops.ErrOperand, o.sig.In[i].Name, o, v)
			}
			o.in[i] = d
			continue
		}
		o.in[i] = o.scalars[i]
		if err := storeScalar(o.backend, o.in[i], v); err != nil {
			return nil, fmt.Errorf("%s of %s: %w", o.sig.In[i].Name, o, err)
		}
	}
	if o.out == nil { // on the first run: an op that is fused into another has none
		var err error
		if o.out, err = o.sig.Out.New(o.backend); err != nil {
			return nil, err
		}
	}
	if err := o.kernel.Run(o.out, o.in); err != nil {
		return nil, err
	}
	if o.outScalar == nil {
		return o.out, nil
	}
	return o.outScalar, loadScalar(o.backend, o.outScalar, o.out)
}

// Arity returns the number of inputs.
func (o *op) Arity() int { return len(o.sig.In) }

// Type returns the type of the op as a function of its operands.
func (o *op) Type() hm.Type {
	types := make([]hm.Type, 0, len(o.sig.In)+1)
	for _, operand := range append(o.sig.In[:len(o.sig.In):len(o.sig.In)], o.sig.Out) {
		dt := o.backend.Dtype()
		if operand.Labels > 0 {
			dt = tensor.Int32
		}
		if len(operand.Shape) == 0 {
			types = append(types, dt)
		} else {
			types = append(types, G.TensorType{Dims: len(operand.Shape), Of: dt})
		}
	}
	return hm.NewFnType(types...)
}

// InferShape checks the shapes of the inputs and returns that of the output.
func (o *op) InferShape(inputs ...G.DimSizer) (tensor.Shape, error) {
	for i, in := range inputs {
		s, ok := in.(tensor.Shape)
		want := o.sig.In[i].Shape
		if !ok || !(s.Eq(want) || s.IsScalar() && want.IsScalar()) {
			return nil, fmt.Errorf("%w: %s of %s has shape %v, want %v", ops.ErrOperand, o.sig.In[i].Name, o, in, want)
		}
	}
	return o.sig.Out.Shape.Clone(), nil
}

// DiffWRT tells which inputs have a gradient.
func (o *op) DiffWRT(inputs int) []bool {
	if o.rule.wrt == nil {
		return make([]bool, inputs)
	}
	return o.rule.wrt
}

// SymDiff adds the nodes of the gradients.
func (o *op) SymDiff(inputs G.Nodes, output, grad *G.Node) (G.Nodes, error) {
	if o.rule.gradients == nil {
		return nil, fmt.Errorf("%w: the gradient of %s", ops.ErrNotImplemented, o)
	}
	return o.rule.gradients(o.backend, inputs, output, grad)
}

// ReturnsPtr is true: the output lives in the op's own buffer.
func (*op) ReturnsPtr() bool { return true }

// CallsExtern is false as far as gorgonia is concerned.
func (*op) CallsExtern() bool { return false }

// OverwritesInput is -1: inputs are left alone.
func (*op) OverwritesInput() int { return -1 }

// WriteHash writes what makes the op unique.
func (o *op) WriteHash(h hash.Hash) {
	fmt.Fprintf(h, "rigel/%s/", o.spec.Op())
	_ = binary.Write(h, binary.LittleEndian, o.id) // a hash does not fail
}

// Hashcode returns the hash of WriteHash.
func (o *op) Hashcode() uint32 {
	h := fnv.New32a()
	o.WriteHash(h)
	return h.Sum32()
}

// String names the op and tells it from others of its kind.
func (o *op) String() string { return fmt.Sprintf("%s#%d", o.spec.Op(), o.id) }
