// Package safetensors reads and writes the safetensors container: named
// tensors as little-endian bytes behind a JSON header.
//
//	bytes 0-7      length n of the header, little-endian uint64
//	bytes 8-8+n    JSON object: tensor name → {dtype, shape, data_offsets},
//	               and optionally "__metadata__" → object of strings
//	the rest       the data; data_offsets count from its first byte
//
// Reading is strict, because a file that is almost right is a damaged file:
// the header must be UTF-8 and JSON without duplicate names, every field must
// be spelled exactly and present once, and the tensors must tile the data
// without overlap, hole or rest. Nothing is allocated from a length that has
// not been checked against the size of the file.
//
// Writing is deterministic: equal content gives equal bytes, the same bytes
// that the Python library writes for the same tensors. (With metadata the two
// may differ: Python orders its keys at random, this package sorts them.)
package safetensors

import (
	"errors"
	"fmt"
)

var (
	// ErrTruncated is wrapped by errors about files shorter than they say.
	ErrTruncated = errors.New("safetensors: file is truncated")

	// ErrHeader is wrapped by errors about a header that is too large, is not
	// UTF-8, is not JSON, or has a field that is missing, unknown or of the
	// wrong type.
	ErrHeader = errors.New("safetensors: invalid header")

	// ErrTensor is wrapped by errors about one tensor on its own: a name that
	// is reserved, an unknown dtype, a shape that does not fit the data.
	ErrTensor = errors.New("safetensors: invalid tensor")

	// ErrLayout is wrapped by errors about how tensors lie beside each other:
	// overlaps, holes, bytes after the last one, a name used twice.
	ErrLayout = errors.New("safetensors: invalid layout")
)

// tensorError reports what is wrong with one field of the named tensor.
func tensorError(name, field, format string, args ...any) error {
	return fmt.Errorf("%w %q: %s: %s", ErrTensor, name, field, fmt.Sprintf(format, args...))
}
