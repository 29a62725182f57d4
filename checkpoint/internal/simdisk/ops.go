package simdisk

import (
	"bytes"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/rigel-ml/rigel/checkpoint/internal/fsys"
)

var _ fsys.FS = (*Disk)(nil)

// begin cleans path, takes mu and counts the operation. The caller calls
// d.mu.Unlock.
func (d *Disk) begin(op string, path *string) error {
	*path = filepath.Clean(*path)
	d.mu.Lock()
	return d.step(op, *path)
}

func fail(op, path string, err error) error { return &fs.PathError{Op: op, Path: path, Err: err} }

// Open implements fsys.FS.
func (d *Disk) Open(path string) (fsys.File, error) {
	err := d.begin("open", &path)
	defer d.mu.Unlock()
	if err != nil {
		return nil, err
	}
	n, ok := d.names[path]
	if !ok || n.dir {
		return nil, fail("open", path, fs.ErrNotExist)
	}
	return &file{d, path, n}, nil
}

// Create implements fsys.FS.
func (d *Disk) Create(path string) (fsys.File, error) {
	err := d.begin("create", &path)
	defer d.mu.Unlock()
	if err != nil {
		return nil, err
	}
	n, err := d.add("create", path, &inode{})
	if err != nil {
		return nil, err
	}
	return &file{d, path, n}, nil
}

// Append implements fsys.FS.
func (d *Disk) Append(path string) (fsys.File, error) {
	err := d.begin("append", &path)
	defer d.mu.Unlock()
	if err != nil {
		return nil, err
	}
	n, ok := d.names[path]
	if !ok {
		if n, err = d.add("append", path, &inode{}); err != nil {
			return nil, err
		}
	}
	return &file{d, path, n}, nil
}

// Mkdir implements fsys.FS.
func (d *Disk) Mkdir(path string) error {
	err := d.begin("mkdir", &path)
	defer d.mu.Unlock()
	if err != nil {
		return err
	}
	_, err = d.add("mkdir", path, &inode{dir: true})
	return err
}

// add gives n the name path, which must be free. The caller holds mu.
func (d *Disk) add(op, path string, n *inode) (*inode, error) {
	if _, ok := d.names[path]; ok {
		return nil, fail(op, path, fs.ErrExist)
	}
	if !reachable(d.names, path) {
		return nil, fail(op, path, fs.ErrNotExist)
	}
	d.change(filepath.Dir(path), func(names map[string]*inode) { names[path] = n })
	return n, nil
}

// ReadDir implements fsys.FS.
func (d *Disk) ReadDir(path string) ([]string, error) {
	err := d.begin("readdir", &path)
	defer d.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if n, ok := d.names[path]; !ok || !n.dir {
		return nil, fail("readdir", path, fs.ErrNotExist)
	}
	var names []string
	for p := range d.names {
		if p != path && filepath.Dir(p) == path {
			names = append(names, filepath.Base(p))
		}
	}
	slices.Sort(names)
	return names, nil
}

// Rename implements fsys.FS. Both paths must lie in one directory.
func (d *Disk) Rename(oldPath, newPath string) error {
	oldPath = filepath.Clean(oldPath)
	err := d.begin("rename", &newPath)
	defer d.mu.Unlock()
	if err != nil {
		return err
	}
	n, ok := d.names[oldPath]
	if !ok || filepath.Dir(oldPath) != filepath.Dir(newPath) {
		return fail("rename", oldPath, fs.ErrNotExist)
	}
	d.change(filepath.Dir(newPath), func(names map[string]*inode) {
		delete(names, oldPath)
		names[newPath] = n
	})
	return nil
}

// Remove implements fsys.FS.
func (d *Disk) Remove(path string) error {
	err := d.begin("remove", &path)
	defer d.mu.Unlock()
	if err != nil {
		return err
	}
	if n, ok := d.names[path]; !ok || n.dir {
		return fail("remove", path, fs.ErrNotExist)
	}
	d.change(filepath.Dir(path), func(names map[string]*inode) { delete(names, path) })
	return nil
}

// SyncDir implements fsys.FS.
func (d *Disk) SyncDir(path string) error {
	err := d.begin("syncdir", &path)
	defer d.mu.Unlock()
	if err != nil {
		return err
	}
	d.pending = slices.DeleteFunc(d.pending, func(c change) bool {
		if c.dir == path {
			c.apply(d.durable)
		}
		return c.dir == path
	})
	return nil
}

// Lock implements fsys.FS. The lock file is durable at once: it has no content
// and nothing depends on whether it is there.
func (d *Disk) Lock(path string) (io.Closer, error) {
	err := d.begin("lock", &path)
	defer d.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if d.locked[path] {
		return nil, fsys.ErrLocked
	}
	if !reachable(d.names, path) {
		return nil, fail("lock", path, fs.ErrNotExist)
	}
	d.locked[path] = true
	return unlocker{d, path}, nil
}

type unlocker struct {
	d    *Disk
	path string
}

func (u unlocker) Close() error {
	u.d.mu.Lock()
	defer u.d.mu.Unlock()
	delete(u.d.locked, u.path)
	return nil
}

// file is an open file. It writes at the end.
type file struct {
	d    *Disk
	path string
	n    *inode
}

func (f *file) ReadAt(p []byte, off int64) (int, error) {
	err := f.d.begin("read", &f.path)
	defer f.d.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return bytes.NewReader(f.n.data).ReadAt(p, off)
}

func (f *file) Write(p []byte) (int, error) {
	err := f.d.begin("write", &f.path)
	defer f.d.mu.Unlock()
	n := len(p)
	if err != nil {
		n = 0
		if f.d.fault.Short {
			n = len(p) / 2
		}
	}
	// A copy, because synced may share the array.
	f.n.data = slices.Concat(f.n.data, p[:n])
	return n, err
}

func (f *file) Size() (int64, error) {
	err := f.d.begin("stat", &f.path)
	defer f.d.mu.Unlock()
	return int64(len(f.n.data)), err
}

func (f *file) Truncate(size int64) error {
	err := f.d.begin("truncate", &f.path)
	defer f.d.mu.Unlock()
	if err == nil {
		f.n.data = slices.Clone(f.n.data[:size])
	}
	return err
}

func (f *file) Sync() error {
	err := f.d.begin("sync", &f.path)
	defer f.d.mu.Unlock()
	if err == nil {
		f.n.synced = f.n.data
	}
	return err
}

func (f *file) Close() error {
	err := f.d.begin("close", &f.path)
	defer f.d.mu.Unlock()
	return err
}
