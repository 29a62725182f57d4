// Package sparse holds sparse matrix formats: what is stored, how it is
// checked, and how one form becomes another. It knows no graph and no device.
//
// The canonical form is compressed sparse rows (CSR): row pointers, column
// indices in strictly ascending order inside each row, and one value for each
// stored position. Files hold this form, and everything else is derived from
// it. A [Pattern] is a CSR matrix without its values; several value arrays
// (weights, gradients, optimizer moments) share one Pattern by pointer.
//
// Indices are int32, so a matrix has at most 2^31-1 rows, columns and stored
// positions. The number of cells, rows × columns, is computed in int64 and may
// be far larger: a 100,000 × 100,000 matrix with a million non-zeros is an
// ordinary one here.
//
// Constructors validate and return errors that wrap [ErrInvalid], or
// [ErrNotCanonical] where the entries are sound but unsorted or repeated and
// Canonicalize would mend them. They take ownership of the slices passed in.
package sparse

// Float is the element type of stored values.
type Float interface {
	~float32 | ~float64
}
