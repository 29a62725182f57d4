package datasets

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// images and labels encode n of them; label i is i+1.
func images(n, rows, columns uint32) []byte {
	return idxFileOf(idxUint8, []uint32{n, rows, columns}, make([]byte, n*rows*columns))
}

func labels(n uint32) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i + 1)
	}
	return idxFileOf(idxUint8, []uint32{n}, data)
}

func mapFS(files map[string][]byte) fstest.MapFS {
	m := fstest.MapFS{}
	for name, data := range files {
		m[name] = &fstest.MapFile{Data: data}
	}
	return m
}

// standard returns the files of a set with 3 training and 2 test images.
func standard() map[string][]byte {
	return map[string][]byte{
		"train-images-idx3-ubyte": images(3, 2, 4),
		"train-labels-idx1-ubyte": labels(3),
		"t10k-images-idx3-ubyte":  images(2, 2, 4),
		"t10k-labels-idx1-ubyte":  labels(2),
	}
}

func TestOpenIDXNames(t *testing.T) {
	tests := []struct {
		name  string
		files map[string][]byte
	}{
		{"plain with dashes", standard()},
		{"gzipped", map[string][]byte{
			"train-images-idx3-ubyte.gz": gzipped(t, images(3, 2, 4)),
			"train-labels-idx1-ubyte.gz": gzipped(t, labels(3)),
			"t10k-images-idx3-ubyte.gz":  gzipped(t, images(2, 2, 4)),
			"t10k-labels-idx1-ubyte.gz":  gzipped(t, labels(2)),
		}},
		{"dots, mixed, and other files", map[string][]byte{
			"train-images.idx3-ubyte":    images(3, 2, 4),
			"train-labels.idx1-ubyte":    labels(3),
			"t10k-images.idx3-ubyte.gz":  gzipped(t, images(2, 2, 4)),
			"t10k-labels-idx1-ubyte":     labels(2),
			"README.md":                  nil,
			"sub/t10k-labels-idx1-ubyte": nil,
		}},
		{"EMNIST", map[string][]byte{
			"emnist-letters-train-images-idx3-ubyte": images(3, 2, 4),
			"emnist-letters-train-labels-idx1-ubyte": labels(3),
			"emnist-letters-test-images-idx3-ubyte":  images(2, 2, 4),
			"emnist-letters-test-labels-idx1-ubyte":  labels(2),
		}},
		{"plain preferred to gzipped", func() map[string][]byte {
			files := standard()
			files["train-labels-idx1-ubyte.gz"] = []byte("not read")
			return files
		}()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			train, test, err := OpenIDXFS(mapFS(tt.files), "tiny")
			require.NoError(t, err)
			assert.Equal(t, "tiny-train", train.Name())
			assert.Equal(t, "tiny-test", test.Name())
			assert.Equal(t, []int{2, 4}, train.Shape())
			assert.Equal(t, []int32{1, 2, 3}, labelsOf(t, train))
			assert.Equal(t, []int32{1, 2}, labelsOf(t, test))
			assert.Equal(t, 4, test.Classes(), "those of the training set too")
		})
	}
}

func TestOpenIDXDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "some-set")
	require.NoError(t, os.Mkdir(dir, 0o755))
	for name, data := range standard() {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	train, _, err := OpenIDXDir(dir)
	require.NoError(t, err)
	assert.Equal(t, "some-set-train", train.Name())

	absent := filepath.Join(dir, "absent")
	_, _, err = OpenIDXDir(absent)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "datasets: "+absent+": ")
	require.NotContains(t, err.Error(), "open .")
}

func TestOpenIDXRejects(t *testing.T) {
	const x, y = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
	tests := []struct {
		name   string
		change map[string][]byte // nil removes the file
		want   string
	}{
		{"missing", map[string][]byte{x: nil, y: nil}, "no file with the train images, train labels"},
		{"ambiguous", map[string][]byte{"other-" + x: images(3, 2, 4)}, "could both be the train images"},
		{"damaged", map[string][]byte{x: images(3, 2, 4)[:20]}, x + ": data"},
		{"labels as images", map[string][]byte{x: labels(3)}, x + ": dims: [3] has 1 dimensions; want 3"},
		{"images as labels", map[string][]byte{y: images(3, 2, 4)}, y + ": dims: [3 2 4] has 3 dimensions; want 1"},
		{"fewer labels", map[string][]byte{y: labels(2)}, y + ": dims: 2 labels for the 3 images of " + x},
		{"no images", map[string][]byte{x: images(0, 2, 4), y: labels(0)}, x + ": dims: [0 2 4] hold no images"},
		{"images of no pixels", map[string][]byte{x: images(3, 0, 4)}, x + ": dims: [3 0 4] hold no images"},
		{"another shape", map[string][]byte{x: images(3, 4, 2)}, "images of shape [2 4], but those of " + x + " are [4 2]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := standard()
			for name, data := range tt.change {
				if data == nil {
					delete(files, name)
					continue
				}
				files[name] = data
			}
			_, _, err := OpenIDXFS(mapFS(files), "tiny")
			require.ErrorContains(t, err, "tiny")
			require.ErrorContains(t, err, tt.want)
		})
	}
}
