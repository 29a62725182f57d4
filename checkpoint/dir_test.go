package checkpoint

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rigel-ml/rigel/checkpoint/internal/fsys"
	"github.com/rigel-ml/rigel/checkpoint/internal/simdisk"
)

// onBothDisks runs a test on the machine's file system and on the simulated
// one, which keeps the simulation honest.
func onBothDisks(t *testing.T, test func(t *testing.T, disk fsys.FS, path string)) {
	t.Run("os", func(t *testing.T) { test(t, fsys.OS{}, filepath.Join(t.TempDir(), "runs", "a")) })
	t.Run("simulated", func(t *testing.T) { test(t, simdisk.New(), "/runs/a") })
}

func save(t require.TestingT, d *Dir, step int64, score float64) {
	path, err := d.Save(step, archiveOf(t, step), score)
	require.NoError(t, err)
	require.Equal(t, d.stepPath(step), path)
}

func requireSteps(t *testing.T, d *Dir, want ...int64) {
	t.Helper()
	got, err := d.steps()
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestRunLifeCycle(t *testing.T) {
	onBothDisks(t, func(t *testing.T, disk fsys.FS, path string) {
		_, err := open(disk, path, Options{})
		require.ErrorIs(t, err, ErrNoRun)

		d := newRun(t, disk, path, Options{})
		assert.Equal(t, path, d.Path())
		_, _, _, err = d.Latest()
		require.ErrorIs(t, err, ErrNoCheckpoint)
		_, _, _, err = d.Best()
		require.ErrorIs(t, err, ErrNoCheckpoint)
		for step := int64(100); step <= 300; step += 100 {
			require.NoError(t, d.AppendMetrics(metric{step, 1 / float64(step)}))
			save(t, d, step, -float64(step))
		}
		require.NoError(t, d.Close())
		require.NoError(t, d.Close())

		d, err = open(disk, path, Options{})
		require.NoError(t, err)
		defer d.Close()
		var info runInfo
		require.NoError(t, d.RunInfo(&info))
		assert.Equal(t, runInfo{7}, info)
		assert.Error(t, d.RunInfo(&metric{}), "an unknown field")

		a, latest, warnings, err := d.Latest()
		require.NoError(t, err)
		assert.Empty(t, warnings)
		assert.Equal(t, Info{d.stepPath(300), 300, -300}, latest)
		requireWhole(t, a, latest)

		a, best, warnings, err := d.Best()
		require.NoError(t, err)
		assert.Empty(t, warnings)
		assert.Equal(t, Info{d.stepPath(100), 100, -100}, best)
		requireWhole(t, a, best)

		lines, err := d.Metrics()
		require.NoError(t, err)
		assert.Equal(t, `{"step":200,"loss":0.005}`, string(lines[1]))
	})
}

func TestCreateRefuses(t *testing.T) {
	write := func(t *testing.T, disk fsys.FS, path string) {
		require.NoError(t, mkdirAll(disk, filepath.Dir(path)))
		f, err := disk.Create(path)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	tests := map[string]struct {
		there string // a file that is there before
		opt   Options
		info  any
		is    error // nil: any
	}{
		"run":               {there: runFile, is: ErrExists},
		"only metrics":      {there: metricsFile, is: ErrExists},
		"only a checkpoint": {there: "checkpoints/step-000000001.safetensors", is: ErrExists},
		"negative Keep":     {opt: Options{Keep: -1}},
		"info not JSON":     {info: math.NaN()},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			disk := simdisk.New()
			if tt.there != "" {
				write(t, disk, filepath.Join("/run", tt.there))
			}
			before := disk.Files()
			_, err := create(disk, "/run", tt.info, tt.opt)
			require.Error(t, err)
			if tt.is != nil {
				require.ErrorIs(t, err, tt.is)
				assert.ErrorContains(t, err, "/run")
			}
			assert.Equal(t, before, disk.Files(), "nothing is touched")
		})
	}
	t.Run("other files are welcome", func(t *testing.T) {
		disk := simdisk.New()
		write(t, disk, "/run/notes.txt")
		newRun(t, disk, "/run", Options{})
	})
}

