// Command scaling shows that memory and the time of a step fall with the
// non-zeros: it trains a wide network for a few steps at several sparsities,
// each in a process of its own, so that the peak memory is its own too.
//
//	go run ./bench/scaling
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"time"

	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/internal/sysinfo"
	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/ops/cpu"
	"github.com/rigel-ml/rigel/optim"
)

const (
	in, hidden, out = 784, 4096, 10
	batch           = 128
)

// measurement is what a child process reports.
type measurement struct {
	Weights        int     `json:"weights"`
	WeightMB       float64 `json:"weight_mb"`
	OptimizerMB    float64 `json:"optimizer_mb"`
	PeakMB         float64 `json:"peak_mb"`
	StepMillis     float64 `json:"step_ms"`
	StepsPerSecond float64 `json:"steps_per_second"`
}

func main() {
	child := flag.Float64("child", -1, "measure this sparsity in this process and print JSON")
	steps := flag.Int("steps", 8, "steps to time; the median counts")
	flag.Parse()
	if *child >= 0 {
		m, err := measure(*child, *steps)
		if err == nil {
			err = json.NewEncoder(os.Stdout).Encode(m)
		}
		exit(err)
		return
	}
	fmt.Printf("%d-%d-%d-%d, Adam, batch %d, median of %d steps\n\n", in, hidden, hidden, out, batch, *steps)
	fmt.Println("| Sparsity | Weights | Weights and indices | Optimizer state | Peak memory | Step |")
	fmt.Println("|---|---|---|---|---|---|")
	for _, sparsity := range []float64{0, 0.5, 0.9, 0.99} {
		m, err := measureApart(sparsity, *steps)
		exit(err)
		fmt.Printf("| %.0f %% | %d | %.1f MB | %.1f MB | %.0f MB | %.1f ms |\n",
			100*sparsity, m.Weights, m.WeightMB, m.OptimizerMB, m.PeakMB, m.StepMillis)
	}
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "scaling:", err)
		os.Exit(1)
	}
}

func measureApart(sparsity float64, steps int) (m measurement, err error) {
	self, err := os.Executable()
	if err != nil {
		return m, err
	}
	cmd := exec.Command(self, "-child", fmt.Sprint(sparsity), "-steps", fmt.Sprint(steps))
	cmd.Stderr = os.Stderr
	reply, err := cmd.Output()
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(reply, &m)
}

// measure trains on random samples. At sparsity 0 the layers are dense ones.
func measure(sparsity float64, steps int) (m measurement, err error) {
	backend := cpu.New()
	layer := func(in, out int) nn.Config {
		if sparsity == 0 {
			return nn.LinearConfig{In: in, Out: out}
		}
		return nn.SparseLinearConfig{In: in, Out: out, Sparsity: sparsity}
	}
	model, err := nn.SequentialConfig{
		layer(in, hidden), nn.ReLUConfig{}, layer(hidden, hidden), nn.ReLUConfig{}, layer(hidden, out),
	}.Init(nn.NewInit(backend, 1))
	if err != nil {
		return m, err
	}
	p, err := nn.Compile(backend, nn.ProgramConfig{Model: model, Features: in, Batch: batch, Training: true})
	if err != nil {
		return m, err
	}
	o, err := optim.New(backend, optim.Config{Rule: optim.Adam{}}, p.Params())
	if err != nil {
		return m, err
	}
	rng := rand.New(rand.NewPCG(1, 1))
	x, labels := make([]float32, batch*in), make([]int32, batch)
	for i := range x {
		x[i] = rng.Float32()
	}
	for i := range labels {
		labels[i] = rng.Int32N(out)
	}
	if err := p.Load(x, labels); err != nil {
		return m, err
	}
	gradients := make([]*tensor.Dense, len(p.Params()))
	var times []float64
	for i := range steps + 2 { // the first two warm up
		start := time.Now()
		if err := p.Run(uint64(i)); err != nil {
			return m, err
		}
		for j := range gradients {
			if gradients[j], err = p.Gradient(j); err != nil {
				return m, err
			}
		}
		if err := o.Step(gradients, 1e-3); err != nil {
			return m, err
		}
		times = append(times, time.Since(start).Seconds())
	}
	times = times[2:]
	slices.Sort(times)
	median := times[len(times)/2]
	for _, p := range p.Params() {
		m.Weights += p.NNZ()
		m.WeightMB += float64(4*p.NNZ()) / 1e6
		if p.Pattern != nil {
			m.WeightMB += float64(4*(p.Pattern.NNZ()+p.Pattern.Rows()+1)) / 1e6
		}
	}
	m.OptimizerMB = float64(o.Bytes()) / 1e6
	m.PeakMB = float64(sysinfo.PeakRSS()) / 1e6
	m.StepMillis, m.StepsPerSecond = 1000*median, 1/median
	return m, nil
}
