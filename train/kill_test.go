package train_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rigel-ml/rigel/ops/cpu"
	"github.com/rigel-ml/rigel/train"
)

const (
	childEnv = "RIGEL_TRAIN_TEST_RUN"  // tells the test binary to train; the run directory
	waitEnv  = "RIGEL_TRAIN_TEST_WAIT" // the step at which it waits for a signal, if any

	exitInterrupted = 3
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		os.Exit(child(dir))
	}
	os.Exit(m.Run())
}

// killed is the run that is killed: longer than others, and saved at nearly
// each step, so that a kill often meets a write.
func killed(t require.TestingT) train.Config {
	c := standard(t)
	c.Epochs, c.SaveEvery = 8, 2
	return c
}

// must lets the child use the helpers of the tests.
type must struct{}

func (must) Errorf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
func (must) FailNow()                          { os.Exit(1) }

// child begins the run, or goes on with it, and prints each step that it took.
func child(dir string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	c := killed(must{})
	c.Dir = dir
	_, err := os.Stat(filepath.Join(dir, "run.json"))
	c.Resume = err == nil
	c.Observer = &recorder{onStep: func(s train.Step) {
		fmt.Println(s.Step)
		if fmt.Sprint(s.Step) == os.Getenv(waitEnv) {
			<-ctx.Done()
		}
		time.Sleep(time.Millisecond / 2) // or a fast disk lets it end before it can be killed
	}}
	l, err := train.New(cpu.NewThreads(2), c)
	if err == nil {
		_, err = l.Fit(ctx)
	}
	if errors.Is(err, train.ErrInterrupted) {
		return exitInterrupted
	}
	require.NoError(must{}, err)
	return 0
}

// runChild trains in another process, sends it a signal after it took so many
// steps, and returns the last step that it took and how it ended.
func runChild(t *testing.T, dir string, after int, delay time.Duration, sig os.Signal, env ...string) (last int, state *os.ProcessState) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), childEnv+"="+dir), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for n := 1; lines.Scan(); n++ {
		last, err = strconv.Atoi(lines.Text())
		require.NoError(t, err)
		if n == after {
			time.Sleep(delay)
			require.NoError(t, cmd.Process.Signal(sig))
		}
	}
	_ = cmd.Wait() // the state says it
	assert.Empty(t, stderr.String())
	return last, cmd.ProcessState
}

// A run that is killed without warning, again and again and at any moment, ends
// with the very bits of one that was left alone.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	want, _ := reference(t, killed(t))
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 2 {
		dir := filepath.Join(t.TempDir(), "run")
		kills := 0
		for range 30 { // more than enough, as each life is at least a step longer
			after, delay := 1+rng.IntN(16), time.Duration(rng.IntN(4000))*time.Microsecond
			_, state := runChild(t, dir, after, delay, syscall.SIGKILL)
			if state.Success() {
				break
			}
			require.Equal(t, syscall.SIGKILL, state.Sys().(syscall.WaitStatus).Signal())
			kills++
		}
		assert.Positive(t, kills)
		assert.Equal(t, want, outcomeOf(t, dir))
		assert.Empty(t, leftovers(t, dir))
	}
}

// leftovers are files of a writer that died.
func leftovers(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	for path := range files(t, dir) {
		if filepath.Ext(path) == ".tmp" {
			all = append(all, path)
		}
	}
	return all
}

// What a scheduler or a person sends ends the run in good order.
func TestSignals(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	want, _ := reference(t, killed(t))
	for _, sig := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		t.Run(sig.String(), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			last, state := runChild(t, dir, 5, 0, sig, waitEnv+"=5")
			require.Equal(t, exitInterrupted, state.ExitCode())
			assert.Equal(t, 5, last, "the step at hand is the last")
			assert.EqualValues(t, 5, outcomeOf(t, dir).Step, "and saved")
			c := killed(t)
			c.Dir, c.Resume = dir, true
			fit(t, c)
			assert.Equal(t, want, outcomeOf(t, dir))
		})
	}
}
