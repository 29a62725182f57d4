// Package optim trains parameters: a [Rule] says how a weight follows its
// gradient, a [Schedule] how large the steps are, and an [Optimizer] applies
// them to all parameters of a model.
//
// State is one array for each parameter and name ("velocity", "moment1"), of the
// length of the parameter's stored values: nnz for a sparse one. Whatever moves
// or saves state does so by name, without knowing the rule.
package optim
