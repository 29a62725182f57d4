package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/rigel-ml/rigel/checkpoint/internal/fsys"
)

// Names in a run directory.
const (
	runFile        = "run.json"
	metricsFile    = "metrics.jsonl"
	lockFile       = "lock"
	checkpointsDir = "checkpoints"

	stepPrefix  = "step-"
	stepSuffix  = ".safetensors"
	staleSuffix = ".stale"
)

const defaultKeep = 3

// Options says which checkpoints a Dir keeps. Beside the newest ones it always
// keeps the one with the best score.
type Options struct {
	Keep          int  // how many of the newest checkpoints to keep; 0 means 3
	LowerIsBetter bool // whether the best score is the lowest
}

// Dir is the directory of one run. Its methods are safe for concurrent use.
//
// A Dir from Create or Open holds the lock of the directory until Close, so
// that two programs never write to one run.
type Dir struct {
	disk fsys.FS
	path string
	opt  Options

	mu      sync.Mutex
	lock    io.Closer   // nil in a Dir that may not write
	metrics *metricsLog // nil in a Dir that may not write
}

// Create makes a directory for a new run, with its parents, and stores info,
// any value that encodes as JSON, as the description of the run.
//
// Nothing is overwritten: the error wraps ErrExists if the directory holds a
// run. It wraps ErrLocked if another writer holds it.
func Create(path string, info any, opt Options) (*Dir, error) {
	return create(fsys.OS{}, path, info, opt)
}

// Open opens the directory of a run in order to go on with it, and removes
// what a writer that died left half-written. The error wraps ErrNoRun or
// ErrLocked.
func Open(path string, opt Options) (*Dir, error) {
	return open(fsys.OS{}, path, opt)
}

// OpenReadOnly opens the directory of a run without a lock, to look at a run
// that may be going on. Methods that write return ErrReadOnly. The error wraps
// ErrNoRun.
func OpenReadOnly(path string, opt Options) (*Dir, error) {
	return openReadOnly(fsys.OS{}, path, opt)
}

