package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gemm generates the register tile of a dense product: m rows of Y by nv
// vectors of columns,
//
//	y[r][c] (+)= Σ_p Σ_k w[p][r][k] · x[p][k][c]
//
// for panels p and k below the given counts. All strides are in bytes, so that w
// may be a matrix or its transpose. The sums stay in registers from the first to
// the last product.
func gemm(s isa, m, nv int) {
	TEXT(fmt.Sprintf("gemm%dx%d%s", m, nv*s.lanes, s.name), NOSPLIT,
		"func(panels, k int, w *float32, wRow, wK, wPanel int, x *float32, xK, xPanel int, y *float32, yRow int, accumulate int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("gemm%dx%d%s computes %d rows by %d columns of a dense product.", m, nv*s.lanes, s.name, m, nv*s.lanes))
	w := Load(Param("w"), GP64())
	wRow := Load(Param("wRow"), GP64())
	wK := Load(Param("wK"), GP64())
	x := Load(Param("x"), GP64())
	xK := Load(Param("xK"), GP64())
	panels := Load(Param("panels"), GP64())
	k, wp, wp3, xp := GP64(), GP64(), GP64(), GP64()

	acc := make([][]reg.VecVirtual, m)
	for r := range acc {
		acc[r] = s.vecs(nv)
		for _, v := range acc[r] {
			s.zero(v)
		}
	}
	row := func(r int) Mem {
		base := wp
		if r >= 3 {
			base = wp3
		}
		if r%3 == 0 {
			return Mem{Base: base}
		}
		return Mem{Base: base, Index: wRow, Scale: uint8(r % 3)}
	}

	Label("panel")
	TESTQ(panels, panels)
	JE(LabelRef("store"))
	Load(Param("k"), k)
	MOVQ(w, wp)
	if m > 3 {
		LEAQ(Mem{Base: w, Index: wRow, Scale: 2}, wp3)
		ADDQ(wRow, wp3)
	}
	MOVQ(x, xp)
	TESTQ(k, k)
	JE(LabelRef("next"))
	Label("k")
	xs, b := s.vecs(nv), s.vec()
	for i := range xs {
		VMOVUPS(s.at(xp, i), xs[i])
	}
	for r := range acc {
		VBROADCASTSS(row(r), b)
		for i := range xs {
			VFMADD231PS(xs[i], b, acc[r][i])
		}
	}
	ADDQ(wK, wp)
	if m > 3 {
		ADDQ(wK, wp3)
	}
	ADDQ(xK, xp)
	DECQ(k)
	JNE(LabelRef("k"))

	Label("next")
	stride := GP64()
	Load(Param("wPanel"), stride)
	ADDQ(stride, w)
	Load(Param("xPanel"), stride)
	ADDQ(stride, x)
	DECQ(panels)
	JMP(LabelRef("panel"))

	Label("store")
	y, yRow, accumulate := GP64(), GP64(), GP64()
	Load(Param("y"), y)
	Load(Param("yRow"), yRow)
	Load(Param("accumulate"), accumulate)
	TESTQ(accumulate, accumulate)
	JE(LabelRef("overwrite"))
	for r := range acc {
		for i, v := range acc[r] {
			VADDPS(s.at(y, i), v, v)
			VMOVUPS(v, s.at(y, i))
		}
		ADDQ(yRow, y)
	}
	VZEROUPPER()
	RET()
	Label("overwrite")
	for r := range acc {
		for i, v := range acc[r] {
			VMOVUPS(v, s.at(y, i))
		}
		ADDQ(yRow, y)
	}
	VZEROUPPER()
	RET()
}
