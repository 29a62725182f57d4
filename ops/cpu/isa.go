package cpu

import (
	"fmt"
	"slices"
	"strings"
)

// isa is an instruction set, better ones last.
type isa int

const (
	generic isa = iota // portable Go
	avx2               // AVX2 and FMA
	avx512             // AVX-512 F, DQ, VL
)

var isaNames = []string{"generic", "avx2", "avx512"}

func (i isa) String() string { return isaNames[i] }

// Env is the environment variable that forces an instruction set, for tests and
// for measuring: avx512, avx2 or generic.
const Env = "RIGEL_CPU"

// chosenISA returns the instruction set of this name, or the best that this
// processor has if there is no name.
func chosenISA(name string) (isa, error) {
	best := detectISA()
	if name == "" {
		return best, nil
	}
	i := isa(slices.Index(isaNames, name))
	switch {
	case i < 0:
		return generic, fmt.Errorf("cpu: instruction set %q (%s), want one of %s", name, Env, strings.Join(isaNames, ", "))
	case i > best:
		return generic, fmt.Errorf("cpu: instruction set %s (%s): the best that this processor and program have is %s", name, Env, best)
	}
	return i, nil
}

// kernels are the inner loops of one instruction set.
type kernels struct {
	// spmm multiplies tile i of t with a panel. v, x and y start at the tile's
	// values, columns and rows; so do bias and gate, where flags ask for them.
	spmm func(t *tiled, i int, v, x, y []float32, width, flags int, bias, gate []float32)
	// sddmm adds the products of tile i over a panel to g.
	sddmm func(t *tiled, i int, g, x, dy []float32, width int)
	// sumRows adds the sum of each row of width numbers of x to y.
	sumRows func(y, x []float32, width int)
	// gemm computes a block of a dense product; see gemmBlock.
	gemm func(g gemmBlock)

	// Elementwise, over slices of equal length; see the generic ones for the
	// formulas.
	relu     func(y, x []float32)
	reluGrad func(dx, y, dy []float32)
	add      func(y, a, b []float32)
	addConst func(y, x []float32, c *float32)
	sgd      func(w, g []float32, c *sgdConsts)
	momentum func(w, g, v []float32, c *momentumConsts)
	nesterov func(w, g, v []float32, c *momentumConsts)
	adam     func(w, g, m, v []float32, c *adamConsts)
	adamw    func(w, g, m, v []float32, c *adamConsts)

	// atLeast sets bit i of masks[j] where the bits of x[64j+i], without the
	// sign, are at least the threshold.
	atLeast func(masks []uint64, x []float32, threshold uint32)

	// transpose writes the rows × cols block at src into dst, where it is cols ×
	// rows. Strides count numbers.
	transpose func(dst []float32, dstStride int, src []float32, srcStride, rows, cols int)
}

// The constants of an update, in the order in which the assembly reads them.
type (
	sgdConsts struct {
		gradScale, l2, lr float32
	}
	momentumConsts struct {
		gradScale, l2, lr, momentum float32
	}
	adamConsts struct {
		gradScale               float32
		decay                   float32 // L2, or for AdamW what the weight is multiplied by
		beta1, oneMinusBeta1    float32
		beta2, oneMinusBeta2    float32
		lr, correction, epsilon float32 // lr over the first bias correction, 1 over the second
	}
)

// Flags of kernels.spmm; the generator of the assembly has the same.
const (
	flagAccumulate = 1 << iota // y is added to, otherwise overwritten
	flagBias                   // bias[row] is added
	flagReLU                   // y = max(y, 0), at the end
	flagGate                   // y = 0 where gate ≤ 0, at the end
	flagResidual               // gate is added instead, at the end
)

// gemmBlock is a block of a dense product over one or several panels,
//
//	y[r][c] (+)= Σ_p Σ_k w[p·wPanel + r·wRow + k·wK] · x[p·xPanel + k·xK + c]
//
// for rows r and width columns c, a multiple of 8. Strides count numbers.
type gemmBlock struct {
	rows, width, panels, k int
	w                      []float32
	wRow, wK, wPanel       int
	x                      []float32
	xK, xPanel             int
	y                      []float32
	yRow                   int
	accumulate             bool
}
