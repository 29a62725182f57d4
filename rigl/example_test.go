package rigl_test

import (
	"fmt"
	"log"

	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/ops/cpu"
	"github.com/rigel-ml/rigel/optim"
	"github.com/rigel-ml/rigel/rigl"
)

// A method is what to drop and what to grow. This one takes its growth from SET
// and drops the largest weights, to see whether a network misses them.
func ExampleMethod() {
	method := rigl.Method{
		Name: "contrary",
		Drop: func(w []float32, k int) []int32 {
			inverse := make([]float32, len(w))
			for i, v := range w {
				inverse[i] = 1 / v
			}
			return rigl.SmallestMagnitude(inverse, k)
		},
		Grow: rigl.AtRandom,
	}

	backend := cpu.New()
	model, err := nn.SparseLinearConfig{In: 100, Out: 10, Sparsity: 0.9}.Init(nn.NewInit(backend, 1).Scope("fc"))
	check(err)
	program, err := nn.Compile(backend, nn.ProgramConfig{Model: model, Features: 100, Batch: 1, Training: true})
	check(err)
	optimizer, err := optim.New(backend, optim.Config{Rule: optim.Adam{}}, program.Params())
	check(err)
	updater, err := rigl.NewUpdater(backend, rigl.Config{
		Method:   method,
		Schedule: rigl.Schedule{Every: 100, End: 300},
	}, program, optimizer)
	check(err)

	for step := range 300 {
		// A training loop loads and runs a batch here, and takes an optimizer step
		// where no update is due.
		if !updater.Due(step) {
			continue
		}
		reports, err := updater.Update(step)
		check(err)
		for _, r := range reports {
			fmt.Printf("step %d: %s has %d connections, %v of them new\n", step, r.Name, r.NNZ, r.Dropped > 0)
		}
	}
	// Output:
	// step 100: fc.weight has 100 connections, true of them new
	// step 200: fc.weight has 100 connections, true of them new
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
