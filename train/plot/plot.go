// Package plot draws a run: what metrics.jsonl tells, as a picture. It imports
// gonum/plot, so it is apart from package train, which need not.
package plot

import (
	"encoding/json"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/rigel-ml/rigel/checkpoint"
	"github.com/rigel-ml/rigel/train"
)

var (
	blue   = color.RGBA{R: 0x1f, G: 0x77, B: 0xb4, A: 0xff}
	orange = color.RGBA{R: 0xe6, G: 0x6a, B: 0x00, A: 0xff}
	faint  = color.RGBA{R: 0xb4, G: 0xcf, B: 0xe4, A: 0xff}
	grid   = color.Gray{Y: 0xe4}
)

// Run reads the metrics of a run directory and writes a PNG of loss, accuracy,
// mask churn and sparsity over the steps.
func Run(dir, png string) error {
	m, err := read(dir)
	if err != nil {
		return err
	}
	if len(m.epochs) == 0 {
		return fmt.Errorf("plot: %s has no finished epoch to draw", dir)
	}
	panels := [][]*plot.Plot{{m.lossPanel(), m.accuracyPanel()}, {m.churnPanel(), m.sparsityPanel()}}
	const width, height = 26 * vg.Centimeter, 16 * vg.Centimeter
	img := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(110), vgimg.UseBackgroundColor(color.White))
	tiles := draw.Tiles{Rows: 2, Cols: 2, PadX: vg.Centimeter, PadY: vg.Centimeter / 2,
		PadTop: vg.Centimeter / 3, PadBottom: vg.Centimeter / 3, PadLeft: vg.Centimeter / 3, PadRight: vg.Centimeter / 2}
	canvases := plot.Align(panels, tiles, draw.New(img))
	for i, row := range panels {
		for j, p := range row {
			p.Draw(canvases[i][j])
		}
	}
	return write(png, img)
}

func write(path string, img *vgimg.Canvas) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".png-*")
	if err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = vgimg.PngCanvas{Canvas: img}.WriteTo(f)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Chmod(f.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("plot: writing %s: %w", path, err)
	}
	return nil
}

// metrics are the lines of metrics.jsonl by kind, each step once.
type metrics struct {
	steps   []train.Step
	updates []train.Update
	epochs  []train.Epoch
}

func read(dir string) (metrics, error) {
	var m metrics
	d, err := checkpoint.OpenReadOnly(dir, checkpoint.Options{})
	if err != nil {
		return m, err
	}
	defer d.Close()
	lines, err := d.Metrics()
	if err != nil {
		return m, err
	}
	for i, line := range lines {
		var kind struct{ Event string }
		if err = json.Unmarshal(line, &kind); err == nil {
			switch kind.Event {
			case "step":
				m.steps, err = add(m.steps, line)
			case "update":
				m.updates, err = add(m.updates, line)
			case "epoch":
				m.epochs, err = add(m.epochs, line)
			}
		}
		if err != nil {
			return m, fmt.Errorf("plot: %s: line %d of the metrics: %w", dir, i+1, err)
		}
	}
	return m, nil
}

func add[T any](all []T, line []byte) ([]T, error) {
	var v T
	err := json.Unmarshal(line, &v)
	return append(all, v), err
}

func (m metrics) lossPanel() *plot.Plot {
	p := panel("loss")
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: 2}
	line(p, "batch", faint, points(m.steps, func(s train.Step) (int, float64) { return s.Step, positive(s.Loss) }))
	line(p, "train", blue, points(m.epochs, func(e train.Epoch) (int, float64) { return e.Step, positive(e.TrainLoss) }))
	line(p, "test", orange, points(m.epochs, func(e train.Epoch) (int, float64) { return e.Step, positive(e.ValidLoss) }))
	if !(p.Y.Min < p.Y.Max) { // one value or none: gonum would widen the range below 0, which has no logarithm
		middle := 1.0
		if p.Y.Min == p.Y.Max {
			middle = p.Y.Min
		}
		p.Y.Min, p.Y.Max = middle/10, middle*10
	}
	return p
}

func (m metrics) accuracyPanel() *plot.Plot {
	last := m.epochs[len(m.epochs)-1]
	end := last.ValidAccuracy
	if last.ValidLoss == 0 { // nothing to validate on
		end = last.TrainAccuracy
	}
	p := panel(fmt.Sprintf("accuracy (%%), at the end %.2f", 100*end))
	p.Legend.Top = false
	line(p, "train", blue, points(m.epochs, func(e train.Epoch) (int, float64) { return e.Step, 100 * e.TrainAccuracy }))
	line(p, "test", orange, points(m.epochs, func(e train.Epoch) (int, float64) { return e.Step, 100 * positive(e.ValidAccuracy) }))
	return p
}

func (m metrics) churnPanel() *plot.Plot {
	p := panel("connections replaced in a mask update (%)")
	line(p, "drop fraction", faint, points(m.updates, func(u train.Update) (int, float64) { return u.Step, 100 * u.Fraction }))
	line(p, "replaced", blue, points(m.updates, func(u train.Update) (int, float64) { return u.Step, 100 * u.Churn }))
	p.Y.Min = 0
	return p
}

func (m metrics) sparsityPanel() *plot.Plot {
	last := m.epochs[len(m.epochs)-1]
	p := panel(fmt.Sprintf("sparsity (%%): %d weights stored", last.NNZ))
	p.Legend.Top, p.Legend.YOffs = false, vg.Centimeter/2
	for i, layer := range last.Layers {
		line(p, layer.Name, plotutil.SoftColors[i%len(plotutil.SoftColors)], points(m.epochs, func(e train.Epoch) (int, float64) {
			if i >= len(e.Layers) {
				return e.Step, math.NaN()
			}
			return e.Step, 100 * e.Layers[i].Sparsity
		}))
	}
	line(p, "all", blue, points(m.epochs, func(e train.Epoch) (int, float64) { return e.Step, 100 * e.Sparsity }))
	p.Y.Min, p.Y.Max = 0, 100
	return p
}

// positive returns y, or NaN, which is not drawn, where y is not positive: a
// logarithm cannot show it, or there was nothing to validate on.
func positive(y float64) float64 {
	if y > 0 {
		return y
	}
	return math.NaN()
}

// points makes a line of the step and the value that f reads off each item.
func points[T any](items []T, f func(T) (step int, y float64)) plotter.XYs {
	var xys plotter.XYs
	for _, item := range items {
		if x, y := f(item); !math.IsNaN(y) && !math.IsInf(y, 0) {
			xys = append(xys, plotter.XY{X: float64(x), Y: y})
		}
	}
	return xys
}

func panel(title string) *plot.Plot {
	p := plot.New()
	p.Title.Text = title
	p.X.Label.Text = "step"
	p.Legend.Top = true
	g := plotter.NewGrid()
	g.Horizontal.Color, g.Vertical.Color = grid, grid
	p.Add(g)
	return p
}

// line adds points joined by a line, and a mark where there is only one.
func line(p *plot.Plot, name string, c color.Color, xys plotter.XYs) {
	if len(xys) == 0 {
		return
	}
	l, s, err := plotter.NewLinePoints(xys)
	if err != nil {
		return // cannot be: the points are finite
	}
	l.Color, l.Width = c, vg.Points(1.6)
	s.Color, s.Shape, s.Radius = c, draw.CircleGlyph{}, vg.Points(1.6)
	p.Add(l)
	if len(xys) < 60 {
		p.Add(s)
	}
	if name != "" {
		p.Legend.Add(name, l)
	}
}
