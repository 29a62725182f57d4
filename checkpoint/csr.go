package checkpoint

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/rigel-ml/rigel/checkpoint/safetensors"
	"github.com/rigel-ml/rigel/sparse"
)

// What is appended to a matrix's name to name its parts.
const (
	suffixRowPtr = ".crow_indices"
	suffixColIdx = ".col_indices"
	suffixValues = ".values"
)

// matrixInfo is the metadata of a sparse matrix.
type matrixInfo struct {
	Format string `json:"format"`
	Shape  []int  `json:"shape"`
}

// PutCSR stores a sparse matrix. The error wraps ErrDuplicate, or
// safetensors.ErrTensor if pattern and values do not fit.
func (a *Archive) PutCSR(name string, m *sparse.CSR[float32]) error {
	if m == nil || m.Pattern == nil {
		return fmt.Errorf("matrix %q: is nil", name)
	}
	rowPtr, err := safetensors.NewTensor(name+suffixRowPtr, []int{m.Rows() + 1}, m.RowPtr())
	if err != nil {
		return err
	}
	colIdx, err := safetensors.NewTensor(name+suffixColIdx, []int{m.NNZ()}, m.ColIdx())
	if err != nil {
		return err
	}
	values, err := safetensors.NewTensor(name+suffixValues, []int{m.NNZ()}, m.Values)
	if err != nil {
		return err
	}
	shape := []int{m.Rows(), m.Cols()}
	info, err := json.Marshal(matrixInfo{"csr", shape})
	if err != nil {
		return fmt.Errorf("matrix %q: %w", name, err)
	}
	if err := a.add(Entry{name, KindCSR, shape}, rowPtr, colIdx, values); err != nil {
		return err
	}
	a.meta[keySparse+name] = string(info)
	return nil
}

// CSR returns a sparse matrix, which is the caller's. Its pattern is new and
// at version 0. The error wraps ErrNotFound, or ErrMismatch if the entry is
// dense.
func (a *Archive) CSR(name string) (*sparse.CSR[float32], error) {
	e, err := a.entry(name)
	if err != nil {
		return nil, err
	}
	if e.Kind != KindCSR {
		return nil, fmt.Errorf("%w: %q is %s, want %s", ErrMismatch, name, e.Kind, KindCSR)
	}
	return matrix(e, a.tensors)
}

// matrix assembles and validates a matrix from the tensors of a file.
func matrix(e Entry, tensors map[string]safetensors.Tensor) (*sparse.CSR[float32], error) {
	rowPtr, err := part[int32](tensors, e.Name+suffixRowPtr)
	if err != nil {
		return nil, err
	}
	colIdx, err := part[int32](tensors, e.Name+suffixColIdx)
	if err != nil {
		return nil, err
	}
	values, err := part[float32](tensors, e.Name+suffixValues)
	if err != nil {
		return nil, err
	}
	pattern, err := sparse.NewPattern(e.Shape[0], e.Shape[1], rowPtr, colIdx)
	if err != nil {
		return nil, fmt.Errorf("%w: matrix %q: %w", ErrFormat, e.Name, err)
	}
	m, err := sparse.NewCSR(pattern, values)
	if err != nil {
		return nil, fmt.Errorf("%w: matrix %q: %w", ErrFormat, e.Name, err)
	}
	return m, nil
}

// part returns the elements of one tensor of a matrix.
func part[T safetensors.Number](tensors map[string]safetensors.Tensor, name string) ([]T, error) {
	t, ok := tensors[name]
	if !ok {
		return nil, fmt.Errorf("%w: tensor %q is missing", ErrFormat, name)
	}
	if len(t.Shape) != 1 {
		return nil, fmt.Errorf("%w: tensor %q: shape: %v, want one dimension", ErrFormat, name, t.Shape)
	}
	values, err := safetensors.Values[T](t)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return values, nil
}
