package ops

import (
	"fmt"

	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/sparse"
)

// Growth states the problem of a GrowthKernel.
type Growth struct {
	Pattern *sparse.Pattern
	Panels  Panels
}

// Check reports whether the sizes make sense.
func (g Growth) Check() error {
	_, err := SDDMM(g).Signature()
	return err
}

// CheckOperands reports whether dy and x fit, the dropped positions exist and
// are strictly ascending, and there are k cells to choose from.
func (g Growth) CheckOperands(b Backend, dy, x *tensor.Dense, k int, dropped []int32) error {
	sig, err := SDDMM(g).Signature()
	if err != nil {
		return err
	}
	for i, t := range []*tensor.Dense{dy, x} {
		if err := sig.In[i].check(b, "growth", t); err != nil {
			return err
		}
	}
	for i, p := range dropped {
		if p < 0 || int(p) >= g.Pattern.NNZ() || i > 0 && p <= dropped[i-1] {
			return fmt.Errorf("%w: dropped position %d at %d, want ascending ones below %d", ErrOperand, p, i, g.Pattern.NNZ())
		}
	}
	if room := g.Pattern.Cells() - int64(g.Pattern.NNZ()-len(dropped)); k < 0 || int64(k) > room {
		return fmt.Errorf("%w: growing %d connections where %d cells are free", ErrOperand, k, room)
	}
	return nil
}

// GrowthKernel finds connections to grow.
type GrowthKernel interface {
	// TopK returns the k cells (row·cols + column, ascending) with the largest
	// |dY Xᵀ| among those outside the kept set: every cell that the pattern
	// does not store, and those at the positions in dropped (ascending). Equal
	// scores are settled by the smaller cell number; a NaN is below every
	// number. dy is (Count, rows, Width), x is (Count, cols, Width). The
	// dense gradient is never held: memory is of the order of a tile plus k.
	TopK(dy, x *tensor.Dense, k int, dropped []int32) ([]int64, error)
}
