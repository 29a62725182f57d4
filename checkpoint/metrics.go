package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path/filepath"

	"github.com/go-json-experiment/json"

	"github.com/rigel-ml/rigel/checkpoint/internal/fsys"
)

// AppendMetrics adds a line to metrics.jsonl. v must encode as a JSON object
// with an integer member "step"; NaN and infinities are errors, as JSON has
// neither. Lines are durable from the next Save on.
//
// A failed append leaves no half line behind that a later one could be glued
// to.
func (d *Dir) AppendMetrics(v any) error {
	line, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	if _, ok := stepOf(line); !ok {
		return fmt.Errorf(`metrics: %.80q is no object with an integer "step"`, line)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.writable(); err != nil {
		return err
	}
	return d.metrics.append(append(line, '\n'))
}

// Metrics returns the lines of metrics.jsonl in the order in which they were
// appended. Lines that a crash tore are left out.
func (d *Dir) Metrics() ([][]byte, error) {
	content, err := readFile(d.disk, filepath.Join(d.path, metricsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var lines [][]byte
	for _, line := range wholeLines(content) {
		lines = append(lines, bytes.TrimSuffix(line, []byte("\n")))
	}
	return lines, nil
}

// wholeLines iterates over the lines that were written whole, with the step of
// each.
func wholeLines(content []byte) iter.Seq2[int64, []byte] {
	return func(yield func(int64, []byte) bool) {
		for line := range bytes.Lines(content) {
			step, ok := stepOf(line)
			if ok && bytes.HasSuffix(line, []byte("\n")) && !yield(step, line) {
				return
			}
		}
	}
}

// stepOf returns the step of a line; ok is false for one that has none.
func stepOf(line []byte) (step int64, ok bool) {
	var v struct {
		Step *int64 `json:"step"`
	}
	if json.Unmarshal(line, &v) != nil || v.Step == nil {
		return 0, false
	}
	return *v.Step, true
}

// metricsLog appends to metrics.jsonl. The file is opened when it is needed.
type metricsLog struct {
	disk fsys.FS
	path string
	file fsys.File // nil until opened
	size int64     // bytes that are whole lines
	torn bool      // whether a failed write may have left bytes after them
}

func (m *metricsLog) append(line []byte) error {
	if err := m.open(); err != nil {
		return err
	}
	if m.torn {
		if err := m.file.Truncate(m.size); err != nil {
			return err
		}
		m.torn = false
	}
	if _, err := m.file.Write(line); err != nil {
		m.torn = true
		return err
	}
	m.size += int64(len(line))
	return nil
}

func (m *metricsLog) open() error {
	if m.file != nil {
		return nil
	}
	f, err := m.disk.Append(m.path)
	if err != nil {
		return err
	}
	size, err := f.Size()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if err := m.disk.SyncDir(filepath.Dir(m.path)); err != nil {
		return errors.Join(err, f.Close())
	}
	m.file, m.size, m.torn = f, size, false
	return nil
}

// sync makes all lines durable.
func (m *metricsLog) sync() error {
	if m.file == nil {
		return nil // nothing was appended
	}
	return m.file.Sync()
}

func (m *metricsLog) close() error {
	if m.file == nil {
		return nil
	}
	err := m.file.Close()
	m.file = nil
	return err
}

// mend drops lines that a crash tore.
func (m *metricsLog) mend() error {
	return m.filter(func(int64) bool { return true })
}

// filter atomically drops the lines whose step is not wanted, and those that a
// crash tore.
func (m *metricsLog) filter(want func(step int64) bool) error {
	content, err := readFile(m.disk, m.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var kept []byte
	for step, line := range wholeLines(content) {
		if want(step) {
			kept = append(kept, line...)
		}
	}
	if len(kept) == len(content) {
		return nil
	}
	// The open file is about to lose its name.
	if err := m.close(); err != nil {
		return err
	}
	return atomicWrite(m.disk, m.path, func(w io.Writer) error {
		_, err := w.Write(kept)
		return err
	})
}
