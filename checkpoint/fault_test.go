package checkpoint

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rigel-ml/rigel/checkpoint/internal/simdisk"
)

const runPath = "/runs/a"

// scenario is something that is done to a run, and that may fail or be cut
// short at each single operation.
type scenario struct {
	// saved is how many checkpoints, with metrics, the run has before; no run
	// if it is negative. The first is the best one.
	saved int64

	// act does it and reports whether it has been promised to last.
	act func(disk *simdisk.Disk) (promised bool, err error)

	// check requires that the disk is in the state before act or after it,
	// and after it if that was promised.
	check func(t require.TestingT, disk *simdisk.Disk, promised bool)
}

var scenarios = map[string]scenario{
	"create": {
		saved: -1,
		act: func(disk *simdisk.Disk) (bool, error) {
			d, err := create(disk, runPath, runInfo{7}, Options{})
			if err != nil {
				return false, err
			}
			return true, d.Close()
		},
		check: func(t require.TestingT, disk *simdisk.Disk, promised bool) {
			d, err := open(disk, runPath, Options{})
			if errors.Is(err, ErrNoRun) && !promised {
				d, err = create(disk, runPath, runInfo{7}, Options{})
			}
			require.NoError(t, err)
			requireHealthy(t, disk, d, 0)
		},
	},
	"append and save": {
		saved: 3,
		act: func(disk *simdisk.Disk) (bool, error) {
			return inRun(disk, func(d *Dir) (bool, error) {
				if err := d.AppendMetrics(metric{4, 0.5}); err != nil {
					return false, err
				}
				path, err := d.Save(4, archiveOf(must{}, 4), -4)
				return path != "", err
			})
		},
		check: func(t require.TestingT, disk *simdisk.Disk, promised bool) {
			requireRun(t, disk, 3, 4, promised)
		},
	},
	"rewind": {
		saved: 4,
		act: func(disk *simdisk.Disk) (bool, error) {
			return inRun(disk, func(d *Dir) (bool, error) {
				err := d.Rewind(3)
				return err == nil, err
			})
		},
		check: func(t require.TestingT, disk *simdisk.Disk, promised bool) {
			requireRun(t, disk, 4, 3, promised)
		},
	},
}

// inRun opens the run and closes it when act is done.
func inRun(disk *simdisk.Disk, act func(d *Dir) (bool, error)) (promised bool, err error) {
	d, err := open(disk, runPath, Options{Keep: 2})
	if err != nil {
		return false, err
	}
	promised, err = act(d)
	return promised, errors.Join(err, d.Close())
}

// prepare returns a disk with the run that the scenario starts from.
func (s scenario) prepare(t testing.TB) *simdisk.Disk {
	disk := simdisk.New()
	if s.saved < 0 {
		return disk
	}
	d := newRun(t, disk, runPath, Options{Keep: 2})
	for step := int64(1); step <= s.saved; step++ {
		require.NoError(t, d.AppendMetrics(metric{step, 0.5}))
		save(t, d, step, -float64(step))
	}
	require.NoError(t, d.Close())
	return disk
}

// requireRun opens the run and requires that it ends at the step it had before
// or after, and at the latter if that was promised.
func requireRun(t require.TestingT, disk *simdisk.Disk, before, after int64, promised bool) {
	d, err := open(disk, runPath, Options{Keep: 2})
	require.NoError(t, err)
	a, info, warnings, err := d.Latest()
	require.NoError(t, err)
	require.Empty(t, warnings)
	requireWhole(t, a, info)
	if info.Step != after {
		require.Equal(t, before, info.Step)
		require.False(t, promised, "what was promised is gone")
	}
	a, best, warnings, err := d.Best()
	require.NoError(t, err)
	require.Empty(t, warnings)
	require.EqualValues(t, 1, best.Step)
	requireWhole(t, a, best)
	requireHealthy(t, disk, d, info.Step)
}

