// Package ops says what a kernel is, without running one: the problems that
// kernels solve ([Spec]), the operands they take, the device that plans and
// runs them ([Backend]), and the layout of activations ([Panels]).
//
// A computation takes three steps. A Spec states the problem: which pattern,
// how many features, which panels. [Backend.Plan] checks it, picks a kernel and
// sets up whatever the kernel needs to run again and again: scratch memory, a
// transposed index. [Kernel.Run] computes, and in steady state allocates
// nothing.
//
// A new operation is one Spec type here, one kernel in each backend that wants
// it, and one line in package graph if it is differentiable. Backends answer
// ErrNotImplemented for what they lack.
//
// Implementations live elsewhere: ops/ref holds readable float64 references,
// ops/cpu the kernels people run, ops/opstest the suite that holds every
// backend to the references, and ops/graph puts kernels into a gorgonia graph.
package ops
