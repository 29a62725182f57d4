package fsys

import (
	"errors"
	"io"
	"os"
	"runtime"
	"syscall"

	"github.com/gofrs/flock"
)

// OS is the file system of the machine.
type OS struct{}

var _ FS = OS{}

type osFile struct{ *os.File }

func (f osFile) Size() (int64, error) {
	stat, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return stat.Size(), nil
}

func open(path string, flags int) (File, error) {
	f, err := os.OpenFile(path, flags, 0o666)
	if err != nil {
		return nil, err // not a File that holds a nil *os.File
	}
	return osFile{f}, nil
}

// Open implements FS.
func (OS) Open(path string) (File, error) { return open(path, os.O_RDONLY) }

// Create implements FS.
func (OS) Create(path string) (File, error) { return open(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL) }

// Append implements FS.
func (OS) Append(path string) (File, error) { return open(path, os.O_RDWR|os.O_CREATE|os.O_APPEND) }

// Mkdir implements FS.
func (OS) Mkdir(path string) error { return os.Mkdir(path, 0o777) }

// Rename implements FS.
func (OS) Rename(oldPath, newPath string) error { return os.Rename(oldPath, newPath) }

// Remove implements FS.
func (OS) Remove(path string) error { return os.Remove(path) }

// ReadDir implements FS.
func (OS) ReadDir(path string) ([]string, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

// SyncDir implements FS. It does nothing where directories cannot be synced:
// on Windows, and on file systems that answer EINVAL, such as some network
// and FUSE mounts.
func (OS) SyncDir(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close() // opened for reading, so closing cannot lose anything
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}

// Lock implements FS. The operating system drops the lock of a process that
// dies, so there are no stale locks to clean up.
func (OS) Lock(path string) (io.Closer, error) {
	l := flock.New(path)
	ok, err := l.TryLock()
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, ErrLocked
	}
	return l, nil
}
