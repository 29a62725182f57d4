package safetensors

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// WriteTo writes the file to w and returns the bytes written. Tensors are
// stored by descending alignment, then by name.
//
// Nothing is written if the content is refused: the error then wraps ErrTensor
// (reserved name, unknown dtype, shape that does not fit Data), ErrLayout (a
// name used twice) or ErrHeader (too large, text that is not UTF-8).
func (f *File) WriteTo(w io.Writer) (int64, error) {
	tensors, header, err := f.encode()
	if err != nil {
		return 0, err
	}
	n, err := w.Write(header)
	written := int64(n)
	for i := 0; i < len(tensors) && err == nil; i++ {
		n, err = w.Write(tensors[i].Data)
		written += int64(n)
	}
	return written, err
}

// Header returns the bytes that WriteTo puts in front of the data: the length,
// the JSON text and its padding.
func (f *File) Header() ([]byte, error) {
	_, header, err := f.encode()
	return header, err
}

// encode validates the content and returns the tensors in the order of the
// file with the header that describes them.
func (f *File) encode() ([]Tensor, []byte, error) {
	tensors := slices.SortedFunc(slices.Values(f.Tensors), func(a, b Tensor) int {
		return cmp.Or(cmp.Compare(b.Dtype.rank(), a.Dtype.rank()), strings.Compare(a.Name, b.Name))
	})
	if err := checkTensors(tensors); err != nil {
		return nil, nil, err
	}

	e := encoder{buf: make([]byte, prefixLen)}
	e.raw("{")
	if f.Metadata != nil {
		e.key(metadataKey)
		e.raw("{")
		for _, k := range slices.Sorted(maps.Keys(f.Metadata)) {
			e.key(k)
			e.quote(f.Metadata[k])
		}
		e.raw("}")
	}
	start := 0
	for _, t := range tensors {
		end := start + len(t.Data)
		e.key(t.Name)
		e.raw("{")
		e.key("dtype")
		e.quote(string(t.Dtype))
		e.key("shape")
		e.ints(t.Shape...)
		e.key("data_offsets")
		e.ints(start, end)
		e.raw("}")
		start = end
	}
	e.raw("}")
	if e.err != nil {
		return nil, nil, e.err
	}
	for len(e.buf)%8 != 0 {
		e.raw(" ")
	}
	n := len(e.buf) - prefixLen
	if n > maxHeader {
		return nil, nil, fmt.Errorf("%w: %d bytes, over the limit of %d; store large values as tensors, not as metadata",
			ErrHeader, n, maxHeader)
	}
	binary.LittleEndian.PutUint64(e.buf, uint64(n))
	return tensors, e.buf, nil
}

func checkTensors(tensors []Tensor) error {
	seen := make(map[string]bool, len(tensors))
	for _, t := range tensors {
		if t.Name == metadataKey {
			return tensorError(t.Name, "name", "is reserved for the metadata")
		}
		if seen[t.Name] {
			return fmt.Errorf("%w: two tensors are named %q", ErrLayout, t.Name)
		}
		seen[t.Name] = true
		size, err := byteSize(t.Name, t.Dtype, t.Shape)
		if err != nil {
			return err
		}
		if int64(len(t.Data)) != size {
			return tensorError(t.Name, "data", "has %d bytes, but shape %v of %s needs %d",
				len(t.Data), t.Shape, t.Dtype, size)
		}
	}
	return nil
}

// encoder appends JSON without white space to buf and remembers the first
// error.
type encoder struct {
	buf []byte
	err error
}

func (e *encoder) raw(s string) { e.buf = append(e.buf, s...) }

// key appends the name of a member, after a comma unless it is the first.
func (e *encoder) key(name string) {
	if e.buf[len(e.buf)-1] != '{' {
		e.raw(",")
	}
	e.quote(name)
	e.raw(":")
}

func (e *encoder) quote(s string) {
	buf, err := jsontext.AppendQuote(e.buf, s)
	if err != nil {
		e.err = cmp.Or(e.err, fmt.Errorf("%w: text %q: %w", ErrHeader, s, err))
		return
	}
	e.buf = buf
}

func (e *encoder) ints(list ...int) {
	e.raw("[")
	for i, n := range list {
		if i > 0 {
			e.raw(",")
		}
		e.buf = strconv.AppendInt(e.buf, int64(n), 10)
	}
	e.raw("]")
}
