package safetensors

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// TensorInfo is what the header says of a tensor: the bytes Start to End of
// the data hold it.
type TensorInfo struct {
	Name       string
	Dtype      Dtype
	Shape      []int
	Start, End int64
}

// Header describes a file without its data.
type Header struct {
	Metadata map[string]string // nil if the file has none
	Tensors  []TensorInfo      // in the order of their data
}

// parseHeader parses and validates the JSON of a header in front of dataLen
// bytes of data.
func parseHeader(text []byte, dataLen int64) (*Header, error) {
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("%w: not UTF-8", ErrHeader)
	}
	// encoding/json would accept duplicate names, names in another case and
	// arrays of the wrong length; jsontext hands out the tokens as they are.
	p := parser{jsontext.NewDecoder(bytes.NewBuffer(text))}
	h := &Header{}
	err := p.object("header", func(key string) error {
		if key == metadataKey {
			return p.metadata(h)
		}
		t, err := p.tensor(key)
		h.Tensors = append(h.Tensors, t)
		return err
	})
	if err != nil {
		return nil, err
	}
	if _, err := p.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: something follows the JSON object", ErrHeader)
	}
	return h, h.checkLayout(dataLen)
}

// checkLayout puts the tensors in the order of their data and requires that
// they tile it.
func (h *Header) checkLayout(dataLen int64) error {
	slices.SortStableFunc(h.Tensors, func(a, b TensorInfo) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	end, before := int64(0), "the start of the data"
	for _, t := range h.Tensors {
		if t.Start < end {
			return fmt.Errorf("%w: tensor %q: data_offsets: [%d, %d] overlaps %s, which ends at %d",
				ErrLayout, t.Name, t.Start, t.End, before, end)
		}
		if t.Start > end {
			return fmt.Errorf("%w: tensor %q: data_offsets: [%d, %d] leaves a hole after %s, which ends at %d",
				ErrLayout, t.Name, t.Start, t.End, before, end)
		}
		if t.End > dataLen {
			return fmt.Errorf("%w: tensor %q: data_offsets: [%d, %d] reaches past the %d bytes of data",
				ErrTruncated, t.Name, t.Start, t.End, dataLen)
		}
		end, before = t.End, strconv.Quote(t.Name)
	}
	if end != dataLen {
		return fmt.Errorf("%w: %d bytes follow %s", ErrLayout, dataLen-end, before)
	}
	return nil
}

// parser reads the header token by token.
type parser struct{ *jsontext.Decoder }

// expect reads a token of this kind; what names the value in errors.
func (p parser) expect(what string, kind jsontext.Kind) (jsontext.Token, error) {
	tok, err := p.ReadToken()
	if err != nil {
		return tok, fmt.Errorf("%w: %s: %w", ErrHeader, what, err)
	}
	if tok.Kind() != kind {
		return tok, fmt.Errorf("%w: %s: is a JSON %s, want %s", ErrHeader, what, tok.Kind(), kind)
	}
	return tok, nil
}

// object reads an object and calls member with each name; member reads the
// value. The decoder refuses a name that comes twice.
func (p parser) object(what string, member func(key string) error) error {
	if _, err := p.expect(what, '{'); err != nil {
		return err
	}
	for p.PeekKind() != '}' {
		key, err := p.expect(what, '"')
		if err != nil {
			return err
		}
		if err := member(key.String()); err != nil {
			return err
		}
	}
	_, err := p.expect(what, '}')
	return err
}

func (p parser) metadata(h *Header) error {
	h.Metadata = map[string]string{}
	return p.object(metadataKey, func(key string) error {
		value, err := p.expect(fmt.Sprintf("%s %q", metadataKey, key), '"')
		h.Metadata[key] = value.String()
		return err
	})
}

// tensor reads the description of one tensor and checks it on its own.
func (p parser) tensor(name string) (TensorInfo, error) {
	t := TensorInfo{Name: name}
	var offsets []int
	missing := []string{"dtype", "shape", "data_offsets"}
	what := fmt.Sprintf("tensor %q", name)
	err := p.object(what, func(key string) (err error) {
		field := what + ": " + key
		switch key {
		case "dtype":
			var tok jsontext.Token
			tok, err = p.expect(field, '"')
			t.Dtype = Dtype(tok.String())
		case "shape":
			t.Shape, err = p.ints(field)
		case "data_offsets":
			offsets, err = p.ints(field)
		default:
			return fmt.Errorf("%w: %s: unknown field %q", ErrHeader, what, key)
		}
		missing = slices.DeleteFunc(missing, func(f string) bool { return f == key })
		return err
	})
	if err != nil {
		return t, err
	}
	if len(missing) > 0 {
		return t, fmt.Errorf("%w: %s: %s is missing", ErrHeader, what, missing[0])
	}
	if len(offsets) != 2 {
		return t, fmt.Errorf("%w: %s: data_offsets: has %d elements, want 2", ErrHeader, what, len(offsets))
	}
	t.Start, t.End = int64(offsets[0]), int64(offsets[1])
	size, err := byteSize(name, t.Dtype, t.Shape)
	if err != nil {
		return t, err
	}
	if t.End-t.Start != size {
		return t, tensorError(name, "data_offsets", "[%d, %d] spans %d bytes, but shape %v of %s needs %d",
			t.Start, t.End, t.End-t.Start, t.Shape, t.Dtype, size)
	}
	return t, nil
}

// ints reads an array of whole numbers from 0 to the largest int.
func (p parser) ints(what string) ([]int, error) {
	if _, err := p.expect(what, '['); err != nil {
		return nil, err
	}
	list := []int{}
	for p.PeekKind() != ']' {
		tok, err := p.expect(what, '0')
		if err != nil {
			return nil, err
		}
		n, err := strconv.ParseUint(tok.String(), 10, strconv.IntSize-1)
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %s is not a whole number from 0 to 2^%d-1",
				ErrHeader, what, tok, strconv.IntSize-1)
		}
		list = append(list, int(n))
	}
	_, err := p.expect(what, ']')
	return list, err
}
