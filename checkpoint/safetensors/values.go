package safetensors

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Number is the set of element types that convert to and from Go slices.
type Number interface {
	int32 | int64 | float32 | float64
}

// DtypeOf returns the stored type of a Go element type.
func DtypeOf[T Number]() Dtype {
	switch any(*new(T)).(type) {
	case int32:
		return I32
	case int64:
		return I64
	case float32:
		return F32
	default:
		return F64
	}
}

// NewTensor returns a tensor with these values in row-major order. It copies
// shape and values. The error wraps ErrTensor if the shape asks for another
// number of values.
func NewTensor[T Number](name string, shape []int, values []T) (Tensor, error) {
	dtype := DtypeOf[T]()
	want, err := byteSize(name, dtype, shape)
	if err != nil {
		return Tensor{}, err
	}
	if elems := want / int64(dtype.Size()); elems != int64(len(values)) {
		return Tensor{}, tensorError(name, "shape", "%v needs %d values, got %d", shape, elems, len(values))
	}
	data, err := binary.Append(nil, binary.LittleEndian, values)
	if err != nil {
		return Tensor{}, fmt.Errorf("tensor %q: %w", name, err)
	}
	return Tensor{Name: name, Dtype: dtype, Shape: slices.Clone(shape), Data: data}, nil
}

// Values returns the elements of t in a new slice. The error wraps ErrTensor
// if t holds another type than T or a broken last element.
func Values[T Number](t Tensor) ([]T, error) {
	want := DtypeOf[T]()
	if t.Dtype != want {
		return nil, tensorError(t.Name, "dtype", "is %s, want %s", t.Dtype, want)
	}
	if len(t.Data)%want.Size() != 0 {
		return nil, tensorError(t.Name, "data", "%d bytes are no multiple of %d", len(t.Data), want.Size())
	}
	values := make([]T, len(t.Data)/want.Size())
	if _, err := binary.Decode(t.Data, binary.LittleEndian, values); err != nil {
		return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
	}
	return values, nil
}
