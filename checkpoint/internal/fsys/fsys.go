// Package fsys is the handful of file operations that checkpoints are made
// of. Package checkpoint does everything through [FS], so that its tests can
// let each single operation fail or be the last before a crash.
package fsys

import (
	"errors"
	"io"
)

// ErrLocked is wrapped by the error of Lock when somebody else holds the lock.
var ErrLocked = errors.New("locked")

// FS is a file system. Errors about missing or existing files satisfy
// errors.Is with fs.ErrNotExist and fs.ErrExist.
type FS interface {
	// Open opens a file for reading.
	Open(path string) (File, error)

	// Create creates a file for writing. It fails if the file exists.
	Create(path string) (File, error)

	// Append opens a file for reading and for writing at its end, and creates
	// it if it does not exist.
	Append(path string) (File, error)

	// Mkdir creates a directory. It fails if the path exists.
	Mkdir(path string) error

	// ReadDir returns the names in a directory, sorted.
	ReadDir(path string) ([]string, error)

	// Rename moves a file and replaces what newPath held, atomically.
	Rename(oldPath, newPath string) error

	// Remove deletes a file.
	Remove(path string) error

	// SyncDir makes the names in a directory durable: what was created,
	// renamed or removed in it stays so after a crash.
	SyncDir(path string) error

	// Lock takes the lock file at path, which it creates, without waiting.
	// Closing the result releases it, and so does the end of the process.
	Lock(path string) (io.Closer, error)
}

// File is an open file.
type File interface {
	io.ReaderAt
	io.Writer
	io.Closer

	// Size returns the length in bytes.
	Size() (int64, error)

	// Truncate cuts the file to size bytes.
	Truncate(size int64) error

	// Sync makes the content durable.
	Sync() error
}
