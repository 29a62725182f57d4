package ops

import (
	"fmt"

	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/sparse"
)

// A backend may hold the values of a sparse matrix in the order in which its
// kernels read them rather than in CSR order (see Backend.Order). The functions
// here cross over, so that files, hashes and mask updates see CSR order.

// Values copies the values of a tensor into dst, a sparse one's (p is not nil)
// in CSR order.
func Values(b Backend, p *sparse.Pattern, dst []float32, t *tensor.Dense) error {
	order := orderOf(b, p)
	if order == nil {
		return b.Download(dst, t)
	}
	if err := checkOrder(p, order, len(dst)); err != nil {
		return err
	}
	stored := make([]float32, len(dst))
	if err := b.Download(stored, t); err != nil {
		return err
	}
	for k, pos := range order {
		dst[pos] = stored[k]
	}
	return nil
}

// SetValues is the inverse of Values.
func SetValues(b Backend, p *sparse.Pattern, t *tensor.Dense, src []float32) error {
	order := orderOf(b, p)
	if order == nil {
		return b.Upload(t, src)
	}
	if err := checkOrder(p, order, len(src)); err != nil {
		return err
	}
	stored := make([]float32, len(src))
	for k, pos := range order {
		stored[k] = src[pos]
	}
	return b.Upload(t, stored)
}

func checkOrder(p *sparse.Pattern, order []int32, n int) error {
	if n != len(order) {
		return fmt.Errorf("%w: %d values for %d non-zeros", ErrOperand, n, p.NNZ())
	}
	return nil
}

func orderOf(b Backend, p *sparse.Pattern) []int32 {
	if p == nil {
		return nil
	}
	return b.Order(p)
}

// UpdatePattern is Pattern.Update for a pattern whose values live on a backend:
// the Delta it returns is in the backend's order before and after, as Move
// wants it.
func UpdatePattern(b Backend, p *sparse.Pattern, drop []int32, grow []int64) (*sparse.Delta, error) {
	before := b.Order(p)
	d, err := p.Update(drop, grow)
	if err != nil || before == nil {
		return d, err
	}
	stored := make([]int32, len(before)) // by the CSR position before
	for k, pos := range before {
		stored[pos] = int32(k)
	}
	from := make([]int32, len(d.From))
	for k, pos := range b.Order(p) {
		if from[k] = d.From[pos]; from[k] >= 0 {
			from[k] = stored[from[k]]
		}
	}
	d.From = from
	return d, nil
}

// Move rearranges the values of t after an UpdatePattern that kept the number of
// non-zeros; new connections become zero.
func Move(b Backend, t *tensor.Dense, d *sparse.Delta) error {
	if len(d.From) != d.OldNNZ || t.DataSize() != d.OldNNZ {
		return fmt.Errorf("%w: moving %d values from %d to %d non-zeros", ErrOperand, t.DataSize(), d.OldNNZ, len(d.From))
	}
	old := make([]float32, d.OldNNZ)
	if err := b.Download(old, t); err != nil {
		return err
	}
	moved, err := sparse.Move(d, old)
	if err != nil {
		return err
	}
	return b.Upload(t, moved)
}
