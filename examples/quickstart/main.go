// Command quickstart is the program of the README.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/rigel-ml/rigel/datasets/mnist"
	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/ops/cpu"
	"github.com/rigel-ml/rigel/optim"
	"github.com/rigel-ml/rigel/rigl"
	"github.com/rigel-ml/rigel/train"
)

func main() {
	trainSet, testSet, err := mnist.Load()
	if err != nil {
		log.Fatal(err)
	}
	learner, err := train.New(cpu.New(), train.Config{
		Model: nn.SequentialConfig{
			nn.SparseLinearConfig{In: 784, Out: 300, Sparsity: 0.95}, nn.ReLUConfig{},
			nn.SparseLinearConfig{In: 300, Out: 100, Sparsity: 0.8}, nn.ReLUConfig{},
			nn.LinearConfig{In: 100, Out: 10},
		},
		Optimizer: optim.Config{Rule: optim.AdamW{}},
		LR:        optim.Cosine{Base: 2e-3, Steps: 3 * 938},
		Masks:     rigl.Config{Method: rigl.RigL(), Schedule: rigl.Schedule{End: 2000}},
		Epochs:    3, Batch: 64, Train: trainSet, Valid: testSet,
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := learner.Fit(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("test accuracy %.2f %% with %d weights\n", 100*result.Last.ValidAccuracy, result.Last.NNZ)
}
