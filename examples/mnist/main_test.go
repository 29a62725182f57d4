package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The test binary is the program itself when this variable is set, so that the
// tests see what a person sees: output, exit status, and what a kill leaves.
const asProgram = "RIGEL_TEST_RUN_MNIST"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// command returns the program with these flags, run in dir.
func command(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

// outcome is what a run leaves on the terminal.
type outcome struct {
	status         int
	stdout, stderr string
}

func execute(t *testing.T, cmd *exec.Cmd) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// result is the last line of standard output as -json prints it.
func result(t *testing.T, o outcome) (f figures) {
	t.Helper()
	require.Zero(t, o.status, o.stderr)
	lines := strings.Split(strings.TrimSpace(o.stdout), "\n")
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &f), o.stdout)
	return f
}

// smallSet writes IDX files of n images of 12 × 12 pixels, each class a bright
// spot of its own, and returns the folder.
func smallSet(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	for _, part := range []string{"train", "t10k"} {
		images := binary.BigEndian.AppendUint32([]byte{0, 0, 8, 3}, uint32(n))
		images = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(images, 12), 12)
		labels := binary.BigEndian.AppendUint32([]byte{0, 0, 8, 1}, uint32(n))
		for i := range n {
			class := i % 10
			for pixel := range 144 {
				v := rng.IntN(60)
				if pixel/14 == class {
					v += 120
				}
				images = append(images, byte(v))
			}
			labels = append(labels, byte(class))
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, part+"-images-idx3-ubyte"), images, 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(dir, part+"-labels-idx1-ubyte"), labels, 0o644))
	}
	return dir
}

func TestContract(t *testing.T) {
	data, dir := smallSet(t, 500), t.TempDir()
	for _, method := range []string{"rigl", "set", "static", "dense"} {
		f := result(t, execute(t, command(dir, "-data", data, "-method", method, "-epochs", "3", "-out", method, "-json")))
		assert.Greater(t, f.TestAccuracy, 0.8, method)
		assert.Equal(t, 3, f.Epochs)
		assert.Equal(t, 3*8, f.Steps, "500 samples in batches of 64, the last one short")
		assert.Positive(t, f.StepsPerSecond)
		assert.Positive(t, f.PeakRSSMB)
		assert.Len(t, f.WeightsSHA256, 64)
		assert.FileExists(t, filepath.Join(dir, f.Checkpoint))
		assert.FileExists(t, filepath.Join(dir, method, "run.png"))
		assert.FileExists(t, filepath.Join(dir, method, "metrics.jsonl"))
		total := 144*300 + 300*100 + 100*10
		require.Len(t, f.Layers, 3)
		assert.Equal(t, f.NNZ, f.Layers[0].NNZ+f.Layers[1].NNZ+f.Layers[2].NNZ)
		assert.InDelta(t, 1-float64(f.NNZ)/float64(total), f.Sparsity, 1e-12)
		if method == "dense" {
			assert.Equal(t, total, f.NNZ)
		} else {
			assert.Equal(t, 7420, f.NNZ, "a tenth of 74200")
		}
	}
}

func TestSameWeightsOnAnyNumberOfThreads(t *testing.T) {
	data, dir := smallSet(t, 700), t.TempDir()
	hashes := map[string]bool{}
	for _, threads := range []string{"1", "2", "3"} {
		cmd := command(dir, "-data", data, "-epochs", "12", "-seed", "7", "-out", "threads"+threads, "-json")
		cmd.Env = append(cmd.Env, "GOMAXPROCS="+threads)
		hashes[result(t, execute(t, cmd)).WeightsSHA256] = true
	}
	assert.Len(t, hashes, 1)
}

