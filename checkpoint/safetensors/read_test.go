package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// raw assembles a file from the text of its header and its data.
func raw(header string, data ...byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	b = append(b, header...)
	return append(b, data...)
}

// length returns the first eight bytes of a file whose header has n bytes.
func length(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }

func decode(b []byte) (*File, error) { return Read(bytes.NewReader(b), int64(len(b))) }

// Each row is one way in which a file is broken; fault names the case of the
// catalog, FAULTS.md, that it stands for.
func TestReadRefuses(t *testing.T) {
	u8 := func(fields string) []byte { return raw(`{"w":{`+fields+`}}`, 1, 2, 3, 4) }
	tests := []struct {
		fault string
		file  []byte
		is    error
		says  string
	}{
		{"1 empty file", nil, ErrTruncated, "0 bytes"},
		{"1 shorter than 8 bytes", []byte{2, 0, 0, 0, 0, 0, 0}, ErrTruncated, "7 bytes"},
		{"2 header of 2^63 bytes", length(1 << 63), ErrHeader, "9223372036854775808"},
		{"2 header of 2^64-1 bytes", length(math.MaxUint64), ErrHeader, "limit"},
		{"2 header over 100 MB", length(maxHeader + 1), ErrHeader, "100000001"},
		{"3 header past the end", append(length(3), "{}"...), ErrTruncated, "byte 11 of 10"},
		{"4 not UTF-8", raw("{\"\xff\":{}}"), ErrHeader, "UTF-8"},
		{"4 lone surrogate", raw(`{"\ud800":{}}`), ErrHeader, ""},
		{"5 no JSON", raw(""), ErrHeader, "header"},
		{"5 not an object", raw(`[]`), ErrHeader, "want {"},
		{"5 cut short", raw(`{"w":{"dtype"`), ErrHeader, `"w"`},
		{"5 trailing comma", raw(`{"w":{},}`), ErrHeader, ""},
		{"5 text after the object", raw(`{}{}`), ErrHeader, "follows"},
		{"5 padded with NUL", raw("{}\x00"), ErrHeader, "follows"},
		{"5 tensor is a string", raw(`{"w":"F32"}`), ErrHeader, `tensor "w": is a JSON string`},
		{"5 shape is a string", u8(`"shape":"4"`), ErrHeader, `tensor "w": shape`},
		{"5 shape of strings", u8(`"shape":["4"]`), ErrHeader, `tensor "w": shape`},
		{"5 shape is fractional", u8(`"shape":[4.0]`), ErrHeader, "4.0 is not a whole number"},
		{"5 shape is negative", u8(`"shape":[-4]`), ErrHeader, "-4 is not a whole number"},
		{"5 shape is beyond 64 bits", u8(`"shape":[18446744073709551616]`), ErrHeader, "18446744073709551616"},
		{"5 dtype is null", u8(`"dtype":null`), ErrHeader, `tensor "w": dtype`},
		{"6 duplicate tensor", raw(`{"w":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"w":{}}`),
			ErrHeader, `"w"`},
		{"6 duplicate tensor, escaped", raw(`{"w":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"\u0077":{}}`),
			ErrHeader, `w`},
		{"6 duplicate metadata", raw(`{"__metadata__":{"a":"1","a":"2"}}`), ErrHeader, `"a"`},
		{"6 duplicate field", u8(`"dtype":"U8","dtype":"U8"`), ErrHeader, "dtype"},
		{"7 key in another case", u8(`"Dtype":"U8","shape":[4],"data_offsets":[0,4]`),
			ErrHeader, `unknown field "Dtype"`},
		{"7 unknown field", u8(`"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":1`), ErrHeader, `"x"`},
		{"7 missing dtype", u8(`"shape":[4],"data_offsets":[0,4]`), ErrHeader, "dtype is missing"},
		{"7 missing shape", u8(`"dtype":"U8","data_offsets":[0,4]`), ErrHeader, "shape is missing"},
		{"7 missing offsets", u8(`"dtype":"U8","shape":[4]`), ErrHeader, "data_offsets is missing"},
		{"7 one offset", u8(`"dtype":"U8","shape":[4],"data_offsets":[4]`), ErrHeader, "has 1 elements"},
		{"7 three offsets", u8(`"dtype":"U8","shape":[4],"data_offsets":[0,4,4]`), ErrHeader, "has 3 elements"},
		{"8 overlap", raw(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},`+
			`"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}`, 1, 2, 3),
			ErrLayout, `tensor "b": data_offsets: [1, 3] overlaps "a"`},
		{"8 same range twice", raw(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},`+
			`"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}`, 1, 2), ErrLayout, "overlaps"},
		{"8 empty tensor inside another", raw(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},`+
			`"b":{"dtype":"U8","shape":[0],"data_offsets":[1,1]}}`, 1, 2), ErrLayout, "overlaps"},
		{"8 hole between", raw(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},`+
			`"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}}`, 1, 2, 3),
			ErrLayout, `tensor "b": data_offsets: [2, 3] leaves a hole after "a"`},
		{"8 hole at the start", u8(`"dtype":"U8","shape":[3],"data_offsets":[1,4]`), ErrLayout, "hole"},
		{"9 trailing byte", raw(`{"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 1, 2),
			ErrLayout, `1 bytes follow "w"`},
		{"9 data without tensors", raw(`{}`, 1), ErrLayout, "1 bytes follow"},
		{"9 missing tail", raw(`{"w":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}}`, 1, 2),
			ErrTruncated, `tensor "w": data_offsets: [0, 3] reaches past the 2 bytes`},
		{"10 product overflows", u8(`"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,4]`),
			ErrTensor, `"w": shape: [4294967296 4294967296] of U8 overflows`},
		{"10 product by dtype overflows", u8(`"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]`),
			ErrTensor, "overflows"},
		{"10 product overflows beside a zero", u8(`"dtype":"U8","shape":[0,4294967296,4294967296],"data_offsets":[0,0]`),
			ErrTensor, "overflows"},
		{"11 range too short", u8(`"dtype":"F32","shape":[2],"data_offsets":[0,4]`),
			ErrTensor, `"w": data_offsets: [0, 4] spans 4 bytes, but shape [2] of F32 needs 8`},
		{"11 range reversed", u8(`"dtype":"U8","shape":[4],"data_offsets":[4,0]`), ErrTensor, "spans -4 bytes"},
		{"12 unknown dtype", u8(`"dtype":"F31","shape":[4],"data_offsets":[0,4]`),
			ErrTensor, `"w": dtype: unknown type "F31"`},
		{"12 dtype in lower case", u8(`"dtype":"u8","shape":[4],"data_offsets":[0,4]`), ErrTensor, `"u8"`},
		{"12 metadata value is a number", raw(`{"__metadata__":{"epoch":3}}`),
			ErrHeader, `__metadata__ "epoch": is a JSON number`},
		{"12 metadata is null", raw(`{"__metadata__":null}`), ErrHeader, "__metadata__: is a JSON null"},
		{"13 metadata that describes a tensor",
			raw(`{"__metadata__":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 1), ErrHeader, `"shape"`},
	}
	for _, tt := range tests {
		t.Run(tt.fault, func(t *testing.T) {
			f, err := decode(tt.file)
			assert.Nil(t, f)
			require.ErrorIs(t, err, tt.is)
			assert.ErrorContains(t, err, tt.says)
		})
	}
}

// FAULTS 14: unusual, but sound.
func TestReadAccepts(t *testing.T) {
	tests := []struct {
		fault string
		file  []byte
		want  File
	}{
		{"14 no tensors", raw(`{}`), File{Tensors: []Tensor{}}},
		{"14 metadata only", raw(`{"__metadata__":{"k":"v"}}`),
			File{Metadata: map[string]string{"k": "v"}, Tensors: []Tensor{}}},
		{"14 empty metadata", raw(`{"__metadata__":{}}`),
			File{Metadata: map[string]string{}, Tensors: []Tensor{}}},
		{"14 scalar", raw(`{"s":{"dtype":"I16","shape":[],"data_offsets":[0,2]}}`, 7, 0),
			File{Tensors: []Tensor{{"s", I16, []int{}, []byte{7, 0}}}}},
		{"14 zero-size tensors at both ends", raw(`{"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},`+
			`"z":{"dtype":"F64","shape":[3,0],"data_offsets":[1,1]},`+
			`"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}`, 9),
			File{Tensors: []Tensor{{"a", F32, []int{0}, []byte{}}, {"b", U8, []int{1}, []byte{9}},
				{"z", F64, []int{3, 0}, []byte{}}}}},
		{"14 header in another order than the data", raw(
			`{"b":{"data_offsets":[1,2],"shape":[1],"dtype":"U8"},"a":{"shape":[1],"data_offsets":[0,1],"dtype":"I8"}}`, 1, 2),
			File{Tensors: []Tensor{{"a", I8, []int{1}, []byte{1}}, {"b", U8, []int{1}, []byte{2}}}}},
		{"14 white space around and inside", raw(
			" \n\t{ \"a\" : {\"dtype\":\"BOOL\", \"shape\":[ 1 ],\"data_offsets\":[0,\r\n1]} }\n  ", 1),
			File{Tensors: []Tensor{{"a", Bool, []int{1}, []byte{1}}}}},
		{"14 unaligned data, empty name", raw(`{"":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}} `, 0, 0, 128, 63),
			File{Tensors: []Tensor{{"", F32, []int{1}, []byte{0, 0, 128, 63}}}}},
	}
	for _, tt := range tests {
		t.Run(tt.fault, func(t *testing.T) {
			f, err := decode(tt.file)
			require.NoError(t, err)
			assert.Equal(t, tt.want, *f)
		})
	}
}

