package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/rigel-ml/rigel/checkpoint"
	"github.com/rigel-ml/rigel/datasets"
	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/optim"
	"github.com/rigel-ml/rigel/rigl"
)

// Config describes a training run.
type Config struct {
	Model     nn.Config
	Loss      nn.Loss // nn.CrossEntropy if nil
	Optimizer optim.Config
	LR        optim.Schedule
	// Masks says how the masks of sparse layers are trained. The zero value
	// leaves them as they were drawn.
	Masks rigl.Config

	Epochs int
	Batch  int
	Seed   uint64 // of the initial weights, the order of samples, dropout and random growth

	// Train and Valid are the data. Valid may be nil. Of a run with Valid, the
	// checkpoint with the best accuracy on it is kept beside the newest ones.
	Train, Valid *datasets.Set

	// Dir is the run directory; with "" nothing is kept.
	Dir string
	// Resume goes on with the run that Dir holds. Without it Dir must not hold
	// one.
	Resume bool
	// SaveEvery is the number of steps from one checkpoint to the next. The end
	// of each epoch saves one in any case, and that is all with 0.
	SaveEvery int
	// Keep is how many of the newest checkpoints stay; 3 if 0.
	Keep int
	// LogEvery is the number of steps from one line of step metrics to the
	// next; 50 if 0.
	LogEvery int
	// Notes are stored with the run as a description for people.
	Notes map[string]string

	// Observer sees what happens. It may be nil.
	Observer Observer
}

// ErrInterrupted is wrapped by the error of a Fit whose context ended. The step
// at hand was finished and, with a run directory, a checkpoint was saved.
var ErrInterrupted = errors.New("training was interrupted")

// ErrNotFinite is wrapped by the error of a Fit that met a NaN or an infinity
// in the loss, the gradients or the weights. It was not saved; the last checkpoint is from
// before.
var ErrNotFinite = errors.New("loss, gradient or weight is not finite")

func (c *Config) check() error {
	switch {
	case c.Model == nil:
		return errors.New("train: no model")
	case c.Train == nil:
		return errors.New("train: no training data")
	case c.Epochs < 1:
		return fmt.Errorf("train: %d epochs, want at least 1", c.Epochs)
	case c.Batch < 1:
		return fmt.Errorf("train: batches of %d, want at least 1", c.Batch)
	case c.SaveEvery < 0 || c.LogEvery < 0 || c.Keep < 0:
		return fmt.Errorf("train: saving every %d steps, keeping %d, logging every %d steps: want no negative numbers", c.SaveEvery, c.Keep, c.LogEvery)
	case c.LR == nil:
		return errors.New("train: no learning rate")
	case c.Resume && c.Dir == "":
		return errors.New("train: no run directory to resume")
	case c.Valid != nil && c.Valid.Features() != c.Train.Features():
		return fmt.Errorf("train: samples of %d features to train on, %d to validate on", c.Train.Features(), c.Valid.Features())
	}
	if c.LogEvery == 0 {
		c.LogEvery = 50
	}
	if c.Observer == nil {
		c.Observer = Silent{}
	}
	c.Masks.Seed = c.Seed
	return c.LR.Check()
}

// RunInfo is what run.json says of a run. A resumed run must agree with all of
// it but the notes, and of the kernels it only warns.
type RunInfo struct {
	Optimizer string            `json:"optimizer"`
	LR        string            `json:"lr"`
	Masks     string            `json:"masks"`
	Epochs    int               `json:"epochs"`
	Batch     int               `json:"batch"`
	Seed      uint64            `json:"seed"`
	Data      string            `json:"data"`
	Kernels   string            `json:"kernels"` // device and instruction set
	Layers    []LayerInfo       `json:"layers"`
	Notes     map[string]string `json:"notes"`
}

// LayerInfo describes a parameter of a model.
type LayerInfo struct {
	Name  string `json:"name"`
	Shape []int  `json:"shape"`
	NNZ   int    `json:"nnz"`
}

func (c *Config) runInfo(b ops.Backend, params []*nn.Param) RunInfo {
	info := RunInfo{
		Kernels:   kernelsOf(b),
		Optimizer: describe(c.Optimizer.Rule.Name(), c.Optimizer),
		LR:        describe(strings.TrimPrefix(fmt.Sprintf("%T", c.LR), "*"), c.LR),
		Masks:     describe(c.Masks.Method.Name, c.Masks.Schedule),
		Epochs:    c.Epochs,
		Batch:     c.Batch,
		Seed:      c.Seed,
		Data:      fmt.Sprintf("%s, %d samples of %d features", c.Train.Name(), c.Train.Len(), c.Train.Features()),
		Notes:     c.Notes,
	}
	for _, p := range params {
		info.Layers = append(info.Layers, LayerInfo{p.Name, p.Shape, p.NNZ()})
	}
	return info
}

// describe names a configuration and lists its numbers as JSON, which looks
// through pointers.
func describe(name string, v any) string {
	numbers, err := json.Marshal(v)
	if err != nil { // such as an infinity, which Check refuses
		return fmt.Sprintf("%s %+v", name, v)
	}
	return name + " " + string(numbers)
}

// differences lists what keeps a run from being resumed with this description.
func (r RunInfo) differences(now RunInfo) error {
	var all []string
	compare := func(what string, was, is any) {
		if a, b := fmt.Sprint(was), fmt.Sprint(is); a != b {
			all = append(all, fmt.Sprintf("%s was %s, is now %s", what, a, b))
		}
	}
	compare("optimizer", r.Optimizer, now.Optimizer)
	compare("learning rate", r.LR, now.LR)
	compare("mask training", r.Masks, now.Masks)
	compare("number of epochs", r.Epochs, now.Epochs)
	compare("batch size", r.Batch, now.Batch)
	compare("seed", r.Seed, now.Seed)
	compare("data", r.Data, now.Data)
	compare("number of parameters", len(r.Layers), len(now.Layers))
	for i := range min(len(r.Layers), len(now.Layers)) {
		compare(fmt.Sprintf("parameter %d", i), r.Layers[i], now.Layers[i])
	}
	if len(all) > 0 {
		return fmt.Errorf("the run cannot be resumed with other settings: %s", strings.Join(all, "; "))
	}
	return nil
}

// kernelsOf names what computes: other kernels add up in another order.
func kernelsOf(b ops.Backend) string {
	if k, ok := b.(interface{ ISA() string }); ok {
		return b.Device() + " " + k.ISA()
	}
	return b.Device()
}

// openDir creates or opens the run directory, if there is to be one.
func (c *Config) openDir(b ops.Backend, params []*nn.Param) (*checkpoint.Dir, error) {
	if c.Dir == "" {
		return nil, nil
	}
	info := c.runInfo(b, params)
	opt := checkpoint.Options{Keep: c.Keep}
	if !c.Resume {
		return checkpoint.Create(c.Dir, info, opt)
	}
	dir, err := checkpoint.Open(c.Dir, opt)
	if err != nil {
		return nil, err
	}
	var was RunInfo
	if err := dir.RunInfo(&was); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	if err := was.differences(info); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", c.Dir, err), dir.Close())
	}
	if was.Kernels != info.Kernels {
		c.Observer.Warn(fmt.Sprintf("the run was trained on %s and goes on on %s: it will not end with the same bits", was.Kernels, info.Kernels))
	}
	return dir, nil
}
