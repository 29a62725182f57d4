// Package simdisk is a disk in memory that fails on command, for tests.
//
// It tells apart what a program sees from what survives a crash: content is
// safe once the file was synced, names are safe once their directory was.
// Each operation has a number, and a [Fault] says what happens at one of them.
package simdisk

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"
)

// ErrCrashed is the error of every operation from the crash on.
var ErrCrashed = errors.New("simulated crash")

// Fault says what goes wrong at operation At, counted from 1; 0 is never.
type Fault struct {
	At     int
	Err    error // what the operation returns; ErrCrashed ends the simulation
	Sticky bool  // whether all later operations fail too
	Short  bool  // whether a write that fails stores its first half
}

// Disk is a simulated disk that implements fsys.FS. All its methods are safe
// for concurrent use. Its root directory "/" always exists.
type Disk struct {
	mu      sync.Mutex
	names   map[string]*inode // what the program sees
	durable map[string]*inode // what is left if no pending change survives
	pending []change
	locked  map[string]bool
	ops     int
	fault   Fault
	failed  string // the operation that the fault hit
}

// inode is a directory, or a file with what was last synced of it.
type inode struct {
	dir          bool
	data, synced []byte
}

// change is an update of the names in directory dir that a crash may undo.
type change struct {
	dir   string
	apply func(names map[string]*inode)
}

// New returns an empty disk.
func New() *Disk {
	root := &inode{dir: true}
	return &Disk{
		names:   map[string]*inode{"/": root},
		durable: map[string]*inode{"/": root},
		locked:  map[string]bool{},
	}
}

// Arm restarts the count of operations and installs a fault.
func (d *Disk) Arm(f Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ops, d.fault, d.failed = 0, f, ""
}

// Failed describes the first operation that the fault hit; "" if none.
func (d *Disk) Failed() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed
}

// Files returns the paths of all files that the program sees, sorted.
func (d *Disk) Files() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var paths []string
	for path, n := range d.names {
		if !n.dir {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// Flip inverts one bit of a file, on the medium and for the program.
func (d *Disk) Flip(path string, bit int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.names[path]
	n.data = slices.Clone(n.data)
	n.data[bit/8] ^= 1 << (bit % 8)
	n.synced = n.data
}

// Survival says what a crash leaves of content that was not synced.
type Survival int

// The three things that happen to content that was not synced.
const (
	Lost Survival = iota // nothing of it reached the disk
	Torn                 // its first half did; the rest reads as zeros
	Kept                 // all of it did
)

// Pending returns how many changes of names a crash may undo.
func (d *Disk) Pending() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.pending)
}

// AfterCrash returns a healthy disk with what is left when the machine stops
// now, the first kept of the pending changes of names have reached the disk,
// and s happened to content. The disk itself is unchanged.
func (d *Disk) AfterCrash(kept int, s Survival) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	names := maps.Clone(d.durable)
	for _, c := range d.pending[:kept] {
		c.apply(names)
	}
	left := New()
	for path, n := range names {
		if reachable(names, path) {
			data := n.afterCrash(s)
			left.names[path] = &inode{n.dir, data, data}
		}
	}
	left.durable = maps.Clone(left.names)
	return left
}

func (n *inode) afterCrash(s Survival) []byte {
	switch s {
	case Lost:
		return n.synced
	case Kept:
		return n.data
	}
	torn := make([]byte, len(n.data))
	safe := min(len(n.synced), len(n.data))
	copy(torn, n.data[:safe+(len(n.data)-safe)/2])
	return torn
}

// reachable reports whether all directories above path are there.
func reachable(names map[string]*inode, path string) bool {
	for path != "/" {
		path = filepath.Dir(path)
		if n, ok := names[path]; !ok || !n.dir {
			return false
		}
	}
	return true
}

// step counts an operation and returns the error that the fault wants of it.
// The caller holds mu.
func (d *Disk) step(op, path string) error {
	d.ops++
	hit := d.ops == d.fault.At
	if d.fault.At > 0 && d.ops > d.fault.At {
		hit = d.fault.Sticky || errors.Is(d.fault.Err, ErrCrashed)
	}
	if !hit {
		return nil
	}
	err := &fs.PathError{Op: op, Path: path, Err: d.fault.Err}
	if d.failed == "" {
		d.failed = op + " " + path
	}
	return err
}

// change updates the names in dir for the program, and for the disk once dir
// is synced. The caller holds mu.
func (d *Disk) change(dir string, apply func(names map[string]*inode)) {
	apply(d.names)
	d.pending = append(d.pending, change{dir, apply})
}
