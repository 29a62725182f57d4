package graph

import (
	"errors"

	"github.com/rigel-ml/rigel/ops"
)

// fuse puts one instruction in the place of a chain whose middle nobody else
// reads: a product with the bias and the ReLU that follow, a transposed product
// with the ReLU gradient that follows. A backend that lacks the fused kernel keeps
// the chain.
func (m *Machine) fuse(wanted map[int]bool) error {
	readers := make(map[int]int) // of each register
	writer := make(map[int]int)  // instruction of each register
	for i, in := range m.instrs {
		writer[in.to] = i
		for _, r := range in.from {
			readers[r]++
		}
	}
	gone := make(map[int]bool)
	for i := range m.instrs {
		last := &m.instrs[i]
		o, ok := last.op.(*op)
		if !ok {
			continue
		}
		// The operand that may come from a product, and those that are added to
		// the product's own.
		through, extra := 0, []int(nil)
		switch o.spec.(type) {
		case ops.BiasAdd:
			extra = last.from[1:]
		case ops.ReLU:
		case ops.ReLUGrad:
			through, extra = 1, last.from[:1]
		default:
			continue
		}
		from := last.from[through]
		product := m.instrs[writer[from]]
		p, ok := product.op.(*op)
		if !ok || p.backend != o.backend || readers[from] > 1 || wanted[from] {
			continue
		}
		spec := fused(p.spec, o.spec)
		if spec == nil {
			continue
		}
		f, err := newOp(o.backend, spec)
		if errors.Is(err, ops.ErrNotImplemented) {
			continue
		}
		if err != nil {
			return err
		}
		last.op = f
		last.from = append(product.from[:len(product.from):len(product.from)], extra...)
		gone[writer[from]] = true
	}
	kept := m.instrs[:0]
	for i, in := range m.instrs {
		if !gone[i] {
			kept = append(kept, in)
		}
	}
	m.instrs = kept
	return nil
}

// fused returns the operation that does a product and what follows it, or nil.
func fused(product, next ops.Spec) ops.Spec {
	switch next.(type) {
	case ops.BiasAdd:
		switch p := product.(type) {
		case ops.SpMM:
			return ops.SpMMAct{SparseProblem: ops.SparseProblem(p), Activation: ops.Activation{Bias: true}}
		case ops.Linear:
			return ops.LinearAct{DenseProblem: ops.DenseProblem(p), Activation: ops.Activation{Bias: true}}
		}
	case ops.ReLU:
		switch p := product.(type) {
		case ops.SpMM:
			return ops.SpMMAct{SparseProblem: ops.SparseProblem(p), Activation: ops.Activation{ReLU: true}}
		case ops.Linear:
			return ops.LinearAct{DenseProblem: ops.DenseProblem(p), Activation: ops.Activation{ReLU: true}}
		case ops.SpMMAct:
			if !p.ReLU {
				p.ReLU = true
				return p
			}
		case ops.LinearAct:
			if !p.ReLU {
				p.ReLU = true
				return p
			}
		}
	case ops.ReLUGrad:
		switch p := product.(type) {
		case ops.SpMMT:
			return ops.SpMMTGate(p)
		case ops.LinearT:
			return ops.LinearTGate(p)
		}
	}
	return nil
}
