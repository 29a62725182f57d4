package cpu_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/ops/cpu"
	"github.com/rigel-ml/rigel/ops/opstest"
)

func TestCloseEndsTheWorkers(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	b := cpu.NewThreads(4)
	assert.Equal(t, 4, b.Threads())
	require.NoError(t, b.Close())
	require.NoError(t, b.Close(), "closing twice is fine")
}

func TestEveryOperationIsInTheTableOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range cpu.Kernels() {
		assert.False(t, seen[v.Name], "%s twice", v.Name)
		seen[v.Name] = true
		assert.Equal(t, fmt.Sprintf("%s_%s_%s_%s_%s", v.Op, v.Format, v.Dtype, v.Tile, v.ISA), v.Name)
	}
	for _, op := range ops.AllOps() {
		assert.Condition(t, func() bool {
			for _, v := range cpu.Kernels() {
				if v.Op == op {
					return true
				}
			}
			return false
		}, "no kernel for %s", op)
	}
}

func TestMemory(t *testing.T) {
	b := cpu.NewThreads(1)
	_, err := b.New(tensor.Float64, 3)
	require.ErrorIs(t, err, ops.ErrNotImplemented)
	d, err := b.New(tensor.Float32, 3)
	require.NoError(t, err)
	require.NoError(t, b.Upload(d, []float32{1, 2, 3}))
	back := make([]float32, 3)
	require.NoError(t, b.Download(back, d))
	assert.Equal(t, []float32{1, 2, 3}, back)
	require.ErrorIs(t, b.Upload(d, back[:2]), ops.ErrOperand)
	require.ErrorIs(t, b.Download(back[:2], d), ops.ErrOperand)
	require.ErrorIs(t, b.UploadInt32(d, []int32{1, 2, 3}), ops.ErrOperand)
	require.ErrorIs(t, b.Upload(nil, back), ops.ErrOperand)
}

func BenchmarkKernels(b *testing.B) { opstest.Benchmark(b, cpu.New()) }
