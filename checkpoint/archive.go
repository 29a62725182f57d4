package checkpoint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/rigel-ml/rigel/checkpoint/safetensors"
)

// Kind says what an entry of an archive is.
type Kind string

// The kinds of entries.
const (
	KindFloat32 Kind = "float32"
	KindFloat64 Kind = "float64"
	KindInt32   Kind = "int32"
	KindInt64   Kind = "int64"
	KindCSR     Kind = "csr" // float32 values
)

var kindOf = map[safetensors.Dtype]Kind{
	safetensors.F32: KindFloat32,
	safetensors.F64: KindFloat64,
	safetensors.I32: KindInt32,
	safetensors.I64: KindInt64,
}

// Entry describes a tensor or a matrix of an archive. The shape of a matrix is
// rows, columns.
type Entry struct {
	Name  string
	Kind  Kind
	Shape []int
}

// Archive is the content of one checkpoint: named dense tensors, sparse
// matrices and records. It copies what is put in and returns copies.
//
// An Archive is not safe for concurrent use.
type Archive struct {
	entries map[string]Entry
	tensors map[string]safetensors.Tensor // as stored, by stored name
	meta    map[string]string             // without version and checksum
}

// NewArchive returns an empty archive.
func NewArchive() *Archive {
	return &Archive{
		entries: map[string]Entry{},
		tensors: map[string]safetensors.Tensor{},
		meta:    map[string]string{},
	}
}

// Entries lists tensors and matrices by ascending name.
func (a *Archive) Entries() []Entry {
	var list []Entry
	for _, name := range slices.Sorted(maps.Keys(a.entries)) {
		e := a.entries[name]
		e.Shape = slices.Clone(e.Shape)
		list = append(list, e)
	}
	return list
}

// PutFloat32 stores a dense tensor in row-major order. The error wraps
// ErrDuplicate, or safetensors.ErrTensor if shape and data do not fit.
func (a *Archive) PutFloat32(name string, shape []int, data []float32) error {
	return put(a, name, shape, data)
}

// PutFloat64 is PutFloat32 for float64.
func (a *Archive) PutFloat64(name string, shape []int, data []float64) error {
	return put(a, name, shape, data)
}

// PutInt32 is PutFloat32 for int32.
func (a *Archive) PutInt32(name string, shape []int, data []int32) error {
	return put(a, name, shape, data)
}

// PutInt64 is PutFloat32 for int64.
func (a *Archive) PutInt64(name string, shape []int, data []int64) error {
	return put(a, name, shape, data)
}

// Float32 returns shape and values of a dense tensor; both are the caller's.
// The error wraps ErrNotFound, or ErrMismatch if the entry is of another kind.
func (a *Archive) Float32(name string) (shape []int, data []float32, err error) {
	return get[float32](a, name)
}

// Float64 is Float32 for float64.
func (a *Archive) Float64(name string) (shape []int, data []float64, err error) {
	return get[float64](a, name)
}

// Int32 is Float32 for int32.
func (a *Archive) Int32(name string) (shape []int, data []int32, err error) {
	return get[int32](a, name)
}

// Int64 is Float32 for int64.
func (a *Archive) Int64(name string) (shape []int, data []int64, err error) {
	return get[int64](a, name)
}

func put[T safetensors.Number](a *Archive, name string, shape []int, data []T) error {
	t, err := safetensors.NewTensor(name, shape, data)
	if err != nil {
		return err
	}
	return a.add(Entry{name, kindOf[t.Dtype], t.Shape}, t)
}

func get[T safetensors.Number](a *Archive, name string) ([]int, []T, error) {
	e, err := a.entry(name)
	if err != nil {
		return nil, nil, err
	}
	if want := kindOf[safetensors.DtypeOf[T]()]; e.Kind != want {
		return nil, nil, fmt.Errorf("%w: %q is %s, want %s", ErrMismatch, name, e.Kind, want)
	}
	data, err := safetensors.Values[T](a.tensors[name])
	return slices.Clone(e.Shape), data, err
}

// entry returns the description of an entry, or an error that wraps
// ErrNotFound.
func (a *Archive) entry(name string) (Entry, error) {
	e, ok := a.entries[name]
	if !ok {
		return e, fmt.Errorf("%w: %q", ErrNotFound, name)
	}
	return e, nil
}

// add stores an entry with the tensors that it is made of, all or nothing.
func (a *Archive) add(e Entry, parts ...safetensors.Tensor) error {
	if err := checkName(e.Name); err != nil {
		return err
	}
	if _, taken := a.entries[e.Name]; taken {
		return fmt.Errorf("%w: %q", ErrDuplicate, e.Name)
	}
	for _, t := range parts {
		if _, taken := a.tensors[t.Name]; taken {
			return fmt.Errorf("%w: %q needs the stored name %q", ErrDuplicate, e.Name, t.Name)
		}
	}
	a.entries[e.Name] = e
	for _, t := range parts {
		a.tensors[t.Name] = t
	}
	return nil
}

// PutRecord stores any value that encodes as JSON. Encoding follows
// encoding/json/v2: names are case-sensitive, NaN and infinities are errors, a
// []byte is base64. The error wraps ErrDuplicate or is that of the encoding.
func (a *Archive) PutRecord(name string, v any) error {
	if err := checkName(name); err != nil {
		return err
	}
	if _, taken := a.meta[keyRecord+name]; taken {
		return fmt.Errorf("%w: record %q", ErrDuplicate, name)
	}
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("record %q: %w", name, err)
	}
	a.meta[keyRecord+name] = string(text)
	return nil
}

// Record decodes a record into the pointer v. A member that v has no field for
// is an error: what the writer thought worth keeping must not be dropped
// silently. The error wraps ErrNotFound or is that of the decoding.
func (a *Archive) Record(name string, v any) error {
	text, ok := a.meta[keyRecord+name]
	if !ok {
		return fmt.Errorf("%w: record %q", ErrNotFound, name)
	}
	if err := unmarshalStrict([]byte(text), v); err != nil {
		return fmt.Errorf("record %q: %w", name, err)
	}
	return nil
}

// Records lists the names of the records in ascending order.
func (a *Archive) Records() []string {
	var names []string
	for key := range a.meta {
		if name, ok := strings.CutPrefix(key, keyRecord); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func unmarshalStrict(text []byte, v any) error {
	return json.Unmarshal(text, v, json.RejectUnknownMembers(true))
}
