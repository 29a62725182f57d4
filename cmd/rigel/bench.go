package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/rigel-ml/rigel/bench/problems"
	"github.com/rigel-ml/rigel/ops/cpu"
)

// benchOptions are the flags of rigel bench.
type benchOptions struct {
	op       string
	m, k, n  int
	sparsity float64
	layers   []int
	threads  int
	kernel   string
	reps     int
	json     bool
}

// measurement is what rigel bench reports.
type measurement struct {
	Op         string  `json:"op"`
	M          int     `json:"m"`
	K          int     `json:"k"`
	N          int     `json:"n"`
	Sparsity   float64 `json:"sparsity"`
	NNZ        int     `json:"nnz"`
	Threads    int     `json:"threads"`
	Kernel     string  `json:"kernel"`
	MS         float64 `json:"ms"`     // best
	GFLOPS     float64 `json:"gflops"` // best
	MedianMS   float64 `json:"median_ms"`
	MedianRate float64 `json:"median_gflops"`
}

func parseBench(args []string) (o benchOptions, err error) {
	fs := flag.NewFlagSet("rigel bench", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	names := strings.Join(problems.Names(), ", ")
	fs.StringVar(&o.op, "op", "spmm", "what to time: "+names)
	fs.IntVar(&o.m, "m", 1024, "rows of the weight: output features; of a step, the hidden width")
	fs.IntVar(&o.k, "k", 1024, "columns of the weight: input features")
	fs.IntVar(&o.n, "n", 256, "batch")
	fs.Float64Var(&o.sparsity, "sparsity", 0.9, "share of weights left out")
	fs.Func("layers", "of a step, the widths such as 784,300,100,10; k,m,m,10 if not given", func(s string) error {
		o.layers = nil
		for _, field := range strings.Split(s, ",") {
			n, err := strconv.Atoi(field)
			if err != nil {
				return err
			}
			o.layers = append(o.layers, n)
		}
		return nil
	})
	fs.IntVar(&o.threads, "threads", 1, "threads")
	fs.StringVar(&o.kernel, "kernel", "auto", "instruction set: auto, avx512, avx2, generic")
	fs.IntVar(&o.reps, "reps", 20, "runs to time")
	fs.BoolVar(&o.json, "json", false, "print one JSON object")
	if err := fs.Parse(args); err != nil {
		if err == flag.ErrHelp {
			fmt.Fprintln(os.Stderr, "rigel bench times a kernel, or a training step with Adam. Flags:")
			fs.SetOutput(os.Stderr)
			fs.PrintDefaults()
			return o, err
		}
		return o, usageError{err}
	}
	switch {
	case fs.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case !slices.Contains(problems.Names(), o.op):
		err = fmt.Errorf("-op %q, want one of %s", o.op, names)
	case o.m < 1 || o.k < 1 || o.n < 1 || o.reps < 1 || o.threads < 1:
		err = fmt.Errorf("-m, -k, -n, -reps and -threads want at least 1")
	case !(o.sparsity >= 0 && o.sparsity < 1):
		err = fmt.Errorf("-sparsity %v, want 0 or more and below 1", o.sparsity)
	}
	if err != nil {
		return o, usageError{err}
	}
	return o, nil
}

func bench(args []string, w io.Writer) error {
	o, err := parseBench(args)
	if err != nil {
		return err
	}
	set := o.kernel
	if set == "auto" {
		set = ""
	}
	backend, err := cpu.Open(cpu.Options{Threads: o.threads, ISA: set})
	if err != nil {
		return usageError{err}
	}
	defer backend.Close()
	p, err := problems.New(backend, o.op, problems.Options{M: o.m, K: o.k, N: o.n, Sparsity: o.sparsity, Layers: o.layers})
	if err != nil {
		return usageError{err}
	}
	best, median, err := p.Time(o.reps)
	if err != nil {
		return err
	}
	m := measurement{Op: o.op, M: o.m, K: o.k, N: o.n, Sparsity: o.sparsity, NNZ: p.NNZ, Threads: o.threads, Kernel: backend.ISA(),
		MS: 1e3 * best, GFLOPS: p.FLOPs / best / 1e9, MedianMS: 1e3 * median, MedianRate: p.FLOPs / median / 1e9}
	if o.json {
		return json.NewEncoder(w).Encode(m)
	}
	_, err = fmt.Fprintf(w, "%s %d×%d×%d, sparsity %.3g (%d weights), %d threads, %s: best %.4f ms, %.1f GFLOP/s; median %.4f ms, %.1f GFLOP/s\n",
		m.Op, m.M, m.K, m.N, m.Sparsity, m.NNZ, m.Threads, m.Kernel, m.MS, m.GFLOPS, m.MedianMS, m.MedianRate)
	return err
}
