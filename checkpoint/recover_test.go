package checkpoint

import (
	"io/fs"
	"math"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rigel-ml/rigel/checkpoint/internal/fsys"
	"github.com/rigel-ml/rigel/checkpoint/internal/simdisk"
)

// FAULTS 22: a damaged checkpoint is passed over with a warning.
func TestLatestFallsBack(t *testing.T) {
	disk := simdisk.New()
	d := newRun(t, disk, "/run", Options{})
	for step := int64(1); step <= 3; step++ {
		save(t, d, step, float64(step))
	}
	requireLatest := func(want int64, damaged ...int64) {
		t.Helper()
		for _, load := range []func() (*Archive, Info, []string, error){d.Latest, d.Best} {
			a, info, warnings, err := load()
			require.NoError(t, err)
			assert.Equal(t, want, info.Step)
			requireWhole(t, a, info)
			require.Len(t, warnings, len(damaged))
			for _, step := range damaged {
				assert.Contains(t, strings.Join(warnings, "\n"), d.stepPath(step))
			}
		}
	}
	requireLatest(3)
	disk.Flip(d.stepPath(3), 8*200)
	requireLatest(2, 3)
	disk.Flip(d.stepPath(2), 63) // the length of the header
	requireLatest(1, 2, 3)

	require.NoError(t, d.Rewind(1))
	requireLatest(1)
	save(t, d, 2, 7)
	requireLatest(2)
	assert.Contains(t, disk.Files(), d.stepPath(3)+staleSuffix, "damaged files are set aside, not removed")

	disk.Flip(d.stepPath(1), 0)
	disk.Flip(d.stepPath(2), 0)
	_, _, warnings, err := d.Latest()
	require.ErrorIs(t, err, ErrNoCheckpoint)
	assert.Len(t, warnings, 2)
	assert.ErrorContains(t, err, "all 2 are damaged")
}

func TestLatestPassesOverUnreadable(t *testing.T) {
	disk := simdisk.New()
	d := newRun(t, disk, "/run", Options{})
	save(t, d, 1, 1)
	save(t, d, 2, 2)
	disk.Arm(simdisk.Fault{At: 4, Err: syscall.EIO}) // readdir, open, stat, read
	_, info, warnings, err := d.Latest()
	require.NoError(t, err)
	assert.EqualValues(t, 1, info.Step)
	require.Len(t, warnings, 1)
	assert.Contains(t, warnings[0], syscall.EIO.Error())
}

// A reader without a lock looks again when a writer removed what it had listed.
func TestLatestLooksAgain(t *testing.T) {
	disk := simdisk.New()
	d := newRun(t, disk, "/run", Options{})
	save(t, d, 1, 1)
	disk.Arm(simdisk.Fault{At: 2, Err: fs.ErrNotExist}) // readdir, open
	_, info, warnings, err := d.Latest()
	require.NoError(t, err)
	assert.EqualValues(t, 1, info.Step)
	assert.Empty(t, warnings)

	disk.Arm(simdisk.Fault{At: 2, Err: fs.ErrNotExist, Sticky: true})
	_, _, _, err = d.Latest()
	require.ErrorIs(t, err, fs.ErrNotExist, "but not forever")
}

// FAULTS 25: a checkpoint of a newer Rigel is not damaged, so it must not be
// passed over.
func TestLatestStopsAtNewerVersion(t *testing.T) {
	disk := simdisk.New()
	d := newRun(t, disk, "/run", Options{})
	save(t, d, 1, 1)
	newer := map[string]string{keyVersion: "2", keyStep: "2", keyScore: "2"}
	putFile(t, disk, d.stepPath(2), seal(t, newer))
	_, _, _, err := d.Latest()
	require.ErrorIs(t, err, ErrVersion)
	assert.ErrorContains(t, err, d.stepPath(2))
}

func TestLatestChecksTheStepInTheName(t *testing.T) {
	disk := simdisk.New()
	d := newRun(t, disk, "/run", Options{})
	save(t, d, 1, 1)
	putFile(t, disk, d.stepPath(2), encode(t, archiveOf(t, 9).stamped(9, 9)))
	for _, load := range []func() (*Archive, Info, []string, error){d.Latest, d.Best} {
		_, info, warnings, err := load()
		require.NoError(t, err)
		assert.EqualValues(t, 1, info.Step)
		assert.Len(t, warnings, 1)
	}
}