// greedyReader fails the test when somebody asks for more than limit bytes.
type greedyReader struct {
	t     *testing.T
	data  []byte
	limit int
}

func (r greedyReader) ReadAt(p []byte, off int64) (int, error) {
	require.LessOrEqual(r.t, len(p), r.limit, "allocated before it was validated")
	return bytes.NewReader(r.data).ReadAt(p, off)
}

// FAULTS 2: lengths are checked before anything is allocated for them.
func TestReadAllocatesNothingUnchecked(t *testing.T) {
	const size = 1 << 40
	header := `{"w":{"dtype":"U8","shape":[1099511627775],"data_offsets":[0,1099511627775]}}`
	tests := map[string]struct {
		data []byte
		size int64
	}{
		"header length over the limit":    {length(maxHeader + 1), size},
		"header length past a small file": {length(maxHeader), 1 << 20},
		"tensor past a small file":        {raw(header), int64(8 + len(header) + 100)},
		"data that no tensor describes":   {raw(`{}`), size},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Read(greedyReader{t, tt.data, len(header)}, tt.size)
			assert.Error(t, err)
		})
	}
}

type failingReader struct{ err error }

func (r failingReader) ReadAt([]byte, int64) (int, error) { return 0, r.err }

func TestReadPassesOnErrorsOfTheReader(t *testing.T) {
	broken := errors.New("broken disk")
	_, err := Read(failingReader{broken}, 100)
	assert.ErrorIs(t, err, broken)
	_, err = Read(failingReader{io.EOF}, 100)
	assert.ErrorIs(t, err, ErrTruncated, "a file that shrank since its size was taken")
}

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.safetensors")
	_, err := ReadFile(path)
	require.ErrorIs(t, err, os.ErrNotExist)

	require.NoError(t, os.WriteFile(path, golden, 0o600))
	f, err := ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, goldenFile().Metadata, f.Metadata)

	require.NoError(t, os.WriteFile(path, golden[:20], 0o600))
	_, err = ReadFile(path)
	require.ErrorIs(t, err, ErrTruncated)
	assert.ErrorContains(t, err, path)
}

func TestReadHeader(t *testing.T) {
	h, err := ReadHeader(bytes.NewReader(golden), int64(len(golden)))
	require.NoError(t, err)
	assert.Equal(t, &Header{
		Metadata: map[string]string{"k": "v"},
		Tensors: []TensorInfo{
			{"w", F32, []int{1, 2}, 0, 8},
			{"b", U8, []int{3}, 8, 11},
		},
	}, h)
}
