package datasets

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// testSet has n samples of the given number of features and 10 classes. Byte j
// of sample i is 7i+j, so samples can be told apart.
func testSet(t testing.TB, n, features int) *Set {
	t.Helper()
	x := make([]uint8, n*features)
	labels := make([]int32, n)
	for i := range n {
		labels[i] = int32(i % 10)
		for j := range features {
			x[i*features+j] = uint8(7*i + j)
		}
	}
	s, err := FromBytes(SetConfig{Name: "test", Classes: 10}, x, labels)
	require.NoError(t, err)
	return s
}

// labelsOf reads every label of s, and thereby every sample.
func labelsOf(t testing.TB, s *Set) []int32 {
	t.Helper()
	var labels []int32
	x := make([]float32, s.Features())
	for i := range s.Len() {
		l, err := s.Sample(i, x)
		require.NoError(t, err)
		labels = append(labels, l)
	}
	return labels
}

// idxFileOf encodes an IDX file of element type dtype.
func idxFileOf(dtype byte, dims []uint32, data []byte) []byte {
	out := []byte{0, 0, dtype, byte(len(dims))}
	for _, d := range dims {
		out = binary.BigEndian.AppendUint32(out, d)
	}
	return append(out, data...)
}

func gzipped(t testing.TB, plain []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(plain)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}
