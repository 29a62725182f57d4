package main

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rigel-ml/rigel/checkpoint"
	"github.com/rigel-ml/rigel/rigl"
	"github.com/rigel-ml/rigel/train"
)

// options are the flags, checked.
type options struct {
	method   rigl.Method
	dist     rigl.Distribution
	sparsity float64
	epochs   int
	batch    int
	lr       float64
	seed     uint64
	out      string
	resume   bool
	data     string
	json     bool

	flags *flag.FlagSet
}

// settings are the flags that make up a run, and so belong to a resumed one.
var settings = []string{"method", "sparsity", "dist", "epochs", "batch", "lr", "seed", "data"}

func parse(args []string) (options, error) {
	var o options
	fs := flag.NewFlagSet("mnist", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	method := fs.String("method", "rigl", "how masks are trained: rigl, set, static, or dense for no masks")
	fs.Float64Var(&o.sparsity, "sparsity", 0.9, "share of all weights left out, 0 or more and below 1")
	dist := fs.String("dist", "erk", "how layers share the connections: erk, uniform (first layer dense), random")
	fs.IntVar(&o.epochs, "epochs", 10, "passes over the training data")
	fs.IntVar(&o.batch, "batch", 64, "samples of a step")
	fs.Float64Var(&o.lr, "lr", 0.1, "learning rate at its highest")
	fs.Uint64Var(&o.seed, "seed", 1, "of weights, masks and the order of samples")
	fs.StringVar(&o.out, "out", "", "run directory; a new one under runs/ if not given")
	resume := fs.String("resume", "", "run directory to go on with; its settings are used")
	fs.StringVar(&o.data, "data", "", "folder with IDX files, such as Fashion-MNIST's; MNIST if not given")
	fs.BoolVar(&o.json, "json", false, "print one JSON object at the end")
	o.flags = fs
	if err := fs.Parse(args); err != nil {
		if err == flag.ErrHelp {
			fmt.Fprintln(os.Stderr, "mnist trains a sparse 784-300-100-10 network. Flags:")
			fs.SetOutput(os.Stderr)
			fs.PrintDefaults()
		}
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if *resume != "" {
		if o.out != "" {
			return o, fmt.Errorf("-out and -resume exclude each other: a resumed run stays in its directory")
		}
		o.out, o.resume = *resume, true
		o.recall()
	}
	if o.out == "" {
		o.out = "runs/mnist-" + time.Now().Format("20060102-150405")
	}
	return o, o.check(*method, *dist)
}

// recall takes the settings that were not given from the run to be resumed.
// What is wrong with its directory is told when it is opened in earnest.
func (o *options) recall() {
	given := map[string]bool{}
	o.flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	dir, err := checkpoint.OpenReadOnly(o.out, checkpoint.Options{})
	if err != nil {
		return
	}
	defer dir.Close()
	var info train.RunInfo
	if dir.RunInfo(&info) != nil {
		return
	}
	for _, name := range settings {
		if value, ok := info.Notes[name]; ok && !given[name] {
			_ = o.flags.Set(name, value)
		}
	}
}

// notes are the settings as the run directory keeps them.
func (o *options) notes() map[string]string {
	notes := map[string]string{"program": "mnist"}
	for _, name := range settings {
		notes[name] = o.flags.Lookup(name).Value.String()
	}
	return notes
}

func (o *options) check(method, dist string) error {
	var ok bool
	methods, dists := rigl.Methods(), rigl.Distributions()
	if o.dist, ok = dists[dist]; !ok {
		return fmt.Errorf("-dist %q, want %s", dist, oneOf(slices.Sorted(maps.Keys(dists))))
	}
	if method == "dense" {
		o.method, o.sparsity = rigl.Static(), 0
	} else if o.method, ok = methods[method]; !ok {
		return fmt.Errorf("-method %q, want %s", method, oneOf(append(slices.Sorted(maps.Keys(methods)), "dense")))
	}
	switch {
	case !(o.sparsity >= 0 && o.sparsity < 1):
		return fmt.Errorf("-sparsity %v, want 0 or more and below 1", o.sparsity)
	case o.epochs < 1:
		return fmt.Errorf("-epochs %d, want at least 1", o.epochs)
	case o.batch < 1 || o.batch > 1<<16:
		return fmt.Errorf("-batch %d, want 1 to %d", o.batch, 1<<16)
	case !(o.lr > 0) || math.IsInf(o.lr, 0):
		return fmt.Errorf("-lr %v, want a positive number", o.lr)
	}
	return nil
}

func oneOf(names []string) string { return "one of " + strings.Join(names, ", ") }