func putFile(t *testing.T, disk fsys.FS, path string, content []byte) {
	f, err := disk.Append(path)
	require.NoError(t, err)
	_, err = f.Write(content)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

func TestRewind(t *testing.T) {
	onBothDisks(t, func(t *testing.T, disk fsys.FS, path string) {
		d := newRun(t, disk, path, Options{Keep: 9})
		for step := int64(1); step <= 4; step++ {
			require.NoError(t, d.AppendMetrics(metric{step, 0.5}))
			save(t, d, step, noScore)
		}
		require.NoError(t, d.Rewind(4), "nothing to do")
		require.NoError(t, d.Rewind(2))
		requireSteps(t, d, 1, 2)
		requireMetrics(t, d, 1, 2)

		require.NoError(t, d.AppendMetrics(metric{3, 0.25}))
		save(t, d, 3, noScore)
		requireSteps(t, d, 1, 2, 3)
		requireMetrics(t, d, 1, 2, 3)
		require.NoError(t, d.Rewind(-1), "to before the first step")
		requireSteps(t, d)
		requireMetrics(t, d)
	})
}

func requireMetrics(t *testing.T, d *Dir, want ...int64) {
	t.Helper()
	lines, err := d.Metrics()
	require.NoError(t, err)
	var got []int64
	for _, line := range lines {
		step, ok := stepOf(line)
		require.True(t, ok)
		got = append(got, step)
	}
	require.Equal(t, want, got)
}

func TestAppendMetricsRefuses(t *testing.T) {
	d := newRun(t, simdisk.New(), "/run", Options{})
	for name, v := range map[string]any{
		"no object":       3,
		"null":            nil,
		"no step":         map[string]int{"loss": 1},
		"step of a float": map[string]float64{"step": 1.5},
		"step of a text":  map[string]string{"step": "1"},
		"NaN":             metric{1, math.NaN()},
		"no JSON":         make(chan int),
	} {
		assert.Error(t, d.AppendMetrics(v), name)
	}
	requireMetrics(t, d)
	require.NoError(t, d.AppendMetrics(jsontext.Value("{\n\"step\":\n 1}\n")))
	requireMetrics(t, d, 1)
}

// What a crash leaves of the last lines does not spoil those that follow.
func TestMetricsAreMended(t *testing.T) {
	const whole = `{"step":1}` + "\n"
	for name, tail := range map[string]string{
		"half a line":             `{"step":2,"lo`,
		"whole but for its end":   `{"step":2}`,
		"zeros":                   "\x00\x00\x00",
		"zeros in front of a end": "\x00\x00\x00:2}\n",
	} {
		t.Run(name, func(t *testing.T) {
			disk := simdisk.New()
			d := newRun(t, disk, "/run", Options{})
			require.NoError(t, d.Close())
			putFile(t, disk, filepath.Join("/run", metricsFile), []byte(whole+tail))
			requireMetrics(t, d, 1)

			d, err := open(disk, "/run", Options{})
			require.NoError(t, err)
			require.NoError(t, d.AppendMetrics(metric{2, 0.5}))
			requireMetrics(t, d, 1, 2)
			content, err := readFile(disk, filepath.Join("/run", metricsFile))
			require.NoError(t, err)
			assert.Equal(t, whole+`{"step":2,"loss":0.5}`+"\n", string(content))
		})
	}
}

// A failed append leaves nothing that a later one could be glued to.
func TestAppendMetricsAfterFailure(t *testing.T) {
	disk := simdisk.New()
	d := newRun(t, disk, "/run", Options{})
	require.NoError(t, d.AppendMetrics(metric{1, 0.5}))
	for range 2 { // the write fails, then the truncation that mends it
		disk.Arm(simdisk.Fault{At: 1, Err: syscall.ENOSPC, Short: true})
		require.ErrorIs(t, d.AppendMetrics(metric{2, 0.5}), syscall.ENOSPC)
	}
	require.NoError(t, d.AppendMetrics(metric{3, 0.5}))
	requireMetrics(t, d, 1, 3)
}
