package checkpoint

import (
	"bytes"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rigel-ml/rigel/checkpoint/internal/fsys"
	"github.com/rigel-ml/rigel/sparse"
)

// TestMain runs the writer of TestKill in place of the tests when the test
// binary is started as its child.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		os.Exit(saveForever(dir))
	}
	os.Exit(m.Run())
}

// noScore is the score of a checkpoint that was not scored.
var noScore = math.NaN()

// state is the record of a test checkpoint.
type state struct {
	Step int64  `json:"step"`
	RNG  []byte `json:"rng"`
}

// archiveOf returns an archive in which everything depends on step.
func archiveOf(t require.TestingT, step int64) *Archive {
	a := NewArchive()
	v := float32(step)
	require.NoError(t, a.PutFloat32("0.bias", []int{2}, []float32{v, -v}))
	require.NoError(t, a.PutCSR("0.weight", matrixOf(t, []int32{0, 1, 3}, []int32{1, 0, 2}, []float32{v, 1, v + 1})))
	require.NoError(t, a.PutInt64("counter", nil, []int64{step}))
	require.NoError(t, a.PutRecord("state", state{Step: step, RNG: []byte{byte(step), 1}}))
	return a
}

// matrixOf returns a matrix of three columns.
func matrixOf(t require.TestingT, rowPtr, colIdx []int32, values []float32) *sparse.CSR[float32] {
	p, err := sparse.NewPattern(len(rowPtr)-1, 3, rowPtr, colIdx)
	require.NoError(t, err)
	m, err := sparse.NewCSR(p, values)
	require.NoError(t, err)
	return m
}

// requireWhole checks that a holds what archiveOf puts in, bit for bit.
func requireWhole(t require.TestingT, a *Archive, info Info) {
	require.Equal(t, encode(t, archiveOf(t, info.Step).stamped(info.Step, info.Score)), encode(t, a))
}

func encode(t require.TestingT, a *Archive) []byte {
	var buf bytes.Buffer
	n, err := a.WriteTo(&buf)
	require.NoError(t, err)
	require.EqualValues(t, buf.Len(), n)
	return buf.Bytes()
}

func decode(b []byte) (*Archive, error) { return ReadArchive(bytes.NewReader(b), int64(len(b))) }

// runInfo is the description of a test run.
type runInfo struct {
	Seed int `json:"seed"`
}

// newRun creates a run on disk and closes it with the test.
func newRun(t testing.TB, disk fsys.FS, path string, opt Options) *Dir {
	d, err := create(disk, path, runInfo{Seed: 7}, opt)
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// metric is a line of metrics.
type metric struct {
	Step int64   `json:"step"`
	Loss float64 `json:"loss"`
}
