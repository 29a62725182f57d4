package cpu

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rigel-ml/rigel/sparse"
)

// BenchmarkForms times what the first step after a mask update pays: the tiled
// forms of a pattern and of its transpose.
func BenchmarkForms(b *testing.B) {
	p, err := sparse.RandomPattern(1024, 1024, 1024*1024/10, rand.New(rand.NewPCG(1, 1)))
	require.NoError(b, err)
	bothForms(p)
	for b.Loop() {
		_, err := p.Update(nil, nil) // another version of the same pattern
		require.NoError(b, err)
		bothForms(p)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(p.NNZ()), "ns/nnz")
}