func create(disk fsys.FS, path string, info any, opt Options) (d *Dir, err error) {
	d, err = newDir(disk, path, opt)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(info, json.Deterministic(true), jsontext.Multiline(true))
	if err != nil {
		return nil, fmt.Errorf("description of the run: %w", err)
	}
	if err := mkdirAll(disk, d.path); err != nil {
		return nil, err
	}
	if err := d.acquire(); err != nil {
		return nil, err
	}
	defer d.releaseOn(&err)
	if err := d.refuseRun(); err != nil {
		return nil, err
	}
	if err := mkdirAll(disk, d.checkpoints()); err != nil {
		return nil, err
	}
	// Last, because run.json is what makes the directory a run. Writing it
	// also makes the names of the others durable.
	err = atomicWrite(disk, filepath.Join(d.path, runFile), func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

func open(disk fsys.FS, path string, opt Options) (d *Dir, err error) {
	d, err = openReadOnly(disk, path, opt)
	if err != nil {
		return nil, err
	}
	if err := d.acquire(); err != nil {
		return nil, err
	}
	defer d.releaseOn(&err)
	if err := mkdirAll(disk, d.checkpoints()); err != nil {
		return nil, err
	}
	if err := d.removeLeftovers(); err != nil {
		return nil, err
	}
	if err := d.metrics.mend(); err != nil {
		return nil, err
	}
	return d, nil
}

func openReadOnly(disk fsys.FS, path string, opt Options) (*Dir, error) {
	d, err := newDir(disk, path, opt)
	if err != nil {
		return nil, err
	}
	if has, err := d.hasRun(); err != nil {
		return nil, err
	} else if !has {
		return nil, fmt.Errorf("%w: %s", ErrNoRun, path)
	}
	return d, nil
}

func newDir(disk fsys.FS, path string, opt Options) (*Dir, error) {
	if opt.Keep < 0 {
		return nil, fmt.Errorf("checkpoint: Options.Keep is %d, want 0 or more", opt.Keep)
	}
	if opt.Keep == 0 {
		opt.Keep = defaultKeep
	}
	return &Dir{disk: disk, path: filepath.Clean(path), opt: opt}, nil
}

// acquire takes the lock and makes d a writer.
func (d *Dir) acquire() error {
	lock, err := d.disk.Lock(filepath.Join(d.path, lockFile))
	if errors.Is(err, fsys.ErrLocked) {
		return fmt.Errorf("%w: %s", ErrLocked, d.path)
	}
	if err != nil {
		return fmt.Errorf("locking %s: %w", d.path, err)
	}
	d.lock = lock
	d.metrics = &metricsLog{disk: d.disk, path: filepath.Join(d.path, metricsFile)}
	return nil
}

// releaseOn closes d if *err is not nil.
func (d *Dir) releaseOn(err *error) {
	if *err != nil {
		_ = d.Close()
	}
}

// Close releases the lock. Closing again does nothing.
func (d *Dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lock == nil {
		return nil
	}
	err := errors.Join(d.metrics.close(), d.lock.Close())
	d.lock, d.metrics = nil, nil
	return err
}

// Path returns the path that the directory was opened with, cleaned.
func (d *Dir) Path() string { return d.path }

// RunInfo decodes the description of the run into the pointer v. A member that
// v has no field for is an error.
func (d *Dir) RunInfo(v any) error {
	path := filepath.Join(d.path, runFile)
	text, err := readFile(d.disk, path)
	if err != nil {
		return err
	}
	if err := unmarshalStrict(text, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (d *Dir) checkpoints() string { return filepath.Join(d.path, checkpointsDir) }

// writable returns an error that wraps ErrReadOnly unless d holds the lock.
// The caller holds mu.
func (d *Dir) writable() error {
	if d.lock == nil {
		return fmt.Errorf("%w: %s", ErrReadOnly, d.path)
	}
	return nil
}

// hasRun reports whether there is a description of a run.
func (d *Dir) hasRun() (bool, error) {
	f, err := d.disk.Open(filepath.Join(d.path, runFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, f.Close()
}

// refuseRun returns an error that wraps ErrExists if the directory holds a run
// or a part of one. An empty directory for checkpoints and a half-written
// description are what a Create leaves that was killed; they are no run.
func (d *Dir) refuseRun() error {
	has, err := d.hasRun()
	if err != nil {
		return err
	}
	names, err := d.disk.ReadDir(d.path)
	if err != nil {
		return err
	}
	for _, name := range names {
		has = has || name == metricsFile
	}
	names, err = d.disk.ReadDir(d.checkpoints())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if has || len(names) > 0 {
		return fmt.Errorf("%w: %s", ErrExists, d.path)
	}
	return nil
}

// removeLeftovers removes the temporary files of a writer that died. It knows
// them by name: other files in the directory are not ours to remove.
func (d *Dir) removeLeftovers() error {
	for _, dir := range []string{d.path, d.checkpoints()} {
		names, err := d.disk.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, name := range names {
			final, isTmp := strings.CutSuffix(name, tmpSuffix)
			_, isStep := parseStep(final)
			if isTmp && (isStep || final == runFile || final == metricsFile) {
				if err := d.disk.Remove(filepath.Join(dir, name)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// stepName returns the file name of a checkpoint. Nine digits make names sort
// by step; larger steps have more.
func stepName(step int64) string {
	return fmt.Sprintf("%s%09d%s", stepPrefix, step, stepSuffix)
}

// parseStep is the inverse of stepName; ok is false for any other name.
func parseStep(name string) (step int64, ok bool) {
	digits := strings.TrimSuffix(strings.TrimPrefix(name, stepPrefix), stepSuffix)
	step, err := strconv.ParseInt(digits, 10, 64)
	return step, err == nil && step >= 0 && stepName(step) == name
}
