package sparse

import (
	"errors"
	"fmt"
	"math"
)

var (
	// ErrInvalid is wrapped by every error about arrays that do not describe
	// a matrix.
	ErrInvalid = errors.New("invalid sparse matrix")

	// ErrNotCanonical is wrapped by errors about entries that describe a
	// matrix but are unsorted or repeated. Canonicalize mends it.
	ErrNotCanonical = errors.New("sparse matrix is not canonical")
)

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...)
}

func notCanonical(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrNotCanonical}, args...)...)
}

// checkDims rejects sizes that int32 indices cannot address.
func checkDims(rows, cols int) error {
	for _, d := range []struct {
		name string
		n    int
	}{{"rows", rows}, {"columns", cols}} {
		if d.n < 0 || d.n > math.MaxInt32 {
			return invalid("%s = %d, want 0 to %d", d.name, d.n, math.MaxInt32)
		}
	}
	return nil
}

// checkNNZ rejects counts of stored entries that int32 pointers cannot hold
// or that the matrix has no room for.
func checkNNZ(rows, cols int, nnz int64) error {
	if err := checkDims(rows, cols); err != nil {
		return err
	}
	if cells := int64(rows) * int64(cols); nnz < 0 || nnz > cells || nnz > math.MaxInt32 {
		return invalid("nnz = %d does not fit a %d × %d matrix (at most %d)",
			nnz, rows, cols, min(cells, math.MaxInt32))
	}
	return nil
}

// checkPointers validates the compressed pointers of a CSR or CSC matrix:
// n+1 of them, first 0, never decreasing, last nnz.
func checkPointers(field string, ptr []int32, n, nnz int) error {
	if len(ptr) != n+1 {
		return invalid("%s has %d entries, want %d", field, len(ptr), n+1)
	}
	if ptr[0] != 0 {
		return invalid("%s[0] = %d, want 0", field, ptr[0])
	}
	for i := range n {
		if ptr[i+1] < ptr[i] {
			return invalid("%s decreases at %d: %d after %d", field, i+1, ptr[i+1], ptr[i])
		}
	}
	if int(ptr[n]) != nnz {
		return invalid("%s ends at %d, want nnz = %d", field, ptr[n], nnz)
	}
	return nil
}

// checkIndices validates the minor indices of each compressed row: in range
// everywhere first, because that is the graver fault, then strictly ascending.
func checkIndices(field string, ptr, idx []int32, limit int) error {
	for p, j := range idx {
		if j < 0 || int(j) >= limit {
			return invalid("%s[%d] = %d, want 0 to %d", field, p, j, limit-1)
		}
	}
	for i := range len(ptr) - 1 {
		for p := ptr[i] + 1; p < ptr[i+1]; p++ {
			if idx[p] <= idx[p-1] {
				return notCanonical("%s[%d] = %d follows %d in row %d", field, p, idx[p], idx[p-1], i)
			}
		}
	}
	return nil
}
