package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// sums generates the sums of rows, four at a time: y[r] += Σ x[r][s] over the
// samples s of one panel.
func sums(s isa, width int) {
	nv := width / s.lanes
	TEXT(fmt.Sprintf("sumRows%d%s", width, s.name), NOSPLIT, "func(fours int, x *float32, y *float32)")
	Pragma("noescape")
	Doc(fmt.Sprintf("sumRows%d%s adds up rows of %d samples, four rows at a time.", width, s.name, width))
	n := Load(Param("fours"), GP64())
	x := Load(Param("x"), GP64())
	y := Load(Param("y"), GP64())
	TESTQ(n, n)
	JE(LabelRef("done"))
	Label("loop")
	v := s.vecs(4)
	for r := range v {
		VMOVUPS(Mem{Base: x, Disp: 4 * width * r}, v[r])
		for i := 1; i < nv; i++ {
			VADDPS(Mem{Base: x, Disp: 4*width*r + i*s.bytes()}, v[r], v[r])
		}
	}
	sum := s.reduce4(v)
	VADDPS(Mem{Base: y}, sum, sum)
	VMOVUPS(sum, Mem{Base: y})
	ADDQ(U32(uint32(16*width)), x)
	ADDQ(Imm(16), y)
	DECQ(n)
	JNE(LabelRef("loop"))
	Label("done")
	VZEROUPPER()
	RET()
}