// FAULTS 25: a second writer is turned away, a reader is not.
func TestLock(t *testing.T) {
	onBothDisks(t, func(t *testing.T, disk fsys.FS, path string) {
		d := newRun(t, disk, path, Options{})
		save(t, d, 1, noScore)
		_, err := open(disk, path, Options{})
		require.ErrorIs(t, err, ErrLocked)
		assert.ErrorContains(t, err, path)
		_, err = create(disk, path, nil, Options{})
		require.ErrorIs(t, err, ErrLocked)

		r, err := openReadOnly(disk, path, Options{})
		require.NoError(t, err)
		a, info, _, err := r.Latest()
		require.NoError(t, err)
		requireWhole(t, a, info)

		require.NoError(t, d.Close())
		for _, closed := range []*Dir{r, d} {
			_, err = closed.Save(2, NewArchive(), noScore)
			assert.ErrorIs(t, err, ErrReadOnly)
			assert.ErrorIs(t, closed.AppendMetrics(metric{}), ErrReadOnly)
			assert.ErrorIs(t, closed.Rewind(0), ErrReadOnly)
			_, _, _, err = closed.Latest()
			assert.NoError(t, err)
		}
		d, err = open(disk, path, Options{})
		require.NoError(t, err, "closing released the lock")
		require.NoError(t, d.Close())
	})
}

func TestLoad(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	d, err := Create(dir, nil, Options{})
	require.NoError(t, err)
	defer d.Close()
	path, err := d.Save(1234567890123, archiveOf(t, 1234567890123), 0.25)
	require.NoError(t, err)
	assert.Equal(t, "step-1234567890123.safetensors", filepath.Base(path), "more digits than usual")

	moved := filepath.Join(t.TempDir(), "model.safetensors")
	require.NoError(t, os.Rename(path, moved))
	a, info, err := Load(moved)
	require.NoError(t, err)
	assert.Equal(t, Info{moved, 1234567890123, 0.25}, info)
	requireWhole(t, a, info)

	_, _, err = Load(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.Truncate(moved, 100))
	_, _, err = Load(moved)
	assert.ErrorContains(t, err, moved)

	unstamped := filepath.Join(t.TempDir(), "weights.safetensors")
	require.NoError(t, os.WriteFile(unstamped, encode(t, archiveOf(t, 1)), 0o600))
	_, _, err = Load(unstamped)
	require.ErrorIs(t, err, ErrFormat)
	assert.ErrorContains(t, err, keyStep)
}

func TestOpenRemovesLeftovers(t *testing.T) {
	onBothDisks(t, func(t *testing.T, disk fsys.FS, path string) {
		d := newRun(t, disk, path, Options{})
		save(t, d, 1, noScore)
		require.NoError(t, d.Close())
		mine := []string{"notes.tmp", "checkpoints/step-x.safetensors.tmp", "checkpoints/step-000000001.safetensors.bak"}
		left := []string{"run.json.tmp", "metrics.jsonl.tmp", "checkpoints/step-000000002.safetensors.tmp"}
		for _, name := range slices.Concat(mine, left) {
			f, err := disk.Create(filepath.Join(path, name))
			require.NoError(t, err)
			require.NoError(t, f.Close())
		}
		exists := func(name string) bool {
			f, err := disk.Open(filepath.Join(path, name))
			if err == nil {
				require.NoError(t, f.Close())
			}
			return err == nil
		}

		r, err := openReadOnly(disk, path, Options{})
		require.NoError(t, err)
		_, info, warnings, err := r.Latest()
		require.NoError(t, err)
		assert.EqualValues(t, 1, info.Step)
		assert.Empty(t, warnings, "leftovers are ignored")
		assert.True(t, exists(left[0]), "a reader removes nothing")

		d, err = open(disk, path, Options{})
		require.NoError(t, err)
		require.NoError(t, d.Close())
		for _, name := range left {
			assert.False(t, exists(name), name)
		}
		for _, name := range mine {
			assert.True(t, exists(name), name)
		}
	})
}

func TestDirIsSafeForConcurrentUse(t *testing.T) {
	d := newRun(t, simdisk.New(), "/run", Options{})
	const writers, each = 4, 20
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for step := range int64(each) {
				assert.NoError(t, d.AppendMetrics(metric{step, 0.5}))
			}
		})
	}
	for step := range int64(each) {
		save(t, d, step, noScore)
		_, info, warnings, err := d.Latest()
		require.NoError(t, err)
		assert.Equal(t, step, info.Step)
		assert.Empty(t, warnings)
	}
	wg.Wait()
	lines, err := d.Metrics()
	require.NoError(t, err)
	assert.Len(t, lines, writers*each)
}
