package mnist

import (
	"compress/gzip"
	"crypto/md5"
	"encoding/hex"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFilesAreThePublishedOnes(t *testing.T) {
	tests := []struct {
		file string
		md5  string
	}{
		{"train-images-idx3-ubyte.gz", "6bbc9ace898e44ae57da46a324031adb"},
		{"train-labels-idx1-ubyte.gz", "a25bea736e30d166cdddb491f175f624"},
		{"t10k-images-idx3-ubyte.gz", "2646ac647ad5339dbf082846283269ea"},
		{"t10k-labels-idx1-ubyte.gz", "27ae3e4e09519cfbb04c329615203637"},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			f, err := files.Open(tt.file)
			require.NoError(t, err)
			unzip, err := gzip.NewReader(f)
			require.NoError(t, err)
			sum := md5.New()
			_, err = io.Copy(sum, unzip)
			require.NoError(t, err)
			assert.Equal(t, tt.md5, hex.EncodeToString(sum.Sum(nil)))
		})
	}
}

func TestLoad(t *testing.T) {
	train, test, err := Load()
	require.NoError(t, err)
	assert.Equal(t, "mnist-train", train.Name())
	assert.Equal(t, 60_000, train.Len())
	assert.Equal(t, 10_000, test.Len())
	assert.Equal(t, []int{28, 28}, train.Shape())
	assert.Equal(t, 10, train.Classes())
	assert.Equal(t, 10, test.Classes())

	x := make([]float32, train.Features())
	label, err := train.Sample(0, x)
	require.NoError(t, err)
	assert.Equal(t, int32(5), label, "the first training digit is a 5")
	assert.Equal(t, (0-Mean)/Std, x[0], "its corner is black")

	n := train.ComputeNorm()
	assert.InDelta(t, Mean, n.Mean[0], 5e-5, "the published constants, to their four digits")
	assert.InDelta(t, Std, n.Std[0], 5e-5)
}
