package checkpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rigel-ml/rigel/checkpoint/safetensors"
	"github.com/rigel-ml/rigel/sparse"
)

// FAULTS 22: whichever bit of a file flips, reading it fails.
func TestEveryFlippedBitIsFound(t *testing.T) {
	b := encode(t, archiveOf(t, 5).stamped(5, 0.5))
	for bit := range 8 * len(b) {
		b[bit/8] ^= 1 << (bit % 8)
		_, err := decode(b)
		require.Error(t, err, "bit %d of byte %d", bit%8, bit/8)
		b[bit/8] ^= 1 << (bit % 8)
	}
	_, err := decode(b)
	require.NoError(t, err)
}

func TestEveryTruncationIsFound(t *testing.T) {
	b := encode(t, archiveOf(t, 5))
	for n := range b {
		_, err := decode(b[:n])
		require.Error(t, err, "%d bytes", n)
	}
	_, err := decode(append(b, 0))
	require.ErrorIs(t, err, safetensors.ErrLayout)
}

// seal writes a file with a valid checksum, whatever it contains.
func seal(t *testing.T, meta map[string]string, tensors ...safetensors.Tensor) []byte {
	f := &safetensors.File{Metadata: map[string]string{keyVersion: "1"}, Tensors: tensors}
	maps.Copy(f.Metadata, meta)
	sum, err := checksum(f)
	require.NoError(t, err)
	f.Metadata[keyChecksum] = sum
	var buf bytes.Buffer
	_, err = f.WriteTo(&buf)
	require.NoError(t, err)
	return buf.Bytes()
}

func tensor[T safetensors.Number](t *testing.T, name string, data ...T) safetensors.Tensor {
	out, err := safetensors.NewTensor(name, []int{len(data)}, data)
	require.NoError(t, err)
	return out
}

// FAULTS 15 to 17, 25: files with a valid checksum that are no sound archive.
func TestReadArchiveRefuses(t *testing.T) {
	const csr = `{"format":"csr","shape":[2,3]}`
	sparseAs := func(text string) map[string]string { return map[string]string{keySparse + "w": text} }
	parts := func(rowPtr, colIdx []int32, nnz int) []safetensors.Tensor {
		return []safetensors.Tensor{
			tensor(t, "w.crow_indices", rowPtr...),
			tensor(t, "w.col_indices", colIdx...),
			tensor(t, "w.values", make([]float32, nnz)...),
		}
	}
	good := parts([]int32{0, 1, 3}, []int32{1, 0, 2}, 3)
	with := func(i int, p safetensors.Tensor) []safetensors.Tensor {
		list := slices.Clone(good)
		list[i] = p
		return list
	}
	matrixShaped := good[2]
	matrixShaped.Shape = []int{1, 3}
	tests := []struct {
		fault   string
		meta    map[string]string
		tensors []safetensors.Tensor
		is      error
		says    string
	}{
		{"15 first pointer", sparseAs(csr), parts([]int32{1, 1, 3}, []int32{1, 0, 2}, 3), sparse.ErrInvalid, `"w"`},
		{"15 decreasing", sparseAs(csr), parts([]int32{0, 4, 3}, []int32{1, 0, 2}, 3), sparse.ErrInvalid, "decreases"},
		{"15 last is not nnz", sparseAs(csr), parts([]int32{0, 1, 2}, []int32{1, 0, 2}, 3), sparse.ErrInvalid, "nnz"},
		{"15 pointers for other rows", sparseAs(csr), parts([]int32{0, 3}, []int32{0, 1, 2}, 3), sparse.ErrInvalid, `"w"`},
		{"15 no pointers", sparseAs(csr), parts(nil, nil, 0), sparse.ErrInvalid, `"w"`},
		{"16 negative column", sparseAs(csr), parts([]int32{0, 1, 3}, []int32{1, -1, 2}, 3), sparse.ErrInvalid, "-1"},
		{"16 column out of range", sparseAs(csr), parts([]int32{0, 1, 3}, []int32{1, 0, 3}, 3), sparse.ErrInvalid, "3"},
		{"16 unsorted", sparseAs(csr), parts([]int32{0, 1, 3}, []int32{1, 2, 0}, 3), sparse.ErrNotCanonical, `"w"`},
		{"16 duplicate", sparseAs(csr), parts([]int32{0, 1, 3}, []int32{1, 2, 2}, 3), sparse.ErrNotCanonical, `"w"`},
		{"17 rows over 2^31", sparseAs(`{"format":"csr","shape":[2147483648,3]}`), good, sparse.ErrInvalid, "2147483648"},
		{"17 columns over 2^31", sparseAs(`{"format":"csr","shape":[2,2147483648]}`), good, sparse.ErrInvalid, "2147483648"},
		{"negative rows", sparseAs(`{"format":"csr","shape":[-2,3]}`), good, sparse.ErrInvalid, "-2"},
		{"too few values", sparseAs(csr), parts([]int32{0, 1, 3}, []int32{1, 0, 2}, 2), sparse.ErrInvalid, `"w"`},
		{"missing part", sparseAs(csr), good[:2], ErrFormat, `"w.values" is missing`},
		{"part of another type", sparseAs(csr), with(1, tensor[int64](t, "w.col_indices", 1, 0, 2)), ErrFormat, "I64"},
		{"part of two dimensions", sparseAs(csr), with(2, matrixShaped), ErrFormat, `"w.values": shape: [1 3]`},
		{"unknown matrix format", sparseAs(`{"format":"csc","shape":[2,3]}`), good, ErrFormat, `"csc"`},
		{"shape of one dimension", sparseAs(`{"format":"csr","shape":[6]}`), good, ErrFormat, "[6]"},
		{"unknown field", sparseAs(`{"format":"csr","shape":[2,3],"x":1}`), good, ErrFormat, keySparse + "w"},
		{"matrix and tensor of one name", sparseAs(csr), append(good, tensor[float32](t, "w", 1)), ErrDuplicate, `"w"`},
		{"tensor without a name", nil, []safetensors.Tensor{tensor[float32](t, "", 1)}, ErrFormat, "name"},
		{"matrix without a name", map[string]string{keySparse: csr}, nil, ErrFormat, "crow_indices"},
		{"foreign dtype", nil, []safetensors.Tensor{{Name: "h", Dtype: safetensors.F16, Shape: []int{0}}}, ErrFormat, "F16"},
		{"unknown metadata", map[string]string{"format": "pt"}, nil, ErrFormat, `"format"`},
		{"25 newer version", map[string]string{keyVersion: "2"}, nil, ErrVersion, "newer Rigel"},
		{"25 no version", map[string]string{keyVersion: "one"}, nil, ErrFormat, `"one"`},
	}
	for _, tt := range tests {
		t.Run(tt.fault, func(t *testing.T) {
			a, err := decode(seal(t, tt.meta, tt.tensors...))
			assert.Nil(t, a)
			require.ErrorIs(t, err, tt.is)
			assert.ErrorContains(t, err, tt.says)
		})
	}
	_, err := decode(seal(t, sparseAs(csr), good...))
	require.NoError(t, err)
}

