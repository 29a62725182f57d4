package ref

import (
	"cmp"
	"math"
	"slices"

	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/ops"
)

type growth struct {
	b *Backend
	g ops.Growth
}

// PlanGrowth returns the reference that holds the whole dense gradient.
func (b *Backend) PlanGrowth(g ops.Growth) (ops.GrowthKernel, error) {
	if err := g.Check(); err != nil {
		return nil, err
	}
	return &growth{b, g}, nil
}

// TopK sorts every candidate.
func (k *growth) TopK(dy, x *tensor.Dense, n int, dropped []int32) ([]int64, error) {
	if err := k.g.CheckOperands(k.b, dy, x, n, dropped); err != nil {
		return nil, err
	}
	pat := k.g.Pattern
	dense := make([]float64, pat.Cells())
	lineargrad(ops.LinearGrad{Out: pat.Rows(), In: pat.Cols(), Panels: k.g.Panels}, dy.Float64s(), x.Float64s(), dense)

	kept := make([]bool, pat.Cells())
	for pos, c := range pat.AppendCells(nil) {
		_, drop := slices.BinarySearch(dropped, int32(pos))
		kept[c] = !drop
	}
	var candidates []int64
	for c := range dense {
		if dense[c] = math.Abs(dense[c]); math.IsNaN(dense[c]) {
			dense[c] = -1
		}
		if !kept[c] {
			candidates = append(candidates, int64(c))
		}
	}
	slices.SortFunc(candidates, func(a, b int64) int {
		return cmp.Or(cmp.Compare(dense[b], dense[a]), cmp.Compare(a, b))
	})
	grown := candidates[:n]
	slices.Sort(grown)
	return grown, nil
}
