package safetensors

// Dtype is the element type of a tensor, by its name in the format.
type Dtype string

// The element types that this package reads and writes.
const (
	Bool   Dtype = "BOOL"
	U8     Dtype = "U8"
	I8     Dtype = "I8"
	F8E5M2 Dtype = "F8_E5M2"
	F8E4M3 Dtype = "F8_E4M3"
	I16    Dtype = "I16"
	U16    Dtype = "U16"
	F16    Dtype = "F16"
	BF16   Dtype = "BF16"
	I32    Dtype = "I32"
	U32    Dtype = "U32"
	F32    Dtype = "F32"
	F64    Dtype = "F64"
	I64    Dtype = "I64"
	U64    Dtype = "U64"
)

// dtypes lists each type with its size in bytes, in the order in which the
// Python library ranks them. Files store the highest rank first, so that every
// tensor is aligned to its element size.
var dtypes = []struct {
	dtype Dtype
	size  int
}{
	{Bool, 1}, {U8, 1}, {I8, 1}, {F8E5M2, 1}, {F8E4M3, 1},
	{I16, 2}, {U16, 2}, {F16, 2}, {BF16, 2},
	{I32, 4}, {U32, 4}, {F32, 4},
	{F64, 8}, {I64, 8}, {U64, 8},
}

// Size returns the bytes of one element, and 0 for a type that is not known.
func (d Dtype) Size() int {
	if r := d.rank(); r >= 0 {
		return dtypes[r].size
	}
	return 0
}

// rank returns the place in dtypes, and -1 for a type that is not known.
func (d Dtype) rank() int {
	for r, known := range dtypes {
		if known.dtype == d {
			return r
		}
	}
	return -1
}
