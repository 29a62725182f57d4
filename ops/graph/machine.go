package graph

import (
	"errors"
	"fmt"

	G "gorgonia.org/gorgonia"
)

// Machine runs the part of a graph that some nodes need, one instruction after
// the other on the calling goroutine. It does what gorgonia's tape machine does
// for such a graph, and
//
//   - allocates nothing between steps, where the tape machine makes a
//     goroutine, channels and an input slice for every instruction,
//   - leaves out what nobody asked for, such as the gradient with respect to a
//     model's input, which gorgonia.Grad adds to the graph all the same,
//   - runs fused kernels in the place of chains, see fuse.
//
// It implements gorgonia.VM. Values of inputs are read from their nodes at each
// run; results are bound to theirs, so Node.Value works as usual.
type Machine struct {
	instrs []instr
	values []G.Value // registers, one for each node that is read or computed
}

type instr struct {
	node *G.Node
	op   G.Op  // nil for an input
	from []int // registers
	args []G.Value
	to   int
}

var _ G.VM = (*Machine)(nil)

// NewMachine compiles what the wanted nodes need.
func NewMachine(wanted ...*G.Node) (*Machine, error) {
	if len(wanted) == 0 {
		return nil, errors.New("machine: no nodes are wanted")
	}
	m := &Machine{}
	register := make(map[*G.Node]int)
	kept := make(map[int]bool)
	for _, n := range wanted {
		if n == nil {
			return nil, errors.New("machine: a wanted node is nil")
		}
		kept[m.compile(n, register)] = true
	}
	if err := m.fuse(kept); err != nil {
		return nil, err
	}
	for i := range m.instrs {
		m.instrs[i].args = make([]G.Value, len(m.instrs[i].from))
	}
	m.values = make([]G.Value, len(register))
	return m, nil
}

// compile gives n a register after its children have theirs.
func (m *Machine) compile(n *G.Node, register map[*G.Node]int) int {
	if r, ok := register[n]; ok {
		return r
	}
	in := instr{node: n, op: n.Op()}
	children := n.Graph().From(n.ID()) // ordered, with repetitions
	for children != nil && children.Next() {
		in.from = append(in.from, m.compile(children.Node().(*G.Node), register))
	}
	in.to = len(register)
	register[n] = in.to
	if len(in.from) == 0 {
		in.op = nil // an input or a constant: its value is read from the node
	}
	m.instrs = append(m.instrs, in)
	return in.to
}

// RunAll runs every instruction once.
func (m *Machine) RunAll() error {
	for i := range m.instrs {
		in := &m.instrs[i]
		if in.op == nil {
			v := in.node.Value()
			if v == nil {
				return fmt.Errorf("machine: input %q has no value", in.node.Name())
			}
			m.values[in.to] = v
			continue
		}
		for j, r := range in.from {
			in.args[j] = m.values[r]
		}
		v, err := in.op.Do(in.args...)
		if err != nil {
			return fmt.Errorf("%v: %w", in.op, err)
		}
		m.values[in.to] = v
		// Ops keep their output buffer, so this binds on the first run alone,
		// unless another machine, whose fused ops are others, ran in between.
		if in.node.Value() != v {
			if err := G.UnsafeLet(in.node, v); err != nil {
				return fmt.Errorf("%v: %w", in.op, err)
			}
		}
	}
	return nil
}

// Len returns the number of instructions, loads of inputs included.
func (m *Machine) Len() int { return len(m.instrs) }

// Reset does nothing: a run starts from the inputs.
func (m *Machine) Reset() {}

// Close does nothing: the machine holds no resources.
func (m *Machine) Close() error { return nil }
