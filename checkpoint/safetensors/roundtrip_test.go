package safetensors

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func drawFile(t *rapid.T) *File {
	f := &File{}
	if rapid.Bool().Draw(t, "metadata") {
		f.Metadata = rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "metadata")
	}
	name := rapid.String().Filter(func(s string) bool { return s != metadataKey })
	for _, name := range rapid.SliceOfNDistinct(name, 0, 6, rapid.ID).Draw(t, "names") {
		d := rapid.SampledFrom(dtypes).Draw(t, "dtype")
		shape := rapid.SliceOfN(rapid.IntRange(0, 3), 0, 3).Draw(t, "shape")
		size, err := byteSize(name, d.dtype, shape)
		require.NoError(t, err)
		data := rapid.SliceOfN(rapid.Byte(), int(size), int(size)).Draw(t, "data")
		f.Tensors = append(f.Tensors, Tensor{name, d.dtype, shape, data})
	}
	return f
}

func encode(t require.TestingT, f *File) []byte {
	var buf bytes.Buffer
	_, err := f.WriteTo(&buf)
	require.NoError(t, err)
	return buf.Bytes()
}

// byName sorts, so that files can be compared whatever the order of tensors.
func byName(f *File) *File {
	return &File{f.Metadata, slices.SortedFunc(slices.Values(f.Tensors), func(a, b Tensor) int {
		return strings.Compare(a.Name, b.Name)
	})}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFile(t)
		b := encode(t, f)
		got, err := decode(b)
		require.NoError(t, err)
		require.Equal(t, byName(f).Metadata, byName(got).Metadata)
		require.Len(t, got.Tensors, len(f.Tensors))
		for i, want := range byName(f).Tensors {
			tensor := byName(got).Tensors[i]
			require.Equal(t, want.Name, tensor.Name)
			require.Equal(t, want.Dtype, tensor.Dtype)
			require.True(t, slices.Equal(want.Shape, tensor.Shape))
			require.True(t, bytes.Equal(want.Data, tensor.Data))
		}
		require.Equal(t, b, encode(t, got), "what was read writes the same bytes")

		f.Tensors = rapid.Permutation(f.Tensors).Draw(t, "order")
		require.Equal(t, b, encode(t, f), "the order of tensors has no influence")
	})
}

// Every file cut short anywhere is refused.
func TestTruncation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := encode(t, drawFile(t))
		cut := rapid.IntRange(0, len(b)-1).Draw(t, "cut")
		_, err := decode(b[:cut])
		require.Error(t, err)
	})
}

func FuzzRead(f *testing.F) {
	f.Add([]byte{})
	f.Add(golden)
	f.Add(golden[:40])
	f.Add(raw(`{}`))
	f.Add(raw(` {"__metadata__":{"a":"b\u00e9"}} `))
	f.Add(raw(`{"s":{"dtype":"I64","shape":[],"data_offsets":[0,8]},"z":{"dtype":"F16","shape":[0,5],"data_offsets":[0,0]}}`,
		1, 2, 3, 4, 5, 6, 7, 8))
	f.Add(raw(`{"w":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := decode(b)
		if err != nil {
			return
		}
		canonical := encode(t, file)
		again, err := decode(canonical)
		require.NoError(t, err, "what was read can be written and read")
		require.Equal(t, canonical, encode(t, again))
		for _, tensor := range file.Tensors {
			_, err := Values[float32](tensor)
			require.Equal(t, tensor.Dtype == F32, err == nil)
		}
	})
}
