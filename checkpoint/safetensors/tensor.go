package safetensors

import (
	"math"
	"slices"
)

// metadataKey is the header member that holds the metadata. No tensor can
// have this name.
const metadataKey = "__metadata__"

// Tensor is a named array. Data holds its elements in row-major order, each
// little-endian. A scalar has an empty Shape.
type Tensor struct {
	Name  string
	Dtype Dtype
	Shape []int
	Data  []byte
}

// File is the content of a safetensors file.
//
// A nil Metadata is left out of the header, an empty one is not. The order of
// Tensors has no influence on the bytes that are written.
type File struct {
	Metadata map[string]string
	Tensors  []Tensor
}

// Tensor returns the tensor of this name and whether there is one. The result
// shares its Data with the file.
func (f *File) Tensor(name string) (Tensor, bool) {
	i := slices.IndexFunc(f.Tensors, func(t Tensor) bool { return t.Name == name })
	if i < 0 {
		return Tensor{}, false
	}
	return f.Tensors[i], true
}

// byteSize returns the bytes that a tensor of this type and shape occupies.
//
// The product is taken over the dimensions that are not zero, so whether a
// shape overflows does not depend on where a zero stands in it.
func byteSize(name string, d Dtype, shape []int) (int64, error) {
	size := int64(d.Size())
	if size == 0 {
		return 0, tensorError(name, "dtype", "unknown type %q", d)
	}
	empty := false
	for _, n := range shape {
		switch {
		case n < 0:
			return 0, tensorError(name, "shape", "%v has a negative dimension", shape)
		case n == 0:
			empty = true
		case size > math.MaxInt64/int64(n):
			return 0, tensorError(name, "shape", "%v of %s overflows 63 bits", shape, d)
		default:
			size *= int64(n)
		}
	}
	if empty {
		return 0, nil
	}
	return size, nil
}
