// Package progress shows how training goes: a bar on a terminal, one line an
// epoch elsewhere.
package progress

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/rigel-ml/rigel/train"
)

// To returns an observer that writes to f, with a bar if f is a terminal.
func To(f *os.File) train.Observer {
	p := &printer{w: f}
	if term.IsTerminal(int(f.Fd())) {
		p.newBar = func(begin train.Begin) *progressbar.ProgressBar {
			return progressbar.NewOptions(begin.Epochs*begin.StepsPerEpoch,
				progressbar.OptionSetWriter(f),
				progressbar.OptionSetWidth(30),
				progressbar.OptionThrottle(100*time.Millisecond),
				progressbar.OptionShowCount(),
				progressbar.OptionShowIts(),
				progressbar.OptionSetItsString("steps"),
				progressbar.OptionClearOnFinish(),
			)
		}
	}
	return p
}

// Lines returns an observer that writes one line an epoch.
func Lines(w io.Writer) train.Observer { return &printer{w: w} }

type printer struct {
	train.Silent
	w      io.Writer
	newBar func(train.Begin) *progressbar.ProgressBar // nil for lines alone
	bar    *progressbar.ProgressBar
	epochs int
}

func (p *printer) Begin(b train.Begin) {
	p.epochs = b.Epochs
	if p.newBar != nil {
		p.bar = p.newBar(b)
		_ = p.bar.Set(b.Step) // a bar that cannot be drawn is no reason to stop
	}
	if b.Step > 0 {
		p.line("resumed after step %d of %d", b.Step, b.Epochs*b.StepsPerEpoch)
	}
}

func (p *printer) Step(s train.Step) {
	if p.bar != nil {
		p.bar.Describe(fmt.Sprintf("loss %.4f", s.Loss))
		_ = p.bar.Set(s.Step)
	}
}

func (p *printer) Epoch(e train.Epoch) {
	valid := ""
	if e.ValidLoss > 0 {
		valid = fmt.Sprintf("  test %.4f acc %.2f %%", e.ValidLoss, 100*e.ValidAccuracy)
	}
	p.line("epoch %*d/%d  train %.4f acc %.2f %%%s  sparsity %.2f %%  churn %.1f %%  lr %.2g  %.0f samples/s  %.1f s",
		len(fmt.Sprint(p.epochs)), e.Epoch, p.epochs, e.TrainLoss, 100*e.TrainAccuracy, valid,
		100*e.Sparsity, 100*e.Churn, e.LR, e.SamplesPerSecond, e.Seconds)
}

func (p *printer) Warn(message string) { p.line("warning: %s", message) }

func (p *printer) End() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// line writes a line above the bar, which redraws itself below.
func (p *printer) line(format string, args ...any) {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	fmt.Fprintf(p.w, format+"\n", args...)
	if p.bar != nil {
		_ = p.bar.RenderBlank()
	}
}
