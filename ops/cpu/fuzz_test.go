package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/ops/ref"
	"github.com/rigel-ml/rigel/sparse"
)

// shapeOf tells whether a cell may be stored, by the kind of pattern: the hard
// ones have rows or columns that are much fuller than the others, or empty.
var shapeOf = []struct {
	name string
	at   func(i, j, rows, cols int) bool
	full bool // what at admits is stored, whatever the density
}{
	{"uniform", func(_, _, _, _ int) bool { return true }, false},
	{"one dense row", func(i, _, rows, _ int) bool { return i == rows/2 }, true},
	{"empty rows", func(i, _, _, _ int) bool { return i%3 == 1 }, false},
	{"banded", func(i, j, rows, cols int) bool { d := i*cols/rows - j; return -4 < d && d < 4 }, true},
	{"one dense column", func(_, j, _, cols int) bool { return j == cols/2 }, true},
}

// patternOf returns a pattern of a kind. The rest of a kind that is stored in
// full has a hundredth of the density.
func patternOf(t require.TestingT, kind, rows, cols int, density float64, rng *rand.Rand) *sparse.Pattern {
	rowPtr, colIdx := []int32{0}, []int32{}
	for i := range rows {
		for j := range cols {
			stored := rng.Float64() < density
			if in := shapeOf[kind].at(i, j, rows, cols); shapeOf[kind].full {
				stored = in || stored && rng.IntN(100) == 0
			} else {
				stored = stored && in
			}
			if stored {
				colIdx = append(colIdx, int32(j))
			}
		}
		rowPtr = append(rowPtr, int32(len(colIdx)))
	}
	p, err := sparse.NewPattern(rows, cols, rowPtr, colIdx)
	require.NoError(t, err)
	return p
}

// budget is how many products a fuzzed problem may have: the reference takes
// some nanoseconds for each.
const budget = 1 << 18

// fitBatch halves the batch until so many products a sample fit the budget.
func fitBatch(batch, products int) int {
	for batch > 1 && batch*products > budget {
		batch /= 2
	}
	return batch
}

// FuzzKernels holds the products and the growth to the references, over shapes,
// patterns, instruction sets and numbers of threads.
func FuzzKernels(f *testing.F) {
	const permille = 1000
	for i, s := range []struct {
		rows, cols, batch uint16
		density           uint16 // in thousandths
		odd               bool   // NaN and infinities among the values
	}{
		{0, 5, 3, 500, false}, {5, 0, 30, 500, false}, {1, 1, 1, 1000, false}, {3, 7, 8, 300, true}, {61, 67, 9, 200, false},
		{256, 300, 33, 100, false}, {300, 390, 17, 900, false}, {399, 150, 64, 50, true}, {97, 65, 100, 0, false}, {130, 129, 257, 400, true},
	} {
		for kind := range shapeOf {
			f.Add(s.rows, s.cols, s.density, s.batch, uint8(kind), uint8(kind+i), uint8(i), s.odd, uint64(i))
		}
	}
	f.Fuzz(func(t *testing.T, r, c, d, n uint16, kind, set, threads uint8, odd bool, seed uint64) {
		rows, cols, density := int(r%400), int(c%400), float64(d%(permille+1))/permille
		b := sharing{open(t, isaNames[int(set)%len(isaNames)], 1+int(threads%4))}
		rng := newRNG(seed)
		p := patternOf(t, int(kind)%len(shapeOf), rows, cols, density, rng)
		value := number(integer)
		if odd {
			value = special
		}
		log := fmt.Sprintf("%s: %d × %d, nnz %d, batch %d, %s, %d threads", shapeOf[int(kind)%len(shapeOf)].name, rows, cols, p.NNZ(), n, b.ISA(), b.Threads())

		batch := 1 + int(n%300)
		panels := newPanels(t, fitBatch(batch, p.NNZ()))
		specs := sparseSpecs(ops.SparseProblem{Pattern: p, Panels: panels})
		small := newPanels(t, fitBatch(batch, rows*cols))
		specs = append(specs, denseSpecs(ops.DenseProblem{Out: rows, In: cols, Panels: small})...)
		for _, s := range specs {
			in := inputs(t, s, value, rng)
			requireSame(t, solve(t, ref.New(), s, in), solve(t, b, s, in), "%s of %s", s.Op(), log)
		}
		requireGrowth(t, ops.Growth{Pattern: p, Panels: small}, value, rng, b.Backend)
	})
}
