package datasets

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// IDX is the content of one IDX file of unsigned bytes.
type IDX struct {
	// Dims are the dimensions, slowest first: {60000, 28, 28} for the images of
	// MNIST, {60000} for its labels.
	Dims []int
	// Data is row-major; its length is the product of Dims.
	Data []uint8
}

const (
	// maxIDXBytes bounds the data of one file: it stops a small gzip file that
	// unpacks without end. The largest published set (EMNIST ByClass) has 0.6 GB.
	maxIDXBytes = math.MaxInt32

	// firstRead is the most that is allocated before any data has arrived.
	firstRead = 1 << 20

	idxUint8 = 0x08
)

// idxTypes names the element types of the format, for error messages.
var idxTypes = map[byte]string{
	idxUint8: "uint8", 0x09: "int8", 0x0B: "int16", 0x0C: "int32", 0x0D: "float32", 0x0E: "float64",
}

// ReadIDX reads one IDX file of unsigned bytes from r, gzipped or plain (it
// looks at the first bytes, not at the name). name is used in errors only, which
// also name the field at fault: magic, dtype, dims or data.
//
// It is strict: r must hold exactly what the header promises, then end. Data is
// limited to 2 GiB. Memory is allocated as data arrives, never on the word of
// the header.
//
// The format: two zero bytes, the element type, the number of dimensions, each
// dimension as a big-endian uint32, the elements.
func ReadIDX(name string, r io.Reader) (*IDX, error) {
	x, err := readIDX(r)
	if err != nil {
		return nil, fmt.Errorf("datasets: %s: %w", name, err)
	}
	return x, nil
}

func readIDX(r io.Reader) (*IDX, error) {
	buffered := bufio.NewReader(r)
	r = buffered
	if magic, err := buffered.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		unzip, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("gzip header: %w", err)
		}
		r = unzip
	}

	dims, size, err := readIDXHeader(r)
	if err != nil {
		return nil, err
	}
	data, err := readGrowing(r, size)
	if err != nil {
		return nil, fmt.Errorf("data: got %d of the %d bytes that dims %v call for: %w", len(data), size, dims, err)
	}
	// For gzip, reaching the end is also what verifies the checksum.
	switch n, err := io.ReadFull(r, make([]byte, 1)); {
	case n > 0:
		return nil, fmt.Errorf("data: bytes follow the %d that dims %v call for", size, dims)
	case !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("data: after %d bytes: %w", size, err)
	}
	return &IDX{Dims: dims, Data: data}, nil
}

// readIDXHeader returns the dimensions and their product, the bytes of data.
func readIDXHeader(r io.Reader) (dims []int, size int, err error) {
	var magic [4]byte
	if _, err := io.ReadFull(r, magic[:]); err != nil {
		return nil, 0, fmt.Errorf("magic: the file is too short: %w", noEOF(err))
	}
	if magic[0] != 0 || magic[1] != 0 {
		return nil, 0, fmt.Errorf("magic: the file starts with % x; an IDX file starts with 00 00", magic[:2])
	}
	if dtype := magic[2]; dtype != idxUint8 {
		known, ok := idxTypes[dtype]
		if !ok {
			known = "unknown"
		}
		return nil, 0, fmt.Errorf("dtype: %#02x (%s) is not supported; want %#02x (uint8)", dtype, known, idxUint8)
	}
	if magic[3] == 0 {
		return nil, 0, errors.New("dims: the header declares no dimensions")
	}

	raw := make([]byte, 4*int(magic[3]))
	if _, err := io.ReadFull(r, raw); err != nil {
		return nil, 0, fmt.Errorf("dims: the file ends inside its %d dimensions: %w", magic[3], noEOF(err))
	}
	dims = make([]int, magic[3])
	size = 1
	for i := range dims {
		d := binary.BigEndian.Uint32(raw[4*i:])
		if d > maxIDXBytes || size > 0 && int(d) > maxIDXBytes/size {
			return nil, 0, fmt.Errorf("dims: dimension %d is %d, which takes the data over the limit of %d bytes", i, d, maxIDXBytes)
		}
		dims[i] = int(d)
		size *= int(d)
	}
	return dims, size, nil
}

// readGrowing reads size bytes. What it allocates is bounded by four times what
// has arrived, so a header that lies costs no more than firstRead. On an error
// it returns what it got.
func readGrowing(r io.Reader, size int) ([]byte, error) {
	buf := make([]byte, min(size, firstRead))
	for have := 0; ; {
		n, err := io.ReadFull(r, buf[have:])
		have += n
		if err != nil {
			return buf[:have], noEOF(err)
		}
		if have == size {
			return buf, nil
		}
		next := size
		if have < size/4 {
			next = 4 * have
		}
		grown := make([]byte, next)
		copy(grown, buf)
		buf = grown
	}
}

// noEOF turns the end of the input into an error, where more was due.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
