// Package nn builds models: a Config describes a layer, its Init draws the
// parameters and returns a Module, and the Module's Forward adds nodes to a
// computation graph.
//
//	model, err := nn.SequentialConfig{
//		nn.SparseLinearConfig{In: 784, Out: 300, Sparsity: 0.9},
//		nn.ReLUConfig{},
//		nn.LinearConfig{In: 300, Out: 10},
//	}.Init(nn.NewInit(backend, seed))
//
// A [Program] compiles a model for one batch size, with its gradients for
// training or without them for evaluation. Programs of one model share its
// parameters.
//
// Activations inside a model are panel tensors (see ops.Panels); a Program
// takes and gives batch-major data at its border, and no layer needs to know.
package nn
