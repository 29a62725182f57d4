// Command asm writes the assembly kernels of ops/cpu. Run it by `go generate` in
// ops/cpu; its output is committed.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// isa is an instruction set: its vectors and what differs in using them.
type isa struct {
	name  string
	lanes int // float32 numbers in a vector
}

var (
	avx512 = isa{"AVX512", 16}
	avx2   = isa{"AVX2", 8}
)

func (s isa) vec() reg.VecVirtual {
	if s.lanes == 16 {
		return ZMM()
	}
	return YMM()
}

func (s isa) vecs(n int) []reg.VecVirtual {
	v := make([]reg.VecVirtual, n)
	for i := range v {
		v[i] = s.vec()
	}
	return v
}

// bytes is the size of a vector.
func (s isa) bytes() int { return 4 * s.lanes }

func (s isa) zero(v reg.Register) {
	if s.lanes == 16 {
		VPXORD(v, v, v)
	} else {
		VXORPS(v, v, v)
	}
}

func main() {
	ConstraintExpr("!purego")
	for _, w := range []struct {
		isa
		width int
	}{
		{avx512, 64}, {avx512, 32}, {avx512, 16},
		{avx2, 64}, {avx2, 32}, {avx2, 16}, {avx2, 8},
	} {
		spmm(w.isa, w.width)
		sddmm(w.isa, w.width)
		sums(w.isa, w.width)
	}
	for _, m := range []int{6, 2, 1} {
		for _, nv := range []int{4, 2, 1} {
			gemm(avx512, m, nv)
		}
		for _, nv := range []int{2, 1} {
			gemm(avx2, m, nv)
		}
	}
	vectors(avx512)
	vectors(avx2)
	atLeast(avx512)
	atLeast(avx2)
	transpose()
	Generate()
}

// at addresses vector i of a row.
func (s isa) at(base reg.Register, i int) Mem { return Mem{Base: base, Disp: i * s.bytes()} }
