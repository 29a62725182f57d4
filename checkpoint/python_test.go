package checkpoint

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rigel-ml/rigel/checkpoint/safetensors"
)

// python runs a script with Python's safetensors library and returns what it
// prints.
func python(t *testing.T, script string, args ...string) string {
	t.Helper()
	exe, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3 to compare with")
	}
	if exec.Command(exe, "-c", "import numpy, safetensors.numpy").Run() != nil {
		t.Skip("python3 lacks numpy or safetensors (pip install numpy safetensors)")
	}
	out, err := exec.Command(exe, append([]string{"-c", script}, args...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

func TestPythonReadsCheckpoint(t *testing.T) {
	d, err := Create(filepath.Join(t.TempDir(), "run"), nil, Options{})
	require.NoError(t, err)
	defer d.Close()
	path, err := d.Save(5, archiveOf(t, 5), 0.5)
	require.NoError(t, err)
	const script = `
import json, sys
import numpy as np
from safetensors import safe_open

with safe_open(sys.argv[1], framework="np") as f:
    meta = f.metadata()
    print(*sorted(f.keys()))
    print(f.get_tensor("0.bias").tolist(), f.get_tensor("counter").item())
    rows, cols = json.loads(meta["rigel.sparse.0.weight"])["shape"]
    crow, col, val = (f.get_tensor("0.weight." + part) for part in ("crow_indices", "col_indices", "values"))
    dense = np.zeros((rows, cols), val.dtype)
    dense[np.repeat(np.arange(rows), np.diff(crow)), col] = val
    print(dense.tolist(), dense.dtype)
    print(meta["rigel.version"], meta["rigel.step"], meta["rigel.score"], json.loads(meta["rigel.record.state"]))
`
	assert.Equal(t, `0.bias 0.weight.col_indices 0.weight.crow_indices 0.weight.values counter
[5.0, -5.0] 5
[[0.0, 5.0, 0.0], [1.0, 0.0, 6.0]] float32
1 5 0.5 {'step': 5, 'rng': 'BQE='}
`, python(t, script, path))
}

// Without metadata, whose order is random there, both write the same bytes.
func TestPythonWritesTheSameBytes(t *testing.T) {
	f := &safetensors.File{Tensors: []safetensors.Tensor{
		tensor(t, "b", float32(1), 2),
		tensor(t, "a \"quoted\"\tnäme", float32(3)),
		tensor(t, "i", int32(-1)),
		tensor(t, "l", int64(1), 2, 3),
		tensor(t, "d", 0.5),
		tensor[float64](t, "empty"),
		{Name: "scalar", Dtype: safetensors.U64, Data: make([]byte, 8)},
		{Name: "u8", Dtype: safetensors.U8, Shape: []int{3}, Data: []byte{1, 2, 3}},
		{Name: "bool", Dtype: safetensors.Bool, Shape: []int{1, 1}, Data: []byte{1}},
		{Name: "half", Dtype: safetensors.F16, Shape: []int{1}, Data: []byte{0, 60}},
		{Name: "u16", Dtype: safetensors.U16, Shape: []int{1}, Data: []byte{0, 60}},
	}}
	ours := rewrite(t, f)
	in, out := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "out")
	require.NoError(t, os.WriteFile(in, ours, 0o600))
	python(t, `
import sys
from safetensors.numpy import load_file, save_file

save_file(load_file(sys.argv[1]), sys.argv[2])
`, in, out)
	theirs, err := os.ReadFile(out)
	require.NoError(t, err)
	assert.Equal(t, string(theirs), string(ours))
}
