package train

import (
	"errors"
	"fmt"

	"github.com/rigel-ml/rigel/checkpoint"
	"github.com/rigel-ml/rigel/datasets"
	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/optim"
	"github.com/rigel-ml/rigel/sparse"
)

// progress is where a run stands; a checkpoint stores it.
type progress struct {
	Step           int            `json:"step"`            // steps taken
	Epoch          int            `json:"epoch"`           // epochs finished
	OptimizerSteps int            `json:"optimizer_steps"` // without mask updates
	Loader         datasets.State `json:"loader"`
	Running        running        `json:"running"`
	Last           Epoch          `json:"last"`
	BestValid      float64        `json:"best_valid"` // accuracy
}

// place tells apart the end of an epoch's last step from that of the epoch.
type place struct{ step, epoch int }

func (p *progress) place() place { return place{p.Step, p.Epoch} }

// running are the sums of the epoch at hand.
type running struct {
	Loss    float64 `json:"loss"` // summed over samples
	Samples int     `json:"samples"`
	Correct int     `json:"correct"`
	Updates int     `json:"updates"` // of masks
	Churn   float64 `json:"churn"`   // summed over them
}

// A checkpoint holds the parameters under their names, the optimizer's state
// under "optimizer.<parameter>.<name>", and the record "progress". Schedules,
// mask updates and dropout depend on the step alone, so that is all.

func stateName(s optim.State) string { return fmt.Sprintf("optimizer.%s.%s", s.Param.Name, s.Name) }

// save writes a checkpoint, if there is a run directory.
func (l *Learner) save(score float64) error {
	if l.dir == nil {
		return nil
	}
	l.progress.OptimizerSteps = l.optimizer.Steps()
	l.progress.Loader = l.loader.State()
	a := checkpoint.NewArchive()
	if err := PutParams(a, l.backend, l.model.Params()); err != nil {
		return err
	}
	for _, s := range l.optimizer.States() {
		host := make([]float32, s.Value.DataSize())
		if err := ops.Values(l.backend, s.Param.Pattern, host, s.Value); err != nil {
			return err
		}
		if err := a.PutFloat32(stateName(s), []int{len(host)}, host); err != nil {
			return err
		}
	}
	if err := a.PutRecord("progress", l.progress); err != nil {
		return err
	}
	path, err := l.dir.Save(int64(l.progress.Step), a, score)
	if path != "" {
		l.saved, l.savedAt = path, l.progress.place()
		if err != nil { // the checkpoint is safe; older ones could not be removed
			l.config.Observer.Warn(err.Error())
		}
		return nil
	}
	return err
}

// restore loads the newest sound checkpoint. A run that never got to save one
// starts from the beginning, which is where it stands; one whose checkpoints are
// all damaged is left alone.
func (l *Learner) restore() error {
	a, info, warnings, err := l.dir.Latest()
	for _, w := range warnings {
		l.config.Observer.Warn(w)
	}
	if errors.Is(err, checkpoint.ErrNoCheckpoint) && len(warnings) == 0 {
		l.config.Observer.Warn("the run has no checkpoint yet: starting from the beginning")
		return l.dir.Rewind(0)
	}
	if err != nil {
		return err
	}
	if err := l.load(a); err != nil {
		return fmt.Errorf("%s: %w", info.Path, err)
	}
	l.saved, l.savedAt = info.Path, l.progress.place()
	return l.dir.Rewind(info.Step)
}

func (l *Learner) load(a *checkpoint.Archive) error {
	want := entries(l.model.Params())
	for _, s := range l.optimizer.States() {
		want = append(want, checkpoint.Entry{Name: stateName(s), Kind: checkpoint.KindFloat32, Shape: []int{s.Value.DataSize()}})
	}
	if err := checkpoint.Compare(want, a.Entries()); err != nil {
		return err
	}
	var p progress
	if err := a.Record("progress", &p); err != nil {
		return err
	}
	if err := l.loader.Restore(p.Loader); err != nil {
		return err
	}
	if err := LoadParams(a, l.backend, l.model.Params()); err != nil {
		return err
	}
	for _, s := range l.optimizer.States() {
		_, host, err := a.Float32(stateName(s))
		if err != nil {
			return err
		}
		if err := ops.SetValues(l.backend, s.Param.Pattern, s.Value, host); err != nil {
			return err
		}
	}
	l.optimizer.SetSteps(p.OptimizerSteps)
	l.progress = p
	return nil
}

func entries(params []*nn.Param) []checkpoint.Entry {
	var all []checkpoint.Entry
	for _, p := range params {
		kind := checkpoint.KindFloat32
		if p.Pattern != nil {
			kind = checkpoint.KindCSR
		}
		all = append(all, checkpoint.Entry{Name: p.Name, Kind: kind, Shape: p.Shape})
	}
	return all
}

// PutParams stores parameters in an archive under their names.
func PutParams(a *checkpoint.Archive, b ops.Backend, params []*nn.Param) error {
	for _, p := range params {
		host := make([]float32, p.NNZ())
		if err := ops.Values(b, p.Pattern, host, p.Value); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		for i, v := range host {
			if !finite(float64(v)) {
				return fmt.Errorf("%w: weight %d of %s is %v, which is not worth saving", ErrNotFinite, i, p.Name, v)
			}
		}
		if p.Pattern == nil {
			if err := a.PutFloat32(p.Name, p.Shape, host); err != nil {
				return err
			}
			continue
		}
		m, err := sparse.NewCSR(p.Pattern, host)
		if err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		if err := a.PutCSR(p.Name, m); err != nil {
			return err
		}
	}
	return nil
}

// LoadParams fills parameters from an archive, which may hold more than them.
// One error lists every parameter that is missing or of another shape, and then
// nothing was loaded.
func LoadParams(a *checkpoint.Archive, b ops.Backend, params []*nn.Param) error {
	named := map[string]bool{}
	for _, p := range params {
		named[p.Name] = true
	}
	var got []checkpoint.Entry
	for _, e := range a.Entries() {
		if named[e.Name] {
			got = append(got, e)
		}
	}
	if err := checkpoint.Compare(entries(params), got); err != nil {
		return err
	}
	var load []func() error
	var errs []error
	for _, p := range params {
		if p.Pattern == nil {
			_, values, err := a.Float32(p.Name)
			errs = append(errs, err)
			load = append(load, func() error { return p.Load(b, nil, nil, values) })
			continue
		}
		m, err := a.CSR(p.Name)
		if err == nil && m.NNZ() != p.NNZ() {
			err = fmt.Errorf("%s has %d non-zeros in the file, %d in the model", p.Name, m.NNZ(), p.NNZ())
		}
		errs = append(errs, err)
		load = append(load, func() error { return p.Load(b, m.RowPtr(), m.ColIdx(), m.Values) })
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, f := range load {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}
