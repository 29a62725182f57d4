package checkpoint

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// childEnv tells the test binary to be the writer; its value is the run.
const childEnv = "RIGEL_CHECKPOINT_TEST_RUN"

// bulkyArchive is archiveOf with enough data that a kill often meets a write.
func bulkyArchive(t require.TestingT, step int64) *Archive {
	a := archiveOf(t, step)
	bulk := make([]float32, 1<<16)
	for i := range bulk {
		bulk[i] = float32(step + int64(i))
	}
	require.NoError(t, a.PutFloat32("bulk", []int{len(bulk)}, bulk))
	return a
}

// saveForever resumes the run and saves a checkpoint of every step, and prints
// each step that Save has promised to be durable.
func saveForever(path string) int {
	err := func() error {
		d, err := Open(path, Options{})
		if err != nil {
			return err
		}
		_, info, warnings, err := d.Latest()
		if err != nil || len(warnings) > 0 {
			return fmt.Errorf("%w %q", err, warnings)
		}
		if err := d.Rewind(info.Step); err != nil {
			return err
		}
		for step := info.Step + 1; ; step++ {
			if err := d.AppendMetrics(metric{step, 0.5}); err != nil {
				return err
			}
			if _, err := d.Save(step, bulkyArchive(must{}, step), float64(step%7)); err != nil {
				return err
			}
			fmt.Println(step)
		}
	}()
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// FAULTS 20, for real: a writer that is killed at a random moment leaves a
// whole checkpoint that is no older than the last one it was promised.
func TestKill(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))

	path := filepath.Join(t.TempDir(), "run")
	d, err := Create(path, runInfo{7}, Options{})
	require.NoError(t, err)
	_, err = d.Save(0, bulkyArchive(t, 0), 0)
	require.NoError(t, err)
	require.NoError(t, d.Close())

	last := int64(0)
	for range 12 {
		promised := max(last, runAndKill(t, path, random.IntN(12), time.Duration(random.IntN(8000))*time.Microsecond))

		d, err := OpenReadOnly(path, Options{})
		require.NoError(t, err)
		a, info, warnings, err := d.Latest()
		require.NoError(t, err)
		require.Empty(t, warnings)
		require.GreaterOrEqual(t, info.Step, promised)
		require.True(t, bytes.Equal(encode(t, bulkyArchive(t, info.Step).stamped(info.Step, info.Score)), encode(t, a)))
		last = info.Step
	}
	assert.Positive(t, last, "the writer came to write")

	d, err = Open(path, Options{})
	require.NoError(t, err)
	defer d.Close()
	for _, pattern := range []string{"*.tmp", "checkpoints/*.tmp"} {
		leftovers, err := filepath.Glob(filepath.Join(path, pattern))
		require.NoError(t, err)
		assert.Empty(t, leftovers)
	}
	require.NoError(t, d.Rewind(last))
	lines, err := d.Metrics()
	require.NoError(t, err)
	assert.Len(t, lines, int(last), "each step has its line once")
}

// runAndKill starts a writer, kills it some time after it was promised so many
// steps, and returns the last one that it was promised.
func runAndKill(t *testing.T, path string, steps int, delay time.Duration) (promised int64) {
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childEnv+"="+path)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())

	kill := func() {
		time.Sleep(delay)
		assert.NoError(t, cmd.Process.Kill())
	}
	if steps == 0 {
		kill()
	}
	lines := bufio.NewScanner(stdout)
	for n := 1; lines.Scan(); n++ {
		promised, err = strconv.ParseInt(lines.Text(), 10, 64)
		assert.NoError(t, err)
		if n == steps {
			kill()
		}
	}
	_ = cmd.Wait() // it was killed
	require.Empty(t, stderr.String())
	return promised
}
