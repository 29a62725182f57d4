package checkpoint

import (
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
)

// Save stores an archive as the checkpoint of a step and then removes
// checkpoints that are neither among the newest nor the best. A score of NaN
// means that the checkpoint was not scored.
//
// The step must not lie before that of the newest checkpoint; see Rewind. A
// checkpoint of the same step is replaced.
//
// When Save returns a path, the checkpoint is durable there, and so are the
// metrics that were appended before; an error beside it is about the removal
// of others. When the path is empty, all earlier checkpoints are as they were.
func (d *Dir) Save(step int64, a *Archive, score float64) (path string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.writable(); err != nil {
		return "", err
	}
	if a == nil || step < 0 {
		return "", fmt.Errorf("checkpoint: saving step %d: step is negative or archive is nil", step)
	}
	steps, err := d.steps()
	if err != nil {
		return "", err
	}
	if n := len(steps); n > 0 && step < steps[n-1] {
		return "", fmt.Errorf("checkpoint: saving step %d: %s already has step %d; Rewind first",
			step, d.path, steps[n-1])
	}
	if err := d.metrics.sync(); err != nil {
		return "", err
	}
	path = d.stepPath(step)
	err = atomicWrite(d.disk, path, func(w io.Writer) error {
		_, err := a.stamped(step, score).WriteTo(w)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("saving %s: %w", path, err)
	}
	return path, d.removeOld()
}

// Rewind makes step the last one of the run, so that it can go on from there:
// it drops the metrics of later steps and sets later checkpoints aside by
// appending ".stale" to their names, for a person to look at or delete.
func (d *Dir) Rewind(step int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.writable(); err != nil {
		return err
	}
	steps, err := d.steps()
	if err != nil {
		return err
	}
	// Checkpoints first and the newest before others: after a crash in
	// between there is a run that ends at some later step, with all metrics.
	for _, later := range slices.Backward(steps) {
		if later <= step {
			break
		}
		if err := d.disk.Rename(d.stepPath(later), d.stepPath(later)+staleSuffix); err != nil {
			return err
		}
		if err := d.disk.SyncDir(d.checkpoints()); err != nil {
			return err
		}
	}
	return d.metrics.filter(func(s int64) bool { return s <= step })
}

// removeOld removes all checkpoints but the newest and the best. The caller
// holds mu, and has made the newest durable.
func (d *Dir) removeOld() error {
	infos, _, err := d.infos()
	if err != nil {
		return err
	}
	slices.SortFunc(infos, d.byScore)
	best := int64(-1)
	if len(infos) > 0 && !math.IsNaN(infos[0].Score) {
		best = infos[0].Step
	}
	steps, err := d.steps()
	if err != nil {
		return err
	}
	for _, step := range steps[:max(0, len(steps)-d.opt.Keep)] {
		if step == best {
			continue
		}
		if err := d.disk.Remove(d.stepPath(step)); err != nil {
			return fmt.Errorf("removing an old checkpoint: %w", err)
		}
	}
	return nil
}

// steps returns the steps of all checkpoint files, ascending.
func (d *Dir) steps() ([]int64, error) {
	names, err := d.disk.ReadDir(d.checkpoints())
	if err != nil {
		return nil, err
	}
	var steps []int64
	for _, name := range names {
		if step, ok := parseStep(name); ok {
			steps = append(steps, step)
		}
	}
	slices.Sort(steps)
	return steps, nil
}

func (d *Dir) stepPath(step int64) string { return filepath.Join(d.checkpoints(), stepName(step)) }

// stamped returns an archive with the same content and this step and score.
func (a *Archive) stamped(step int64, score float64) *Archive {
	meta := maps.Clone(a.meta)
	meta[keyStep] = strconv.FormatInt(step, 10)
	meta[keyScore] = strconv.FormatFloat(score, 'g', -1, 64)
	return &Archive{entries: a.entries, tensors: a.tensors, meta: meta}
}
