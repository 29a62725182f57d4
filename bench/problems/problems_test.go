package problems_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rigel-ml/rigel/bench/problems"
	"github.com/rigel-ml/rigel/ops/cpu"
)

func BenchmarkProblems(b *testing.B) {
	backend := cpu.NewThreads(1)
	for _, name := range problems.Names() {
		b.Run(name, func(b *testing.B) {
			p, err := problems.New(backend, name, problems.Options{M: 1024, K: 1024, N: 256, Sparsity: 0.9})
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				if err := p.Run(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(p.FLOPs/(b.Elapsed().Seconds()/float64(b.N))/1e9, "GFLOP/s")
		})
	}
}

func TestNewRefuses(t *testing.T) {
	for _, o := range []problems.Options{{}, {M: 1, K: 1, N: 1, Sparsity: 1}, {M: 1, K: -1, N: 1}} {
		_, err := problems.New(cpu.NewThreads(1), "spmm", o)
		require.Error(t, err)
	}
	_, err := problems.New(cpu.NewThreads(1), "magic", problems.Options{M: 1, K: 1, N: 1})
	require.ErrorContains(t, err, "there are gemm")
}
