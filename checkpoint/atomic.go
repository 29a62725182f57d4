package checkpoint

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/rigel-ml/rigel/checkpoint/internal/fsys"
)

// tmpSuffix marks a file that is being written.
const tmpSuffix = ".tmp"

// atomicWrite replaces the file at path by what write produces. At every
// moment, and after a crash at any moment, path holds the old or the new
// content, whole; once atomicWrite has returned nil it holds the new. The
// caller holds the lock of the directory.
func atomicWrite(disk fsys.FS, path string, write func(io.Writer) error) error {
	tmp := path + tmpSuffix
	f, err := disk.Create(tmp)
	if errors.Is(err, fs.ErrExist) {
		// An earlier attempt failed and could not clean up. We hold the lock,
		// so nobody else is writing it.
		if err = disk.Remove(tmp); err == nil {
			f, err = disk.Create(tmp)
		}
	}
	if err != nil {
		return err
	}
	err = writeAndSync(f, write)
	if err == nil {
		err = disk.Rename(tmp, path)
	}
	if err != nil {
		// The first error is the one to report. What cannot be removed now is
		// removed by the next Open.
		_ = disk.Remove(tmp)
		return err
	}
	return disk.SyncDir(filepath.Dir(path))
}

// writeAndSync fills f, makes the content durable and closes it.
func writeAndSync(f fsys.File, write func(io.Writer) error) error {
	w := bufio.NewWriterSize(f, 1<<16)
	err := write(w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// readFile returns the content of a file.
func readFile(disk fsys.FS, path string) ([]byte, error) {
	f, err := disk.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // opened for reading, so closing cannot lose anything
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	content := make([]byte, size)
	if n, err := f.ReadAt(content, 0); n < len(content) {
		return nil, err
	}
	return content, nil
}

// mkdirAll makes a directory and its parents, all of them durable.
func mkdirAll(disk fsys.FS, path string) error {
	parent := filepath.Dir(path)
	err := disk.Mkdir(path)
	if errors.Is(err, fs.ErrNotExist) && parent != path {
		if err = mkdirAll(disk, parent); err == nil {
			err = disk.Mkdir(path)
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return disk.SyncDir(parent)
}