// requireHealthy requires that an open run that ends at step has all its
// metrics and no leftovers, and can go on.
func requireHealthy(t require.TestingT, disk *simdisk.Disk, d *Dir, step int64) {
	require.False(t, slices.ContainsFunc(disk.Files(), isTmp), "leftovers: %v", disk.Files())
	lines, err := d.Metrics()
	require.NoError(t, err)
	require.GreaterOrEqual(t, int64(len(lines)), step)
	for i, line := range lines {
		lineStep, ok := stepOf(line)
		require.True(t, ok)
		require.EqualValues(t, i+1, lineStep)
	}
	require.NoError(t, d.Rewind(step))
	save(t, d, step+1, math.Inf(-1))
	_, info, _, err := d.Latest()
	require.NoError(t, err)
	require.Equal(t, step+1, info.Step)
	require.NoError(t, d.Close())
}

func isTmp(path string) bool { return filepath.Ext(path) == tmpSuffix }

// FAULTS 21: whichever operation fails, once or from then on, there is an
// error, nothing that was there is lost, and nothing is left lying about.
func TestEveryOperationFails(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EIO} {
		for _, sticky := range []bool{false, true} {
			for _, short := range []bool{false, true} {
				fault := simdisk.Fault{Err: errno, Sticky: sticky, Short: short}
				for name, s := range scenarios {
					t.Run(fmt.Sprintf("%s/%v/sticky=%v/short=%v", name, errno, sticky, short), func(t *testing.T) {
						s.failEverywhere(t, fault)
					})
				}
			}
		}
	}
}

func (s scenario) failEverywhere(t *testing.T, fault simdisk.Fault) {
	for fault.At = 1; ; fault.At++ {
		disk := s.prepare(t)
		disk.Arm(fault)
		promised, err := s.act(disk)
		failed := disk.Failed()
		if failed == "" {
			require.NoError(t, err)
			require.Greater(t, fault.At, 10, "the scenario has operations")
			return
		}
		here := at(t, "operation %d, %s", fault.At, failed)
		if err == nil {
			// Closing a file that was only read cannot lose anything.
			require.True(here, strings.HasPrefix(failed, "close ") && !isTmp(failed), "no error")
		} else {
			require.ErrorIs(here, err, fault.Err)
		}
		if !fault.Sticky {
			require.False(here, slices.ContainsFunc(disk.Files(), isTmp), "leftovers: %v", disk.Files())
		}
		disk.Arm(simdisk.Fault{})
		s.check(here, disk, promised)
	}
}

// FAULTS 20: whichever operation is the last before the machine stops, the old
// or the new state is there whole, whatever became of what was not synced.
func TestCrashAtEveryOperation(t *testing.T) {
	for name, s := range scenarios {
		for _, short := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/short=%v", name, short), func(t *testing.T) {
				s.crashEverywhere(t, simdisk.Fault{Err: simdisk.ErrCrashed, Short: short})
			})
		}
	}
}

func (s scenario) crashEverywhere(t *testing.T, fault simdisk.Fault) {
	for fault.At = 1; ; fault.At++ {
		disk := s.prepare(t)
		disk.Arm(fault)
		promised, err := s.act(disk)
		for kept := range disk.Pending() + 1 {
			for _, survival := range []simdisk.Survival{simdisk.Lost, simdisk.Torn, simdisk.Kept} {
				here := at(t, "operation %d, %s, %d changes of names kept, content %d",
					fault.At, disk.Failed(), kept, survival)
				s.check(here, disk.AfterCrash(kept, survival), promised)
			}
		}
		if disk.Failed() == "" { // the crash came after the last operation
			require.NoError(t, err)
			return
		}
	}
}

// located is a test that says where it failed.
type located struct {
	testing.TB
	where string
}

func at(t testing.TB, format string, args ...any) located {
	return located{t, fmt.Sprintf(format, args...)}
}

func (l located) Errorf(format string, args ...any) {
	l.Helper()
	l.TB.Errorf("%s: %s", l.where, fmt.Sprintf(format, args...))
}

// must is for helpers where there is no test to fail.
type must struct{}

func (must) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (must) FailNow()                          { panic("failed") }
