package safetensors

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
)

const (
	prefixLen = 8           // the header's length
	maxHeader = 100_000_000 // the limit that all implementations share
)

// ReadHeader reads and validates the header of the file that is the first size
// bytes of r. It does not read the data.
func ReadHeader(r io.ReaderAt, size int64) (*Header, error) {
	h, _, err := readHeader(r, size)
	return h, err
}

// Read reads the file that is the first size bytes of r. Tensors come in the
// order of their data; their Data are slices of one array that the caller owns.
//
// The error wraps ErrTruncated, ErrHeader, ErrTensor or ErrLayout, or is the
// error of r.
func Read(r io.ReaderAt, size int64) (*File, error) {
	h, dataStart, err := readHeader(r, size)
	if err != nil {
		return nil, err
	}
	data := make([]byte, size-dataStart)
	if err := readFull(r, data, dataStart); err != nil {
		return nil, err
	}
	f := &File{Metadata: h.Metadata, Tensors: make([]Tensor, len(h.Tensors))}
	for i, t := range h.Tensors {
		// The third index keeps an append to one tensor out of the next.
		f.Tensors[i] = Tensor{Name: t.Name, Dtype: t.Dtype, Shape: t.Shape, Data: data[t.Start:t.End:t.End]}
	}
	return f, nil
}

// ReadFile reads the file at path. Errors name the path.
func ReadFile(path string) (*File, error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	stat, err := r.Stat()
	if err != nil {
		return nil, err
	}
	f, err := Read(r, stat.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// readHeader also returns where the data starts.
func readHeader(r io.ReaderAt, size int64) (*Header, int64, error) {
	if size < prefixLen {
		return nil, 0, fmt.Errorf("%w: %d bytes, want at least %d for the header's length",
			ErrTruncated, size, prefixLen)
	}
	prefix := make([]byte, prefixLen)
	if err := readFull(r, prefix, 0); err != nil {
		return nil, 0, err
	}
	n := binary.LittleEndian.Uint64(prefix)
	if n > maxHeader {
		return nil, 0, fmt.Errorf("%w: length %d is over the limit of %d bytes", ErrHeader, n, maxHeader)
	}
	dataStart := prefixLen + int64(n)
	if dataStart > size {
		return nil, 0, fmt.Errorf("%w: header ends at byte %d of %d", ErrTruncated, dataStart, size)
	}
	text := make([]byte, n)
	if err := readFull(r, text, prefixLen); err != nil {
		return nil, 0, err
	}
	h, err := parseHeader(text, size-dataStart)
	if err != nil {
		return nil, 0, err
	}
	return h, dataStart, nil
}

// readFull fills buf from offset off. io.ReaderAt promises an error with a
// short read, but lets a full one come with io.EOF.
func readFull(r io.ReaderAt, buf []byte, off int64) error {
	if n, err := r.ReadAt(buf, off); n < len(buf) {
		if err == io.EOF {
			err = ErrTruncated
		}
		return fmt.Errorf("reading %d bytes at offset %d: %w", len(buf), off, err)
	}
	return nil
}
