package datasets

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkNext fills batches of 28 × 28 images at random places of a set the
// size of MNIST; the rate is that of the float32 values written. Shuffling at
// the ends of epochs is included.
func BenchmarkNext(b *testing.B) {
	const n, features = 60_000, 784
	bytes := testSet(b, n, features)
	one, err := bytes.WithNorm(Norm{Mean: []float32{0.1307}, Std: []float32{0.3081}})
	require.NoError(b, err)
	each, err := bytes.WithNorm(Norm{Mean: make([]float32, features), Std: onesOf(features)})
	require.NoError(b, err)
	floats, err := FromFloats(SetConfig{Classes: 10}, make([]float32, n/4*features), bytes.labels[:n/4])
	require.NoError(b, err)

	sets := []struct {
		name string
		set  *Set
	}{{"uint8", one}, {"uint8-per-feature", each}, {"float32", floats}}
	for _, s := range sets {
		for _, batch := range []int{64, 256} {
			b.Run(fmt.Sprintf("%s/batch=%d", s.name, batch), func(b *testing.B) {
				l := newLoader(b, s.set, LoaderConfig{Batch: batch, Shuffle: true})
				var batchData Batch
				l.Next(&batchData)
				b.SetBytes(int64(4 * batch * features))
				b.ReportAllocs()
				for b.Loop() {
					l.Next(&batchData)
				}
			})
		}
	}
}

func BenchmarkShuffle(b *testing.B) {
	p := make([]int32, 60_000)
	var epoch uint64
	for b.Loop() {
		permute(p, 1, epoch)
		epoch++
	}
}

func onesOf(n int) []float32 {
	ones := make([]float32, n)
	for i := range ones {
		ones[i] = 1
	}
	return ones
}
