package checkpoint

import (
	"math"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rigel-ml/rigel/checkpoint/safetensors"
	"github.com/rigel-ml/rigel/sparse"
)

func TestArchiveRoundTrip(t *testing.T) {
	in := archiveOf(t, 3)
	require.NoError(t, in.PutInt32("idx", []int{2, 1}, []int32{-1, 5}))
	require.NoError(t, in.PutFloat64("f64", []int{0, 4}, []float64{}))
	for name, a := range map[string]func() (*Archive, error){
		"in memory": func() (*Archive, error) { return in, nil },
		"from file": func() (*Archive, error) { return decode(encode(t, in)) },
	} {
		t.Run(name, func(t *testing.T) {
			a, err := a()
			require.NoError(t, err)

			shape, floats, err := a.Float32("0.bias")
			require.NoError(t, err)
			assert.Equal(t, []int{2}, shape)
			assert.Equal(t, []float32{3, -3}, floats)

			shape, ints, err := a.Int32("idx")
			require.NoError(t, err)
			assert.Equal(t, []int{2, 1}, shape)
			assert.Equal(t, []int32{-1, 5}, ints)

			shape, longs, err := a.Int64("counter")
			require.NoError(t, err)
			assert.Empty(t, shape)
			assert.Equal(t, []int64{3}, longs)

			shape, doubles, err := a.Float64("f64")
			require.NoError(t, err)
			assert.Equal(t, []int{0, 4}, shape)
			assert.Empty(t, doubles)

			m, err := a.CSR("0.weight")
			require.NoError(t, err)
			assert.Equal(t, []int32{0, 1, 3}, m.RowPtr())
			assert.Equal(t, []int32{1, 0, 2}, m.ColIdx())
			assert.Equal(t, []float32{3, 1, 4}, m.Values)
			assert.Equal(t, 3, m.Cols())

			var s state
			require.NoError(t, a.Record("state", &s))
			assert.Equal(t, state{3, []byte{3, 1}}, s)

			assert.Equal(t, []string{"state"}, a.Records())
			assert.NoError(t, Compare([]Entry{
				{"0.bias", KindFloat32, []int{2}},
				{"0.weight", KindCSR, []int{2, 3}},
				{"counter", KindInt64, nil},
				{"f64", KindFloat64, []int{0, 4}},
				{"idx", KindInt32, []int{2, 1}},
			}, a.Entries()))
		})
	}
}

// What is taken out or put in can be changed without changing the archive.
func TestArchiveCopies(t *testing.T) {
	a := NewArchive()
	shape, data := []int{2}, []float32{1, 2}
	require.NoError(t, a.PutFloat32("w", shape, data))
	shape[0], data[0] = 9, 9
	gotShape, got, err := a.Float32("w")
	require.NoError(t, err)
	gotShape[0], got[1] = 9, 9
	a.Entries()[0].Shape[0] = 9
	gotShape, got, err = a.Float32("w")
	require.NoError(t, err)
	assert.Equal(t, []int{2}, gotShape)
	assert.Equal(t, []float32{1, 2}, got)
}

// FAULTS 26: every bit pattern of a value survives.
func TestArchiveKeepsUnusualValues(t *testing.T) {
	values := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Copysign(0, -1)), 1e-45}
	a := NewArchive()
	require.NoError(t, a.PutFloat32("w", []int{4}, values))
	a, err := decode(encode(t, a))
	require.NoError(t, err)
	_, got, err := a.Float32("w")
	require.NoError(t, err)
	for i := range values {
		assert.Equal(t, math.Float32bits(values[i]), math.Float32bits(got[i]))
	}
}

