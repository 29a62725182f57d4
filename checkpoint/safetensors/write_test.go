package safetensors

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// golden is a file written out by hand: 1.5 and -2 as F32, then three bytes.
var golden = []byte("\x88\x00\x00\x00\x00\x00\x00\x00" + // header: 136 bytes
	`{"__metadata__":{"k":"v"},` +
	`"w":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},` +
	`"b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}}` +
	"  " + // padding
	"\x00\x00\xc0\x3f\x00\x00\x00\xc0" +
	"\x01\x02\x03")

func goldenFile() *File {
	return &File{
		Metadata: map[string]string{"k": "v"},
		Tensors: []Tensor{ // not in the order of the file
			{Name: "b", Dtype: U8, Shape: []int{3}, Data: []byte{1, 2, 3}},
			{Name: "w", Dtype: F32, Shape: []int{1, 2}, Data: []byte{0, 0, 0xc0, 0x3f, 0, 0, 0, 0xc0}},
		},
	}
}

func TestWriteGolden(t *testing.T) {
	var buf bytes.Buffer
	n, err := goldenFile().WriteTo(&buf)
	require.NoError(t, err)
	assert.Equal(t, string(golden), buf.String())
	assert.EqualValues(t, len(golden), n)

	header, err := goldenFile().Header()
	require.NoError(t, err)
	assert.Equal(t, golden[:144], header)
}

// Tensors are ranked by type as in the Python library, then by name.
func TestWriteOrder(t *testing.T) {
	f := &File{}
	for i := len(dtypes) - 1; i >= 0; i-- {
		d := dtypes[i]
		for _, name := range []string{"b", "a"} {
			f.Tensors = append(f.Tensors, Tensor{string(d.dtype) + name, d.dtype, nil, make([]byte, d.size)})
		}
	}
	var buf bytes.Buffer
	_, err := f.WriteTo(&buf)
	require.NoError(t, err)
	got, err := decode(buf.Bytes())
	require.NoError(t, err)
	var names []string
	for _, tensor := range got.Tensors {
		names = append(names, tensor.Name)
	}
	assert.Equal(t, strings.Fields("U64a U64b I64a I64b F64a F64b F32a F32b U32a U32b I32a I32b "+
		"BF16a BF16b F16a F16b U16a U16b I16a I16b F8_E4M3a F8_E4M3b F8_E5M2a F8_E5M2b I8a I8b U8a U8b BOOLa BOOLb"), names)
}

func TestWriteRefuses(t *testing.T) {
	one := func(name string) Tensor { return Tensor{Name: name, Dtype: U8, Shape: []int{1}, Data: []byte{1}} }
	tests := []struct {
		fault string
		file  File
		is    error
		says  string
	}{
		{"13 tensor named __metadata__", File{Tensors: []Tensor{one("__metadata__")}}, ErrTensor, "reserved"},
		{"6 duplicate name", File{Tensors: []Tensor{one("w"), one("w")}}, ErrLayout, `"w"`},
		{"6 duplicate name, other type", File{Tensors: []Tensor{one("w"), {Name: "w", Dtype: F32, Shape: []int{0}}}},
			ErrLayout, `"w"`},
		{"4 name is not UTF-8", File{Tensors: []Tensor{one("\xff")}}, ErrHeader, `\xff`},
		{"4 metadata key is not UTF-8", File{Metadata: map[string]string{"\xff": ""}}, ErrHeader, `\xff`},
		{"4 metadata value is not UTF-8", File{Metadata: map[string]string{"k": "a\xff"}}, ErrHeader, `a\xff`},
		{"12 unknown dtype", File{Tensors: []Tensor{{Name: "w", Dtype: "F31"}}}, ErrTensor, `"w": dtype`},
		{"10 overflow", File{Tensors: []Tensor{{Name: "w", Dtype: U8, Shape: []int{math.MaxInt, 2}}}}, ErrTensor, "overflows"},
		{"11 too little data", File{Tensors: []Tensor{{Name: "w", Dtype: F32, Shape: []int{2}, Data: make([]byte, 7)}}},
			ErrTensor, `"w": data: has 7 bytes`},
		{"11 negative dimension", File{Tensors: []Tensor{{Name: "w", Dtype: U8, Shape: []int{-1}, Data: []byte{1}}}},
			ErrTensor, "negative"},
		{"2 header too large", File{Metadata: map[string]string{"k": strings.Repeat("x", maxHeader)}},
			ErrHeader, "limit"},
	}
	for _, tt := range tests {
		t.Run(tt.fault, func(t *testing.T) {
			var buf bytes.Buffer
			n, err := tt.file.WriteTo(&buf)
			require.ErrorIs(t, err, tt.is)
			assert.ErrorContains(t, err, tt.says)
			assert.Zero(t, n)
			assert.Zero(t, buf.Len(), "nothing is written of a file that is refused")
		})
	}
}

