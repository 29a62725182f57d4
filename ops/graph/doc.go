// Package graph puts the kernels of package ops into a gorgonia computation
// graph: each function adds a node whose Op runs a planned kernel, and whose
// SymDiff adds the nodes of its gradient, so that gorgonia.Grad works as it
// does on gorgonia's own operations, and both mix in one graph.
//
// An Op owns its output: it is allocated once and overwritten by every run.
// Read it, or copy it, before the machine runs again.
//
// The graph runs on gorgonia's tape machine, or on [Machine], which runs only
// what the wanted nodes need and allocates nothing between steps.
package graph
