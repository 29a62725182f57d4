// Command wide trains a network with one hidden weight of 100,000 × 100,000, of
// which a ten-thousandth is there: a million connections, where a dense weight
// with its gradient and Adam's moments would take 160 GB. RigL moves the
// connections as it trains, looking at all ten thousand million places.
//
//	go run ./examples/wide
//	go run ./examples/wide -sparsity 0.999     # ten million connections
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"

	"github.com/rigel-ml/rigel/datasets"
	"github.com/rigel-ml/rigel/internal/sysinfo"
	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/ops/cpu"
	"github.com/rigel-ml/rigel/optim"
	"github.com/rigel-ml/rigel/rigl"
	"github.com/rigel-ml/rigel/train"
	"github.com/rigel-ml/rigel/train/progress"
)

func main() {
	width := flag.Int("width", 100_000, "features of the hidden layer and of a sample")
	sparsity := flag.Float64("sparsity", 0.9999, "of the hidden weight")
	epochs := flag.Int("epochs", 4, "passes over the data")
	flag.Parse()
	if err := run(*width, *sparsity, *epochs); err != nil {
		fmt.Fprintln(os.Stderr, "wide:", err)
		os.Exit(1)
	}
}

func run(width int, sparsity float64, epochs int) error {
	const classes, batch = 4, 8
	trainSet, err := spots(width, classes, 160, 1)
	if err != nil {
		return err
	}
	testSet, err := spots(width, classes, 80, 2)
	if err != nil {
		return err
	}
	steps := epochs * trainSet.Len() / batch
	learner, err := train.New(cpu.New(), train.Config{
		Model: nn.SequentialConfig{
			nn.Named("hidden", nn.SparseLinearConfig{In: width, Out: width, Sparsity: sparsity}), nn.ReLUConfig{},
			nn.Named("out", nn.SparseLinearConfig{In: width, Out: classes, Sparsity: 0.9}),
		},
		Optimizer: optim.Config{Rule: optim.Adam{}},
		LR:        optim.Constant(1e-3),
		Masks:     rigl.Config{Method: rigl.RigL(), Schedule: rigl.Schedule{Every: 20, End: steps}},
		Epochs:    epochs,
		Batch:     batch,
		Train:     trainSet,
		Valid:     testSet,
		Observer:  progress.To(os.Stderr),
	})
	if err != nil {
		return err
	}
	result, err := learner.Fit(context.Background())
	if err != nil {
		return err
	}
	dense := 16 * float64(width) * float64(width) / 1e9
	fmt.Printf("%d of %.3g weights, test accuracy %.1f %%, %.1f steps a second, peak memory %.0f MB (weight, gradient and moments stored densely: %.0f GB)\n",
		result.Last.NNZ, float64(width)*float64(width), 100*result.Last.ValidAccuracy, result.StepsPerSecond,
		float64(sysinfo.PeakRSS())/1e6, dense)
	return nil
}

// spots makes noisy samples in which each class lights up a thousandth of the
// features.
func spots(features, classes, n int, seed uint64) (*datasets.Set, error) {
	places := rand.New(rand.NewPCG(7, 7))
	lit := make([][]int, classes)
	for c := range lit {
		for range max(features/1000, 1) {
			lit[c] = append(lit[c], places.IntN(features))
		}
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	x, labels := make([]uint8, n*features), make([]int32, n)
	for i := range labels {
		class := i % classes
		labels[i] = int32(class)
		sample := x[i*features : (i+1)*features]
		for range features / 20 {
			sample[rng.IntN(features)] = uint8(rng.IntN(128))
		}
		for _, f := range lit[class] {
			sample[f] = 255
		}
	}
	return datasets.FromBytes(datasets.SetConfig{Name: "spots", Shape: []int{features}, Classes: classes}, x, labels)
}
