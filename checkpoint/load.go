package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"

	"github.com/rigel-ml/rigel/checkpoint/internal/fsys"
	"github.com/rigel-ml/rigel/checkpoint/safetensors"
)

// Info describes a checkpoint file.
type Info struct {
	Path  string
	Step  int64
	Score float64 // NaN if it was not scored
}

// Load reads one checkpoint that Dir.Save wrote. It needs no lock. The error
// is one of those of ReadArchive and names the path.
func Load(path string) (*Archive, Info, error) { return load(fsys.OS{}, path) }

// Latest loads the newest checkpoint. One that cannot be read or is damaged is
// passed over, with a warning for the user, and the one before it is loaded.
//
// The error wraps ErrNoCheckpoint if none is left, and ErrVersion if one was
// written by a newer Rigel: to go on from an older one then would throw away
// sound work.
func (d *Dir) Latest() (a *Archive, info Info, warnings []string, err error) {
	return d.firstWhole(func() (candidates []int64, _ []string, err error) {
		candidates, err = d.steps()
		slices.Reverse(candidates)
		return candidates, nil, err
	})
}

// Best loads the checkpoint with the best score; the earliest, if several have
// it. Warnings and errors are those of Latest.
func (d *Dir) Best() (a *Archive, info Info, warnings []string, err error) {
	return d.firstWhole(func() (candidates []int64, warnings []string, err error) {
		infos, warnings, err := d.infos()
		slices.SortFunc(infos, d.byScore)
		for _, info := range infos {
			if !math.IsNaN(info.Score) {
				candidates = append(candidates, info.Step)
			}
		}
		return candidates, warnings, err
	})
}

// firstWhole loads the first of the listed candidates that can be loaded.
func (d *Dir) firstWhole(list func() ([]int64, []string, error)) (
	a *Archive, info Info, warnings []string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for range 5 {
		var candidates []int64
		candidates, warnings, err = list()
		if err != nil {
			return nil, Info{}, warnings, err
		}
		a, info, warnings, err = d.tryEach(candidates, warnings)
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
		// A writer has removed a candidate meanwhile: look again.
	}
	return a, info, warnings, err
}

func (d *Dir) tryEach(candidates []int64, warnings []string) (*Archive, Info, []string, error) {
	for _, step := range candidates {
		a, info, err := d.loadStep(step)
		if err == nil || errors.Is(err, ErrVersion) || errors.Is(err, fs.ErrNotExist) {
			return a, info, warnings, err
		}
		warnings = append(warnings, fmt.Sprintf("passed over a checkpoint: %v", err))
	}
	err := fmt.Errorf("%w in %s", ErrNoCheckpoint, d.path)
	if len(warnings) > 0 {
		err = fmt.Errorf("%w: all %d are damaged", err, len(warnings))
	}
	return nil, Info{}, warnings, err
}

func (d *Dir) loadStep(step int64) (*Archive, Info, error) {
	a, info, err := load(d.disk, d.stepPath(step))
	if err == nil {
		err = checkStep(info, step)
	}
	if err != nil {
		return nil, info, err
	}
	return a, info, nil
}

func load(disk fsys.FS, path string) (a *Archive, info Info, err error) {
	err = withFile(disk, path, func(f fsys.File, size int64) (err error) {
		if a, err = ReadArchive(f, size); err == nil {
			info, err = parseInfo(path, a.meta)
		}
		return err
	})
	if err != nil {
		return nil, Info{Path: path}, err
	}
	return a, info, nil
}

// infos describes all checkpoints by what their headers say, which is not
// checked against the checksum. Damaged headers are left out, with a warning;
// what cannot be read at all is an error.
func (d *Dir) infos() (infos []Info, warnings []string, err error) {
	steps, err := d.steps()
	if err != nil {
		return nil, nil, err
	}
	for _, step := range steps {
		path := d.stepPath(step)
		info := Info{}
		err := withFile(d.disk, path, func(f fsys.File, size int64) error {
			h, err := safetensors.ReadHeader(f, size)
			if err == nil {
				info, err = parseInfo(path, h.Metadata)
			}
			return err
		})
		var ioError *fs.PathError
		if err == nil {
			err = checkStep(info, step)
		}
		switch {
		case err == nil:
			infos = append(infos, info)
		case errors.Is(err, fs.ErrNotExist):
			// A writer has removed it meanwhile.
		case errors.As(err, &ioError):
			return nil, warnings, err
		default:
			warnings = append(warnings, fmt.Sprintf("passed over a checkpoint: %v", err))
		}
	}
	return infos, warnings, nil
}

// parseInfo reads what Save stamped on a checkpoint.
func parseInfo(path string, meta map[string]string) (Info, error) {
	step, err := strconv.ParseInt(meta[keyStep], 10, 64)
	if err != nil || step < 0 {
		return Info{}, fmt.Errorf("%w: %s: %q is no step", ErrFormat, keyStep, meta[keyStep])
	}
	score, err := strconv.ParseFloat(meta[keyScore], 64)
	if err != nil {
		return Info{}, fmt.Errorf("%w: %s: %q is no number", ErrFormat, keyScore, meta[keyScore])
	}
	return Info{Path: path, Step: step, Score: score}, nil
}

// checkStep requires that a file holds the step that its name says.
func checkStep(info Info, step int64) error {
	if info.Step != step {
		return fmt.Errorf("%s: %w: %s is %d", info.Path, ErrFormat, keyStep, info.Step)
	}
	return nil
}

// byScore orders by falling merit: the better score, then the earlier step.
// Checkpoints without a score come last.
func (d *Dir) byScore(a, b Info) int {
	sign := 1.0
	if d.opt.LowerIsBetter {
		sign = -1
	}
	// cmp.Compare puts NaN below all numbers.
	return cmp.Or(cmp.Compare(sign*b.Score, sign*a.Score), cmp.Compare(a.Step, b.Step))
}

// withFile opens a file, calls read with it and its size, and closes it.
// Errors name the path.
func withFile(disk fsys.FS, path string, read func(f fsys.File, size int64) error) error {
	f, err := disk.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() // opened for reading, so closing cannot lose anything
	size, err := f.Size()
	if err == nil {
		err = read(f, size)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