// FAULTS 26: matrices without rows, columns or entries.
func TestArchiveEmptyMatrices(t *testing.T) {
	for _, size := range [][2]int{{0, 5}, {5, 0}, {0, 0}, {3, 4}} {
		p, err := sparse.NewPattern(size[0], size[1], make([]int32, size[0]+1), []int32{})
		require.NoError(t, err)
		m, err := sparse.NewCSR(p, []float32{})
		require.NoError(t, err)
		a := NewArchive()
		require.NoError(t, a.PutCSR("w", m))
		a, err = decode(encode(t, a))
		require.NoError(t, err)
		got, err := a.CSR("w")
		require.NoError(t, err)
		assert.True(t, p.Equal(got.Pattern))
	}
}

func TestChecksumErrors(t *testing.T) {
	b := encode(t, archiveOf(t, 5))
	last := bytes.Clone(b)
	last[len(last)-1] ^= 1
	_, err := decode(last)
	require.ErrorIs(t, err, ErrChecksum)

	f, err := safetensors.Read(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	f.Metadata[keyChecksum] = strings.ToUpper(f.Metadata[keyChecksum])
	_, err = decode(rewrite(t, f))
	require.ErrorIs(t, err, ErrChecksum)
	delete(f.Metadata, keyChecksum)
	_, err = decode(rewrite(t, f))
	require.ErrorIs(t, err, ErrFormat, "another program's safetensors file")
}

func rewrite(t *testing.T, f *safetensors.File) []byte {
	var buf bytes.Buffer
	_, err := f.WriteTo(&buf)
	require.NoError(t, err)
	return buf.Bytes()
}

// A header that says the same in other words is not as it was written, even if
// the checksum was taken over it.
func TestHeaderMustBeCanonical(t *testing.T) {
	b := encode(t, NewArchive())
	b = bytes.Replace(b, []byte(`"rigel.version":"1"`), []byte(`"rigel.version":"\u0031"`), 1)
	binary.LittleEndian.PutUint64(b, uint64(len(b)-8))
	_, err := decode(b)
	require.ErrorIs(t, err, ErrChecksum)
	assert.ErrorContains(t, err, "header")
}

func TestWriteToPassesOnErrors(t *testing.T) {
	full := errors.New("disk full")
	_, err := archiveOf(t, 1).WriteTo(writerFunc(func([]byte) (int, error) { return 0, full }))
	assert.ErrorIs(t, err, full)
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func FuzzReadArchive(f *testing.F) {
	f.Add(encode(f, NewArchive()))
	f.Add(encode(f, archiveOf(f, 1)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if a, err := decode(b); err == nil {
			require.Equal(t, b, encode(t, a), "whatever is accepted is canonical")
		}
	})
}