func TestKilledAndResumedEndsWithTheSameWeights(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills processes for a few seconds")
	}
	data, dir := smallSet(t, 6000), t.TempDir()
	args := []string{"-data", data, "-epochs", "8", "-json"}
	want := result(t, execute(t, command(dir, append(args, "-out", "whole")...)))

	cmd := command(dir, append(args, "-out", "killed")...)
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { // a checkpoint between two epochs' ends (94 steps each)
		_, err := os.Stat(filepath.Join(dir, "killed/checkpoints/step-000000250.safetensors"))
		return err == nil
	}, time.Minute, time.Millisecond)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())

	resumed := execute(t, command(dir, "-resume", "killed", "-json"))
	got := result(t, resumed)
	assert.Equal(t, want.WeightsSHA256, got.WeightsSHA256)
	assert.Equal(t, want.Steps, got.Steps)
	assert.Equal(t, want.TestAccuracy, got.TestAccuracy)
	assert.Contains(t, resumed.stderr, "resumed after step")
}

func TestUsage(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{
		{"-method", "magic"}, {"-dist", "even"},
		{"-sparsity", "1"}, {"-sparsity", "-0.1"}, {"-sparsity", "NaN"}, {"-sparsity", "most"},
		{"-epochs", "0"}, {"-epochs", "-3"}, {"-batch", "0"}, {"-batch", "1000000"},
		{"-lr", "0"}, {"-lr", "-1"}, {"-lr", "NaN"}, {"-lr", "Inf"}, {"-seed", "-1"},
		{"-out", "a", "-resume", "b"}, {"-unknown"}, {"surplus"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			o := execute(t, command(dir, args...))
			assert.Equal(t, 2, o.status)
			assert.Empty(t, o.stdout)
			assert.Regexp(t, `^mnist: .+\n$`, o.stderr, "one line")
		})
	}
	help := execute(t, command(dir, "-h"))
	assert.Zero(t, help.status)
	assert.Contains(t, help.stderr, "-sparsity")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left, "bad flags leave nothing behind")
}

// fails runs the program and requires one clear line and exit status 1.
func fails(t *testing.T, wantLine string, cmd *exec.Cmd) {
	t.Helper()
	o := execute(t, cmd)
	assert.Equal(t, 1, o.status, o.stdout)
	lines := strings.Split(strings.TrimSpace(o.stderr), "\n")
	assert.Contains(t, lines[len(lines)-1], wantLine)
	assert.NotContains(t, o.stderr, "goroutine")
}

func TestFailuresLeaveTheRunAlone(t *testing.T) {
	data, dir := smallSet(t, 300), t.TempDir()
	f := result(t, execute(t, command(dir, "-data", data, "-epochs", "1", "-out", "run", "-json")))
	before := contents(t, filepath.Join(dir, "run"))

	fails(t, "already holds a run", command(dir, "-data", data, "-epochs", "1", "-out", "run"))
	fails(t, "batch size was 64, is now 32", command(dir, "-resume", "run", "-batch", "32"))
	fails(t, "parameter 0 was", command(dir, "-resume", "run", "-sparsity", "0.5"))
	fails(t, "data was", command(dir, "-resume", "run", "-data", smallSet(t, 200)))
	fails(t, "holds no run", command(dir, "-resume", "nowhere"))
	fails(t, "nosuch", command(dir, "-data", "nosuch", "-out", "other"))
	fails(t, "leaves layer", command(dir, "-data", data, "-sparsity", "0.99999", "-out", "other"))
	assert.Equal(t, before, contents(t, filepath.Join(dir, "run")))
	assert.NoDirExists(t, filepath.Join(dir, "other"))

	// The only checkpoint, damaged in turn by a flipped bit and by a foreign file.
	path := filepath.Join(dir, f.Checkpoint)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-9] ^= 4
	for name, damaged := range map[string][]byte{"checksum": flipped, "header": []byte("not a checkpoint"), "truncated": {}} {
		require.NoError(t, os.WriteFile(path, damaged, 0o644))
		fails(t, "no checkpoint to load", command(dir, "-resume", "run"))
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, damaged, got, "left as it was: %s", name)
		require.NoError(t, os.WriteFile(path, whole, 0o644))
	}
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		all[path] = fmt.Sprintf("%x", b)
		return err
	}))
	return all
}