// failingWriter takes room bytes, then fails.
type failingWriter struct{ room int }

var errFull = errors.New("disk full")

func (w *failingWriter) Write(p []byte) (int, error) {
	if len(p) > w.room {
		return w.room, errFull
	}
	w.room -= len(p)
	return len(p), nil
}

func TestWriteReportsShortWrites(t *testing.T) {
	for room := range golden {
		n, err := goldenFile().WriteTo(&failingWriter{room})
		assert.ErrorIs(t, err, errFull)
		assert.EqualValues(t, room, n)
	}
}

func TestValues(t *testing.T) {
	floats := []float32{0, float32(math.Copysign(0, -1)), 1.5, float32(math.Inf(-1)), float32(math.NaN())}
	tensor, err := NewTensor("w", []int{5}, floats)
	require.NoError(t, err)
	assert.Equal(t, []byte{
		0, 0, 0, 0,
		0, 0, 0, 0x80,
		0, 0, 0xc0, 0x3f,
		0, 0, 0x80, 0xff,
		0, 0, 0xc0, 0x7f,
	}, tensor.Data)
	back, err := Values[float32](tensor)
	require.NoError(t, err)
	for i := range floats {
		assert.Equal(t, math.Float32bits(floats[i]), math.Float32bits(back[i]))
	}

	ints, err := NewTensor("i", nil, []int32{-2})
	require.NoError(t, err)
	assert.Equal(t, Tensor{Name: "i", Dtype: I32, Data: []byte{0xfe, 0xff, 0xff, 0xff}}, ints)
	longs, err := NewTensor("l", []int{1, 1}, []int64{math.MinInt64 + 1})
	require.NoError(t, err)
	assert.Equal(t, []byte{1, 0, 0, 0, 0, 0, 0, 0x80}, longs.Data)
	doubles, err := NewTensor("d", []int{0, 3}, []float64{})
	require.NoError(t, err)
	assert.Equal(t, F64, doubles.Dtype)

	_, err = Values[float64](tensor)
	require.ErrorIs(t, err, ErrTensor)
	assert.ErrorContains(t, err, `"w": dtype: is F32, want F64`)
	tensor.Data = tensor.Data[:7]
	_, err = Values[float32](tensor)
	assert.ErrorIs(t, err, ErrTensor)
	for _, shape := range [][]int{{2, 2}, {-5}, {math.MaxInt, math.MaxInt}} {
		_, err = NewTensor("w", shape, floats)
		assert.ErrorIs(t, err, ErrTensor, "%v", shape)
	}
}

func TestDtypeSize(t *testing.T) {
	assert.Equal(t, 2, BF16.Size())
	assert.Equal(t, 0, Dtype("F4").Size())
}

func TestFileTensor(t *testing.T) {
	got, ok := goldenFile().Tensor("w")
	assert.True(t, ok)
	assert.Equal(t, F32, got.Dtype)
	_, ok = goldenFile().Tensor("v")
	assert.False(t, ok)
}
