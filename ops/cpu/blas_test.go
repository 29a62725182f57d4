package cpu_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
	"gorgonia.org/tensor"
	"pgregory.net/rapid"

	"github.com/rigel-ml/rigel/ops/cpu"
)

// TestSgemmAgreesWithGonum also checks that what lies between the rows of C is
// left alone.
func TestSgemmAgreesWithGonum(t *testing.T) {
	b := cpu.NewBLAS(cpu.NewThreads(2))
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		size := rapid.IntRange(1, 150)
		m, n, k := size.Draw(t, "m"), size.Draw(t, "n"), size.Draw(t, "k")
		scalar := rapid.SampledFrom([]float32{0, 1, -0.5})
		alpha, beta := scalar.Draw(t, "alpha"), scalar.Draw(t, "beta")
		matrix := func(name string, rows, cols int) (blas.Transpose, []float32, int) {
			op := rapid.SampledFrom([]blas.Transpose{blas.NoTrans, blas.Trans, blas.ConjTrans}).Draw(t, name)
			if op != blas.NoTrans {
				rows, cols = cols, rows
			}
			ld := cols + rapid.IntRange(0, 3).Draw(t, name+" gap")
			x := make([]float32, rows*ld)
			for i := range x {
				x[i] = rng.Float32() - 0.5
			}
			return op, x, ld
		}
		tA, a, lda := matrix("a", m, k)
		tB, bm, ldb := matrix("b", k, n)
		ldc := n + rapid.IntRange(0, 3).Draw(t, "c gap")
		got := make([]float32, m*ldc)
		for i := range got {
			got[i] = rng.Float32()
		}
		want := append([]float32(nil), got...)
		gonum.Implementation{}.Sgemm(tA, tB, m, n, k, alpha, a, lda, bm, ldb, beta, want, ldc)
		b.Sgemm(tA, tB, m, n, k, alpha, a, lda, bm, ldb, beta, got, ldc)
		require.InDeltaSlice(t, want, got, 1e-4)
	})
}

func TestSgemmPanicsAsGonumDoes(t *testing.T) {
	b := cpu.NewBLAS(cpu.NewThreads(1))
	x := make([]float32, 64*64)
	assert.Panics(t, func() { b.Sgemm(blas.NoTrans, blas.NoTrans, 64, 64, 64, 1, x[:10], 64, x, 64, 0, x, 64) })
	assert.Panics(t, func() { b.Sgemm(blas.NoTrans, blas.NoTrans, 64, 64, 64, 1, x, 63, x, 64, 0, x, 64) })
}

func TestUseBLAS(t *testing.T) {
	before := tensor.WhichBLAS()
	restore := cpu.UseBLAS()
	assert.IsType(t, &cpu.BLAS{}, tensor.WhichBLAS())
	a := tensor.New(tensor.WithShape(40, 50), tensor.WithBacking(tensor.Range(tensor.Float32, 0, 2000)))
	id := tensor.I(tensor.Float32, 50, 50, 0)
	c, err := a.MatMul(id)
	require.NoError(t, err)
	assert.Equal(t, a.Data(), c.Data())
	restore()
	assert.Equal(t, before, tensor.WhichBLAS())
}

func BenchmarkSgemm(b *testing.B) {
	const n = 1024
	x, y, z := make([]float32, n*n), make([]float32, n*n), make([]float32, n*n)
	for i := range x { // gonum skips zeros
		x[i], y[i] = rand.Float32(), rand.Float32()
	}
	for name, f := range map[string]blas.Float32Level3{
		"rigel": cpu.NewBLAS(cpu.New()), "gonum": gonum.Implementation{},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f.Sgemm(blas.NoTrans, blas.NoTrans, n, n, n, 1, x, n, y, n, 0, z, n)
			}
			b.ReportMetric(2*n*n*n/(b.Elapsed().Seconds()/float64(b.N))/1e9, "GFLOP/s")
		})
	}
}