func TestPutRefuses(t *testing.T) {
	m := matrixOf(t, []int32{0, 1}, []int32{2}, []float32{1})
	short := &sparse.CSR[float32]{Pattern: m.Pattern, Values: nil}
	one := []float32{1}
	tests := map[string]struct {
		put func(a *Archive) error
		is  error // nil: any
	}{
		"same name":           {func(a *Archive) error { return a.PutFloat32("dense", []int{1}, one) }, ErrDuplicate},
		"same name, sparse":   {func(a *Archive) error { return a.PutCSR("dense", m) }, ErrDuplicate},
		"sparse again":        {func(a *Archive) error { return a.PutCSR("sparse", m) }, ErrDuplicate},
		"part of a matrix":    {func(a *Archive) error { return a.PutFloat32("sparse.values", []int{1}, one) }, ErrDuplicate},
		"matrix on a tensor":  {func(a *Archive) error { return a.PutCSR("clash", m) }, ErrDuplicate},
		"record again":        {func(a *Archive) error { return a.PutRecord("r", 1) }, ErrDuplicate},
		"shape and data":      {func(a *Archive) error { return a.PutFloat32("x", []int{2}, one) }, safetensors.ErrTensor},
		"pattern and values":  {func(a *Archive) error { return a.PutCSR("x", short) }, safetensors.ErrTensor},
		"nil matrix":          {func(a *Archive) error { return a.PutCSR("x", nil) }, nil},
		"no name":             {func(a *Archive) error { return a.PutFloat32("", []int{1}, one) }, nil},
		"name not UTF-8":      {func(a *Archive) error { return a.PutFloat32("\xff", []int{1}, one) }, nil},
		"13 __metadata__":     {func(a *Archive) error { return a.PutFloat32("__metadata__", []int{1}, one) }, nil},
		"record not UTF-8":    {func(a *Archive) error { return a.PutRecord("\xff", 1) }, nil},
		"record of NaN":       {func(a *Archive) error { return a.PutRecord("x", math.NaN()) }, nil},
		"record of a channel": {func(a *Archive) error { return a.PutRecord("x", make(chan int)) }, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := NewArchive()
			require.NoError(t, a.PutFloat32("dense", []int{1}, one))
			require.NoError(t, a.PutFloat32("clash.values", []int{1}, one))
			require.NoError(t, a.PutCSR("sparse", m))
			require.NoError(t, a.PutRecord("r", 1))
			before := encode(t, a)
			err := tt.put(a)
			require.Error(t, err)
			if tt.is != nil {
				require.ErrorIs(t, err, tt.is)
			}
			assert.Equal(t, before, encode(t, a), "a refused entry leaves no trace")
		})
	}
}

func TestGetRefuses(t *testing.T) {
	a := archiveOf(t, 1)
	_, _, err := a.Float32("nope")
	assert.ErrorIs(t, err, ErrNotFound)
	_, err = a.CSR("nope")
	assert.ErrorIs(t, err, ErrNotFound)
	assert.ErrorIs(t, a.Record("nope", new(int)), ErrNotFound)

	_, _, err = a.Float64("0.bias")
	assert.ErrorIs(t, err, ErrMismatch)
	_, _, err = a.Float32("0.weight")
	assert.ErrorIs(t, err, ErrMismatch)
	_, err = a.CSR("0.bias")
	assert.ErrorIs(t, err, ErrMismatch)
	_, _, err = a.Float32("0.weight.values")
	assert.ErrorIs(t, err, ErrNotFound, "a part of a matrix is no entry")
}

func TestRecordIsStrict(t *testing.T) {
	tests := map[string]string{
		"unknown field":   `{"step":1,"rng":"","extra":1}`,
		"another case":    `{"Step":1}`,
		"duplicate field": `{"step":1,"step":2}`,
		"another type":    `{"step":"1"}`,
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			a := NewArchive()
			a.meta[keyRecord+"r"] = text
			err := a.Record("r", &state{})
			require.Error(t, err)
			assert.ErrorContains(t, err, `record "r"`)
		})
	}
	a := NewArchive()
	require.NoError(t, a.PutRecord("r", jsontext.Value("{\n\"step\": 9007199254740993 }")))
	var s state
	require.NoError(t, a.Record("r", &s))
	assert.Equal(t, int64(9007199254740993), s.Step, "integers keep all their bits")
}

func TestArchiveIsDeterministic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringN(1, 8, -1), 1, 6, rapid.ID).Draw(t, "names")
		fill := func(names []string) *Archive {
			a := NewArchive()
			for _, name := range names {
				data := []float32{float32(len(name)), 1}
				require.NoError(t, a.PutFloat32(name, []int{2}, data))
				require.NoError(t, a.PutRecord(name, map[string]int{"b": 1, "a": len(name)}))
			}
			return a
		}
		b := encode(t, fill(names))
		require.Equal(t, b, encode(t, fill(rapid.Permutation(names).Draw(t, "order"))))
		a, err := decode(b)
		require.NoError(t, err)
		require.Equal(t, b, encode(t, a), "reading and writing again changes nothing")
	})
}
