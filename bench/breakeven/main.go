// Command breakeven finds the sparsity from which on a sparse layer is faster
// than a dense one, both in Rigel's own kernels: it times the forward product
// and a whole training step at many sparsities, interleaved with the dense ones,
// and writes a table and a plot.
//
//	go run ./bench/breakeven                       # 1024 × 1024, batch 256, one thread
//	go run ./bench/breakeven -png docs/img/breakeven.png
package main

import (
	"flag"
	"fmt"
	"image/color"
	"os"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/rigel-ml/rigel/bench/problems"
	"github.com/rigel-ml/rigel/ops/cpu"
)

var sparsities = []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99}

// speedup is dense over sparse time, best of all rounds.
type speedup struct{ forward, step float64 }

func main() {
	size := flag.Int("size", 1024, "rows and columns of the weight; of a step, the hidden width")
	batch := flag.Int("batch", 256, "samples")
	threads := flag.Int("threads", 1, "threads")
	rounds := flag.Int("rounds", 5, "rounds of all measurements; the best counts")
	kernel := flag.String("kernel", "", "instruction set: avx512, avx2, generic; the best if not given")
	png := flag.String("png", "", "where to write the plot")
	flag.Parse()
	if err := run(*size, *batch, *threads, *rounds, *kernel, *png); err != nil {
		fmt.Fprintln(os.Stderr, "breakeven:", err)
		os.Exit(1)
	}
}

func run(size, batch, threads, rounds int, kernel, png string) error {
	b, err := cpu.Open(cpu.Options{Threads: threads, ISA: kernel})
	if err != nil {
		return err
	}
	defer b.Close()
	forward, err := curve(b, "gemm", "spmm", problems.Options{M: size, K: size, N: batch}, rounds)
	if err != nil {
		return err
	}
	// At sparsity 0 a step has dense layers.
	step, err := curve(b, "step", "step", problems.Options{M: size, K: size, N: batch}, rounds)
	if err != nil {
		return err
	}
	fmt.Printf("%d × %d, batch %d, %d threads, %s: how many times faster than dense\n\n", size, size, batch, threads, b.ISA())
	fmt.Println("| Sparsity | Forward | Step with Adam |")
	fmt.Println("|---|---|---|")
	speedups := make([]speedup, len(sparsities))
	for i, s := range sparsities {
		speedups[i] = speedup{forward[i], step[i]}
		fmt.Printf("| %.0f %% | %.2f | %.2f |\n", 100*s, forward[i], step[i])
	}
	if png == "" {
		return nil
	}
	return draw(speedups, fmt.Sprintf("%d × %d, batch %d, %s", size, size, batch, b.ISA()), png)
}

// curve returns the time of the dense problem over that of the sparse one at each
// sparsity.
func curve(b *cpu.Backend, dense, sparse string, o problems.Options, rounds int) ([]float64, error) {
	d, err := problems.New(b, dense, o)
	if err != nil {
		return nil, err
	}
	all := []problems.Problem{d}
	for _, s := range sparsities {
		o.Sparsity = s
		p, err := problems.New(b, sparse, o)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	best := make([]float64, len(all))
	for range rounds {
		for i, p := range all {
			t, _, err := p.Time(10)
			if err != nil {
				return nil, err
			}
			if best[i] == 0 || t < best[i] {
				best[i] = t
			}
		}
	}
	ratio := make([]float64, len(sparsities))
	for i := range ratio {
		ratio[i] = best[0] / best[i+1]
	}
	return ratio, nil
}

func draw(speedups []speedup, title, png string) error {
	p := plot.New()
	p.Title.Text = title
	p.X.Label.Text, p.Y.Label.Text = "sparsity (%)", "times faster than dense"
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: 2}
	p.Legend.Top, p.Legend.Left = true, true
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{Y: 0xe4}, color.Gray{Y: 0xe4}
	p.Add(grid)
	for _, line := range []struct {
		name  string
		color color.Color
		of    func(speedup) float64
	}{
		{"forward", color.RGBA{R: 0x1f, G: 0x77, B: 0xb4, A: 0xff}, func(s speedup) float64 { return s.forward }},
		{"whole step", color.RGBA{R: 0xe6, G: 0x6a, A: 0xff}, func(s speedup) float64 { return s.step }},
		{"dense", color.Gray{Y: 0x80}, func(speedup) float64 { return 1 }},
	} {
		var xys plotter.XYs
		for i, s := range speedups {
			xys = append(xys, plotter.XY{X: 100 * sparsities[i], Y: line.of(s)})
		}
		l, err := plotter.NewLine(xys)
		if err != nil {
			return err
		}
		l.Color, l.Width = line.color, vg.Points(1.6)
		p.Add(l)
		p.Legend.Add(line.name, l)
	}
	return p.Save(16*vg.Centimeter, 10*vg.Centimeter, png)
}
