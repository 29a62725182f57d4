package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// atLeast generates the comparison of magnitudes with a threshold: bit i of a
// mask is set where the bits of x[i], without the sign, are at least the
// threshold. A mask covers sixteen numbers.
func atLeast(s isa) {
	TEXT("atLeast"+s.name, NOSPLIT, "func(sixteens int, x *float32, threshold uint32, masks *uint16)")
	Pragma("noescape")
	Doc("atLeast" + s.name + " compares magnitudes with a threshold, sixteen to a mask.")
	n := Load(Param("sixteens"), GP64())
	x := Load(Param("x"), GP64())
	threshold := Load(Param("threshold"), GP32())
	masks := Load(Param("masks"), GP64())
	abs, t := s.vec(), s.vec()
	m := GP32()
	MOVL(U32(0x7fffffff), m)
	if s.lanes == 8 {
		DECL(threshold) // there is only a comparison for greater
	}
	if s.lanes == 16 {
		VPBROADCASTD(m, abs)
		VPBROADCASTD(threshold, t)
	} else {
		VMOVD(m, abs.AsX())
		VPBROADCASTD(abs.AsX(), abs)
		VMOVD(threshold, t.AsX())
		VPBROADCASTD(t.AsX(), t)
	}
	TESTQ(n, n)
	JE(LabelRef("done"))
	Label("loop")
	bits := GP32()
	if s.lanes == 16 {
		v, k := s.vec(), K()
		VPANDD(Mem{Base: x}, abs, v)
		const atLeast = 5 // not less than
		VPCMPD(Imm(atLeast), t, v, k)
		KMOVW(k, bits)
	} else {
		lo, hi, high := s.vec(), s.vec(), GP32()
		VPAND(Mem{Base: x}, abs, lo)
		VPAND(Mem{Base: x, Disp: 32}, abs, hi)
		VPCMPGTD(t, lo, lo)
		VPCMPGTD(t, hi, hi)
		VMOVMSKPS(lo, bits)
		VMOVMSKPS(hi, high)
		SHLL(Imm(8), high)
		ORL(high, bits)
	}
	MOVW(bits.As16(), Mem{Base: masks})
	ADDQ(Imm(64), x)
	ADDQ(Imm(2), masks)
	DECQ(n)
	JNE(LabelRef("loop"))
	Label("done")
	VZEROUPPER()
	RET()
}
