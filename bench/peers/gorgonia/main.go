// Command gorgonia times plain gorgonia, whose products are gonum's: a dense
// product, or a training step of a dense network with Adam.
//
//	go run ./bench/peers/gorgonia -op step -layers 784,1024,1024,10 -n 256
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
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
	layers := flag.String("layers", "784,1024,1024,10", "widths, for step")
	reps := flag.Int("reps", 20, "runs to time")
	seconds := flag.Float64("seconds", 2, "stop after so long and three runs")
	flag.Parse()
	if err := measure(*op, *m, *k, *n, *layers, *reps, *seconds); err != nil {
		fmt.Fprintln(os.Stderr, "gorgonia:", err)
		os.Exit(1)
	}
}

func measure(op string, m, k, n int, layers string, reps int, seconds float64) error {
	var run func() error
	switch op {
	case "gemm":
		run = product(m, k, n)
	case "step":
		var widths []int
		for _, field := range strings.Split(layers, ",") {
			width, err := strconv.Atoi(field)
			if err != nil {
				return err
			}
			widths = append(widths, width)
		}
		var err error
		if run, err = trainingStep(widths, n); err != nil {
			return err
		}
	default:
		return fmt.Errorf("-op %q, want gemm or step", op)
	}
	best, median, err := timeRuns(run, reps, seconds)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(measurement{best, median, version("gorgonia.org/gorgonia")})
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

func random(shape ...int) *tensor.Dense {
	t := tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(shape...))
	values := t.Float32s()
	for i := range values {
		values[i] = rand.Float32() - 0.5
	}
	return t
}

func product(m, k, n int) func() error {
	w, x, y := random(m, k), random(k, n), random(m, n)
	return func() error {
		_, err := tensor.MatMul(w, x, tensor.WithReuse(y))
		return err
	}
}

// trainingStep returns what a step does: forward, cross entropy, backward, Adam.
func trainingStep(widths []int, batch int) (func() error, error) {
	g := G.NewGraph()
	classes := widths[len(widths)-1]
	oneHot := tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(batch, classes))
	for i := range batch {
		oneHot.Float32s()[i*classes+rand.IntN(classes)] = 1
	}
	h := G.NodeFromAny(g, random(batch, widths[0]), G.WithName("x"))
	labels := G.NodeFromAny(g, oneHot, G.WithName("labels"))
	var params G.Nodes
	for i, out := range widths[1:] {
		w := G.NewMatrix(g, G.Float32, G.WithShape(widths[i], out), G.WithName(fmt.Sprint("w", i)), G.WithInit(G.GlorotN(1)))
		b := G.NewMatrix(g, G.Float32, G.WithShape(1, out), G.WithName(fmt.Sprint("b", i)), G.WithInit(G.Zeroes()))
		params = append(params, w, b)
		wx, err := G.Mul(h, w)
		if err != nil {
			return nil, err
		}
		if h, err = G.BroadcastAdd(wx, b, nil, []byte{0}); err != nil {
			return nil, err
		}
		if i == len(widths)-2 {
			break
		}
		if h, err = G.Rectify(h); err != nil {
			return nil, err
		}
	}
	loss, err := crossEntropy(h, labels, batch)
	if err != nil {
		return nil, err
	}
	if _, err := G.Grad(loss, params...); err != nil {
		return nil, err
	}
	machine := G.NewTapeMachine(g, G.BindDualValues(params...))
	adam := G.NewAdamSolver(G.WithLearnRate(1e-3))
	model := G.NodesToValueGrads(params)
	return func() error {
		if err := machine.RunAll(); err != nil {
			return err
		}
		if err := adam.Step(model); err != nil {
			return err
		}
		machine.Reset()
		return nil
	}, nil
}

// crossEntropy is -Σ labels · log softmax(logits) / batch.
func crossEntropy(logits, labels *G.Node, batch int) (*G.Node, error) {
	logs, err := G.LogSoftMax(logits, 1)
	if err != nil {
		return nil, err
	}
	picked, err := G.HadamardProd(logs, labels)
	if err != nil {
		return nil, err
	}
	sum, err := G.Sum(picked)
	if err != nil {
		return nil, err
	}
	return G.Mul(sum, G.NewConstant(float32(-1)/float32(batch)))
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
