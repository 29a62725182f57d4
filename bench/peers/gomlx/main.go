// Command gomlx times GoMLX on its pure-Go backend: a dense product, or a
// training step of a dense network with Adam. It is a module of its own, so
// that GoMLX's dependencies do not become Rigel's.
//
//	go run . -op step -layers 784,1024,1024,10 -n 256
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/backends/simplego"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/gomlx/gomlx/pkg/ml/layers"
	"github.com/gomlx/gomlx/pkg/ml/layers/activations"
	"github.com/gomlx/gomlx/pkg/ml/train"
	"github.com/gomlx/gomlx/pkg/ml/train/losses"
	"github.com/gomlx/gomlx/pkg/ml/train/optimizers"
)

// measurement has the names of rigel bench -json.
type measurement struct {
	MS       float64 `json:"ms"` // best
	MedianMS float64 `json:"median_ms"`
	Version  string  `json:"version"`
}

func main() {
	op := flag.String("op", "gemm", "what to time: gemm or step")
	m := flag.Int("m", 1024, "rows of the weight, for gemm")
	k := flag.Int("k", 1024, "columns of the weight, for gemm")
	n := flag.Int("n", 256, "batch")
	widths := flag.String("layers", "784,1024,1024,10", "widths, for step")
	reps := flag.Int("reps", 20, "runs to time")
	seconds := flag.Float64("seconds", 2, "stop after so long and three runs")
	flag.Parse()
	if err := measure(*op, *m, *k, *n, *widths, *reps, *seconds); err != nil {
		fmt.Fprintln(os.Stderr, "gomlx:", err)
		os.Exit(1)
	}
}

func measure(op string, m, k, n int, widthList string, reps int, seconds float64) error {
	backend, err := newBackend()
	if err != nil {
		return err
	}
	var run func() error
	switch op {
	case "gemm":
		run, err = product(backend, m, k, n)
	case "step":
		var widths []int
		for _, field := range strings.Split(widthList, ",") {
			width, err := strconv.Atoi(field)
			if err != nil {
				return err
			}
			widths = append(widths, width)
		}
		run = trainingStep(backend, widths, n)
	default:
		err = fmt.Errorf("-op %q, want gemm or step", op)
	}
	if err != nil {
		return err
	}
	best, median, err := timeRuns(run, reps, seconds)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(measurement{best, median, version("github.com/gomlx/gomlx")})
}

// newBackend has as many workers as GOMAXPROCS: none beside the caller for one
// thread. It says so on standard output, which belongs to the measurement.
func newBackend() (backends.Backend, error) {
	stdout := os.Stdout
	os.Stdout = os.Stderr
	defer func() { os.Stdout = stdout }()
	config := "parallelism=" + strconv.Itoa(runtime.GOMAXPROCS(0))
	if runtime.GOMAXPROCS(0) == 1 {
		config = "parallelism=0,ops_sequential"
	}
	return simplego.New(config)
}

// timeRuns returns the best and the median milliseconds of up to reps runs, after
// two that warm up. It stops early after so many seconds and two runs; where one
// run takes that long, one is enough to warm up.
func timeRuns(run func() error, reps int, seconds float64) (best, median float64, err error) {
	begin := time.Now()
	if err := run(); err != nil {
		return 0, 0, err
	}
	if time.Since(begin).Seconds() < seconds {
		if err := run(); err != nil {
			return 0, 0, err
		}
	}
	var times []float64
	for begin = time.Now(); len(times) < reps && (len(times) < 2 || time.Since(begin).Seconds() < seconds); {
		start := time.Now()
		if err := run(); err != nil {
			return 0, 0, err
		}
		times = append(times, 1e3*time.Since(start).Seconds())
	}
	slices.Sort(times)
	return times[0], times[len(times)/2], nil
}

func random(shape ...int) *tensors.Tensor {
	size := 1
	for _, n := range shape {
		size *= n
	}
	values := make([]float32, size)
	for i := range values {
		values[i] = rand.Float32() - 0.5
	}
	return tensors.FromFlatDataAndDimensions(values, shape...)
}

func product(backend backends.Backend, m, k, n int) (func() error, error) {
	exec, err := graph.NewExec(backend, func(w, x *graph.Node) *graph.Node { return graph.Dot(w, x) })
	if err != nil {
		return nil, err
	}
	w, x := random(m, k), random(k, n)
	return func() error {
		y, err := exec.Exec1(w, x)
		if err != nil {
			return err
		}
		return y.FinalizeAll()
	}, nil
}

// trainingStep returns what a step does: forward, cross entropy, backward, Adam.
// It is slow for a reason: GoMLX differentiates a product by a broadcast one and
// a sum, which XLA fuses and this backend does not.
func trainingStep(backend backends.Backend, widths []int, batch int) func() error {
	model := func(ctx *context.Context, _ any, inputs []*graph.Node) []*graph.Node {
		h := inputs[0]
		for i, out := range widths[1:] {
			if i > 0 {
				h = activations.Relu(h)
			}
			h = layers.DenseWithBias(ctx.In(fmt.Sprint("layer", i)), h, out)
		}
		return []*graph.Node{h}
	}
	trainer := train.NewTrainer(backend, context.New(), model, losses.SparseCategoricalCrossEntropyLogits,
		optimizers.Adam().LearningRate(1e-3).Done(), nil, nil)
	classes := make([]int32, batch)
	for i := range classes {
		classes[i] = rand.Int32N(int32(widths[len(widths)-1]))
	}
	x := []*tensors.Tensor{random(batch, widths[0])}
	labels := []*tensors.Tensor{tensors.FromFlatDataAndDimensions(classes, batch, 1)}
	return func() error {
		metrics, err := trainer.TrainStep(nil, x, labels)
		if err != nil {
			return err
		}
		for _, m := range metrics {
			if err := m.FinalizeAll(); err != nil {
				return err
			}
		}
		return nil
	}
}

// version returns that of a module inside this program.
func version(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, m := range info.Deps {
		if m.Path == module {
			return m.Version
		}
	}
	return "unknown"
}
