package datasets

import (
	"bytes"
	"io"
	"runtime"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReadIDX(t *testing.T) {
	tests := []struct {
		name string
		dims []uint32
	}{
		{"labels", []uint32{5}},
		{"images", []uint32{3, 4, 5}},
		{"empty", []uint32{0}},
		{"empty with wide dims", []uint32{0, 1 << 30, 1 << 30}},
		{"many dims", slices.Repeat([]uint32{1}, 255)},
		{"larger than the first read", []uint32{5, 1000, 1001}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			size := 1
			var dims []int
			for _, d := range tt.dims {
				dims = append(dims, int(d))
				size *= int(d)
			}
			data := make([]byte, size)
			for i := range data {
				data[i] = byte(i * i)
			}
			file := idxFileOf(idxUint8, tt.dims, data)
			for _, encoded := range [][]byte{file, gzipped(t, file)} {
				x, err := ReadIDX("f", iotest.HalfReader(bytes.NewReader(encoded)))
				require.NoError(t, err)
				assert.Equal(t, dims, x.Dims)
				assert.True(t, bytes.Equal(data, x.Data))
			}
		})
	}
}

func TestReadIDXRejects(t *testing.T) {
	valid := idxFileOf(idxUint8, []uint32{2, 3}, make([]byte, 6))
	zipped := gzipped(t, valid)
	corrupt := slices.Clone(zipped)
	corrupt[len(corrupt)-8] ^= 1 // the checksum

	tests := []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "magic"},
		{"one byte", []byte{0}, "magic"},
		{"short magic", valid[:3], "magic"},
		{"bad magic", []byte("PK\x08\x02and so on"), "magic"},
		{"float elements", idxFileOf(0x0D, []uint32{1}, make([]byte, 4)), "dtype: 0x0d (float32)"},
		{"unknown elements", idxFileOf(0x07, []uint32{1}, make([]byte, 4)), "dtype: 0x07 (unknown)"},
		{"no dimensions", idxFileOf(idxUint8, nil, []byte{1}), "dims"},
		{"short dimensions", valid[:9], "dims"},
		{"dimension over the limit", idxFileOf(idxUint8, []uint32{1 << 31}, nil), "dims: dimension 0"},
		{"dimensions overflow 32 bits", idxFileOf(idxUint8, []uint32{1 << 16, 1 << 16}, nil), "dims: dimension 1"},
		{"dimensions overflow 64 bits", idxFileOf(idxUint8, []uint32{1 << 30, 1 << 30, 1 << 30}, nil), "dims: dimension 1"},
		{"no data", valid[:12], "data: got 0 of the 6 bytes"},
		{"short data", valid[:17], "data: got 5 of the 6 bytes"},
		{"trailing byte", append(slices.Clone(valid), 0), "data: bytes follow"},
		{"short gzip header", zipped[:5], "gzip header"},
		{"short gzip", zipped[:len(zipped)-9], "unexpected EOF"},
		{"gzip without its checksum", zipped[:len(zipped)-8], "data: after 6 bytes"},
		{"gzip with a wrong checksum", corrupt, "data: after 6 bytes: gzip: invalid checksum"},
		{"trailing byte after gzip", append(slices.Clone(zipped), 0), "data: after 6 bytes"},
		{"trailing byte inside gzip", gzipped(t, append(slices.Clone(valid), 0)), "data: bytes follow"},
		{"short data inside gzip", gzipped(t, valid[:17]), "data: got 5 of the 6 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ReadIDX("some-file", bytes.NewReader(tt.file))
			require.ErrorContains(t, err, tt.want)
			require.ErrorContains(t, err, "some-file")
		})
	}

	_, err := ReadIDX("f", io.MultiReader(bytes.NewReader(valid[:14]), iotest.ErrReader(io.ErrClosedPipe)))
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

func TestReadIDXDoesNotTrustTheHeader(t *testing.T) {
	// 2 GiB promised, 100 bytes there.
	file := idxFileOf(idxUint8, []uint32{maxIDXBytes}, make([]byte, 100))
	for _, encoded := range [][]byte{file, gzipped(t, file)} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := ReadIDX("f", bytes.NewReader(encoded))
		runtime.ReadMemStats(&after)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(2*firstRead))
	}
}

// FuzzReadIDX checks that no input panics, and that what is accepted is exactly
// what was in the file.
func FuzzReadIDX(f *testing.F) {
	valid := idxFileOf(idxUint8, []uint32{2, 3}, []byte{1, 2, 3, 4, 5, 6})
	f.Add(valid)
	f.Add(valid[:13])
	f.Add(append(slices.Clone(valid), 7))
	f.Add(gzipped(f, valid))
	f.Add(idxFileOf(idxUint8, []uint32{0, 1 << 30, 1 << 30}, nil))
	f.Add(idxFileOf(idxUint8, []uint32{1 << 16, 1 << 16}, nil))
	f.Add(idxFileOf(0x0D, []uint32{1}, []byte{0, 0, 0, 0}))
	f.Fuzz(func(t *testing.T, file []byte) {
		x, err := ReadIDX("fuzz", bytes.NewReader(file))
		if err != nil {
			return
		}
		var dims []uint32
		size := 1
		for _, d := range x.Dims {
			dims = append(dims, uint32(d))
			size *= d
		}
		require.Len(t, x.Data, size)
		if file[0] == 0 { // plain
			require.Equal(t, file, idxFileOf(idxUint8, dims, x.Data))
		}
	})
}
