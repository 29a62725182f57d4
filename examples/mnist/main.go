// Command mnist trains a sparse 784-300-100-10 network on handwritten digits.
//
//	go run ./examples/mnist                                    # RigL at 90 %, ten epochs
//	go run ./examples/mnist -sparsity 0.98 -epochs 30          # fewer weights, longer
//	go run ./examples/mnist -method set -dist uniform -json    # another method, figures for a script
//	go run ./examples/mnist -resume runs/mnist-20260102-150405 # go on where a run stopped
//
// The run directory gets the settings, every metric, checkpoints and a picture.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/rigel-ml/rigel/datasets"
	"github.com/rigel-ml/rigel/datasets/mnist"
	"github.com/rigel-ml/rigel/internal/sysinfo"
	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/ops/cpu"
	"github.com/rigel-ml/rigel/optim"
	"github.com/rigel-ml/rigel/rigl"
	"github.com/rigel-ml/rigel/train"
	"github.com/rigel-ml/rigel/train/plot"
	"github.com/rigel-ml/rigel/train/progress"
)

func main() {
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mnist:", err, "(-h lists the flags)")
		os.Exit(2)
	}
	// The first interrupt finishes the step and saves; the second one kills.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "mnist:", err)
		if errors.Is(err, train.ErrInterrupted) {
			fmt.Fprintln(os.Stderr, "mnist: go on with -resume", o.out)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	trainSet, testSet, err := load(o.data)
	if err != nil {
		return err
	}
	model, err := network(o, trainSet)
	if err != nil {
		return err
	}
	steps := o.epochs * ((trainSet.Len() + o.batch - 1) / o.batch)
	backend := cpu.New()
	learner, err := train.New(backend, train.Config{
		Model:     model,
		Optimizer: optim.Config{Rule: optim.SGD{Momentum: 0.9, Nesterov: true, WeightDecay: 5e-4}},
		LR:        optim.Warmup{Steps: 100, Then: optim.Cosine{Base: o.lr, Steps: steps}},
		Masks:     rigl.Config{Method: o.method, Schedule: rigl.Schedule{Every: 100, End: steps * 3 / 4}},
		Epochs:    o.epochs,
		Batch:     o.batch,
		Seed:      o.seed,
		Train:     trainSet,
		Valid:     testSet, // watched; what is reported is the last epoch, not the best
		Dir:       o.out,
		Resume:    o.resume,
		SaveEvery: 250,
		Notes:     o.notes(),
		Observer:  progress.To(os.Stderr),
	})
	if err != nil {
		return err
	}
	defer learner.Close()
	result, err := learner.Fit(ctx)
	if err != nil {
		return err
	}
	picture := filepath.Join(o.out, "run.png")
	if err := plot.Run(o.out, picture); err != nil {
		return err
	}
	hash, err := nn.Hash(backend, learner.Model().Params())
	if err != nil {
		return err
	}
	s := summary(result, learner.Model().Params(), hash)
	if o.json {
		return json.NewEncoder(os.Stdout).Encode(s)
	}
	fmt.Printf("test accuracy %.2f %% with %d of %d weights (%.1f %% sparse) in %.0f s\n",
		100*s.TestAccuracy, s.NNZ, s.weights, 100*s.Sparsity, s.Seconds)
	fmt.Printf("checkpoint %s\npicture    %s\n", s.Checkpoint, picture)
	return nil
}

// load returns MNIST, or another set of images from IDX files in a folder.
func load(dir string) (trainSet, testSet *datasets.Set, err error) {
	if dir == "" {
		return mnist.Load()
	}
	trainSet, testSet, err = datasets.OpenIDXDir(dir)
	if err != nil {
		return nil, nil, err
	}
	norm := trainSet.ComputeNorm()
	if trainSet, err = trainSet.WithNorm(norm); err != nil {
		return nil, nil, err
	}
	testSet, err = testSet.WithNorm(norm)
	return trainSet, testSet, err
}

// network describes in-300-100-classes with its connections shared out.
func network(o options, s *datasets.Set) (nn.Config, error) {
	widths := []int{s.Features(), 300, 100, s.Classes()}
	var shapes []rigl.Shape
	for i := range len(widths) - 1 {
		shapes = append(shapes, rigl.Shape{Name: fmt.Sprintf("fc%d", i+1), In: widths[i], Out: widths[i+1]})
	}
	nnz, err := o.dist.NNZ(shapes, o.sparsity, nn.NewInit(nil, o.seed).Rand("distribution"))
	if err != nil {
		return nil, err
	}
	var layers nn.SequentialConfig
	for i, l := range shapes {
		if i > 0 {
			layers = append(layers, nn.ReLUConfig{})
		}
		var layer nn.Config = nn.SparseLinearConfig{In: l.In, Out: l.Out, NNZ: nnz[i]}
		if nnz[i] == l.In*l.Out {
			layer = nn.LinearConfig{In: l.In, Out: l.Out}
		}
		layers = append(layers, nn.Named(l.Name, layer))
	}
	return layers, nil
}

// figures are what -json prints.
type figures struct {
	TestAccuracy   float64           `json:"test_accuracy"`
	TrainLoss      float64           `json:"train_loss"`
	NNZ            int               `json:"nnz"`
	Sparsity       float64           `json:"sparsity"`
	Layers         []train.LayerInfo `json:"layers"`
	Epochs         int               `json:"epochs"`
	Steps          int               `json:"steps"`
	StepsPerSecond float64           `json:"steps_per_second"`
	Seconds        float64           `json:"seconds"`
	PeakRSSMB      float64           `json:"peak_rss_mb"`
	WeightsSHA256  string            `json:"weights_sha256"`
	Checkpoint     string            `json:"checkpoint"`
	weights        int64
}

func summary(r train.Result, params []*nn.Param, hash string) figures {
	f := figures{
		TestAccuracy: r.Last.ValidAccuracy, TrainLoss: r.Last.TrainLoss, Sparsity: nn.Sparsity(params),
		Epochs: r.Epochs, Steps: r.Steps, StepsPerSecond: r.StepsPerSecond, Seconds: r.Seconds,
		PeakRSSMB: float64(sysinfo.PeakRSS()) / 1e6, WeightsSHA256: hash, Checkpoint: r.Checkpoint,
	}
	for _, p := range params {
		if p.IsWeight() {
			f.NNZ += p.NNZ()
			f.weights += p.Size()
			f.Layers = append(f.Layers, train.LayerInfo{Name: p.Name, Shape: p.Shape, NNZ: p.NNZ()})
		}
	}
	return f
}
