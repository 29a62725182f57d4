package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/checkpoint"
	"github.com/rigel-ml/rigel/datasets"
	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/optim"
	"github.com/rigel-ml/rigel/rigl"
)

// Learner trains a model.
type Learner struct {
	config  Config
	backend ops.Backend

	model     nn.Module
	program   *nn.Program
	optimizer *optim.Optimizer
	masks     *rigl.Updater
	loader    *datasets.Loader
	valid     *evaluator
	dir       *checkpoint.Dir

	batch     datasets.Batch
	gradients []*tensor.Dense
	output    []float32

	progress   progress
	broken     error         // why the model is not fit to go on with
	saved      string        // path of the newest checkpoint
	savedAt    place         // where the run stood then
	trainTime  time.Duration // of this process, without validation
	trainSteps int           // of this process
}

// Result is what a finished run came to.
type Result struct {
	Last           Epoch   // of the last epoch
	Epochs, Steps  int     // of the whole run, resumed parts included
	Seconds        float64 // of this process, with validation
	StepsPerSecond float64 // of this process, training alone
	Checkpoint     string  // path of the last checkpoint, "" without a run directory
}

// New returns a Learner with a model at its start, or, with Config.Resume, where
// its last checkpoint left it. The error says what in the configuration makes
// no sense, or everything that keeps a run from being resumed. Close the Learner
// to release the run directory.
func New(b ops.Backend, c Config) (*Learner, error) {
	if b == nil {
		return nil, errors.New("train: no backend")
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	l := &Learner{config: c, backend: b}
	if err := l.build(); err != nil {
		return nil, err
	}
	var err error
	if l.dir, err = c.openDir(b, l.model.Params()); err != nil {
		return nil, err
	}
	if c.Resume {
		if err := l.restore(); err != nil {
			return nil, errors.Join(fmt.Errorf("resuming %s: %w", c.Dir, err), l.Close())
		}
	}
	return l, nil
}

// build makes everything that needs no run directory.
func (l *Learner) build() (err error) {
	c, b := l.config, l.backend
	// First, as it refuses batches that no memory can hold.
	if l.loader, err = datasets.NewLoader(c.Train, datasets.LoaderConfig{Batch: c.Batch, Shuffle: true, Seed: c.Seed}); err != nil {
		return err
	}
	if l.model, err = c.Model.Init(nn.NewInit(b, c.Seed)); err != nil {
		return err
	}
	program := nn.ProgramConfig{Model: l.model, Loss: c.Loss, Features: c.Train.Features(), Batch: c.Batch, Training: true}
	if l.program, err = nn.Compile(b, program); err != nil {
		return err
	}
	if l.program.Classes() < c.Train.Classes() {
		return fmt.Errorf("train: the model has %d outputs, the data %d classes", l.program.Classes(), c.Train.Classes())
	}
	if l.optimizer, err = optim.New(b, c.Optimizer, l.program.Params()); err != nil {
		return err
	}
	if l.masks, err = rigl.NewUpdater(b, c.Masks, l.program, l.optimizer); err != nil {
		return err
	}
	if c.Valid != nil {
		if l.valid, err = newEvaluator(b, l.model, c.Loss, c.Valid); err != nil {
			return err
		}
	}
	l.gradients = make([]*tensor.Dense, len(l.program.Params()))
	l.output = make([]float32, c.Batch*l.program.Classes())
	return nil
}

// Model returns the model that is trained.
func (l *Learner) Model() nn.Module { return l.model }

// Steps returns how many steps were taken, resumed parts included.
func (l *Learner) Steps() int { return l.progress.Step }

// Close releases the run directory. Closing twice is fine.
func (l *Learner) Close() error {
	if l.dir == nil {
		return nil
	}
	return l.dir.Close()
}

// Fit trains until the last epoch. When ctx ends it finishes the step at hand,
// saves, and returns an error that wraps ErrInterrupted; calling Fit again, or
// resuming in another process, goes on from there. After an error that wraps
// ErrNotFinite every Fit returns that error: the model is not fit to go on with.
func (l *Learner) Fit(ctx context.Context) (Result, error) {
	if l.broken != nil {
		return Result{}, l.broken
	}
	start := time.Now()
	o := l.config.Observer
	o.Begin(Begin{Epochs: l.config.Epochs, StepsPerEpoch: l.loader.Batches(), Step: l.progress.Step})
	defer o.End()
	for l.progress.Epoch < l.config.Epochs {
		if err := l.epoch(ctx); err != nil {
			if errors.Is(err, ErrNotFinite) {
				l.broken = err // the batch is spent: going on would leave it out
			}
			return Result{}, err
		}
	}
	r := Result{Last: l.progress.Last, Epochs: l.progress.Epoch, Steps: l.progress.Step,
		Seconds: time.Since(start).Seconds(), Checkpoint: l.saved}
	if l.trainSteps > 0 {
		r.StepsPerSecond = float64(l.trainSteps) / l.trainTime.Seconds()
	}
	return r, nil
}

// epoch trains to the end of the epoch at hand, validates and saves.
func (l *Learner) epoch(ctx context.Context) (err error) {
	began, samples, steps, busy := time.Now(), 0, l.trainSteps, l.trainTime
	for {
		if ctx.Err() != nil {
			return l.interrupted(ctx)
		}
		began := time.Now()
		if !l.loader.Next(&l.batch) {
			break
		}
		if err := l.step(); err != nil {
			return err
		}
		samples += l.batch.N
		l.trainSteps++
		l.trainTime += time.Since(began)
		if every := l.config.SaveEvery; every > 0 && l.progress.Step%every == 0 {
			if err := l.save(math.NaN()); err != nil {
				return err
			}
		}
	}
	// Until all of this is done the epoch is not, and another Fit tries again.
	at, end := l.progress, l.loader.State()
	end.Epoch, end.Position = end.Epoch-1, end.Samples
	defer func() {
		if err != nil {
			l.progress, err = at, errors.Join(err, l.loader.Restore(end))
		}
	}()
	l.progress.Epoch++
	e := l.summary()
	if busy := (l.trainTime - busy).Seconds(); busy > 0 {
		e.SamplesPerSecond, e.StepsPerSecond = float64(samples)/busy, float64(l.trainSteps-steps)/busy
	}
	score := math.NaN()
	if l.valid != nil {
		if e.ValidLoss, e.ValidAccuracy, err = l.valid.run(); err != nil {
			return err
		}
		if !finite(e.ValidLoss) {
			return fmt.Errorf("validation after step %d: %w: loss %v", e.Step, ErrNotFinite, e.ValidLoss)
		}
		score = e.ValidAccuracy
		e.Best = e.Epoch == 1 || score > l.progress.BestValid
		l.progress.BestValid = max(l.progress.BestValid, score)
	}
	e.Seconds = time.Since(began).Seconds()
	l.progress.Last, l.progress.Running = e, running{}
	if err := l.logEpoch(e, samples == 0); err != nil {
		return err
	}
	if err := l.save(score); err != nil {
		return err
	}
	l.config.Observer.Epoch(e)
	return nil
}

func (l *Learner) interrupted(ctx context.Context) error {
	err := fmt.Errorf("%w after step %d: %w", ErrInterrupted, l.progress.Step, context.Cause(ctx))
	if l.dir == nil || l.saved != "" && l.savedAt == l.progress.place() {
		return err // saving again would take the score from the checkpoint
	}
	return errors.Join(err, l.save(math.NaN()))
}

func (l *Learner) log(v any) error {
	if l.dir == nil {
		return nil
	}
	return l.dir.AppendMetrics(v)
}

// logEpoch logs an epoch once. A run that was stopped after its last step, and
// then killed between its line and its checkpoint, has the line already.
func (l *Learner) logEpoch(e Epoch, repeated bool) error {
	if l.dir != nil && repeated {
		lines, err := l.dir.Metrics()
		if err != nil {
			return err
		}
		var last struct {
			Event string
			Epoch int
		}
		if n := len(lines); n > 0 {
			err = json.Unmarshal(lines[n-1], &last)
		}
		if err != nil || last.Event == e.Event && last.Epoch == e.Epoch {
			return err
		}
	}
	return l.log(e)
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
