package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// transpose generates the transposition of one square of 8 × 8 numbers, which
// both instruction sets do alike: strides are in bytes.
func transpose() {
	TEXT("transpose8AVX2", NOSPLIT, "func(dst *float32, dstStride int, src *float32, srcStride int)")
	Pragma("noescape")
	Doc("transpose8AVX2 transposes a square of 8 × 8 numbers.")
	dst := Load(Param("dst"), GP64())
	ds := Load(Param("dstStride"), GP64())
	src := Load(Param("src"), GP64())
	ss := Load(Param("srcStride"), GP64())

	// Halves of rows i and i+4 side by side, so that the shuffles below, which
	// stay inside 128-bit lanes, are all it takes.
	row4, ss3 := GP64(), GP64()
	LEAQ(Mem{Base: src, Index: ss, Scale: 4}, row4)
	LEAQ(Mem{Base: ss, Index: ss, Scale: 2}, ss3)
	at := func(base, stride, stride3 reg.Register, i, disp int) Mem {
		switch i {
		case 0:
			return Mem{Base: base, Disp: disp}
		case 3:
			return Mem{Base: base, Index: stride3, Scale: 1, Disp: disp}
		}
		return Mem{Base: base, Index: stride, Scale: uint8(i), Disp: disp}
	}
	var r [8]reg.VecVirtual // columns 0-3 of rows i and i+4, then columns 4-7
	for half := range 2 {
		for i := range 4 {
			v := YMM()
			VMOVUPS(at(src, ss, ss3, i, 16*half), v.AsX())
			VINSERTF128(Imm(1), at(row4, ss, ss3, i, 16*half), v, v)
			r[4*half+i] = v
		}
	}
	col4, ds3 := GP64(), GP64()
	LEAQ(Mem{Base: dst, Index: ds, Scale: 4}, col4)
	LEAQ(Mem{Base: ds, Index: ds, Scale: 2}, ds3)
	for half, base := range []reg.Register{dst, col4} {
		a, b, c, d := r[4*half], r[4*half+1], r[4*half+2], r[4*half+3]
		lo, hi, lo2, hi2 := YMM(), YMM(), YMM(), YMM()
		VUNPCKLPS(b, a, lo)
		VUNPCKHPS(b, a, hi)
		VUNPCKLPS(d, c, lo2)
		VUNPCKHPS(d, c, hi2)
		out := YMM()
		VUNPCKLPD(lo2, lo, out)
		VMOVUPS(out, at(base, ds, ds3, 0, 0))
		VUNPCKHPD(lo2, lo, out)
		VMOVUPS(out, at(base, ds, ds3, 1, 0))
		VUNPCKLPD(hi2, hi, out)
		VMOVUPS(out, at(base, ds, ds3, 2, 0))
		VUNPCKHPD(hi2, hi, out)
		VMOVUPS(out, at(base, ds, ds3, 3, 0))
	}
	VZEROUPPER()
	RET()
}
