package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// sddmm generates the products of one tile: for each non-zero of each row,
//
//	g[k] += dy[row] · x[col[k]]
//
// over the samples of one panel. Four sums are reduced together.
func sddmm(s isa, width int) {
	nv := width / s.lanes
	TEXT(fmt.Sprintf("sddmmTile%d%s", width, s.name), NOSPLIT,
		"func(runs *uint32, nruns int, rows *uint16, off *uint16, dw *float32, x *float32, dy *float32)")
	Pragma("noescape")
	Doc(fmt.Sprintf("sddmmTile%d%s adds the products of one tile over one panel of %d samples to g.", width, s.name, width))
	l := newTileLoop(width)
	g := Load(Param("dw"), GP64())
	x := Load(Param("x"), GP64())
	dy := Load(Param("dy"), GP64())

	d := s.vecs(nv)
	l.scratch()
	n, q := GP64(), GP64()
	dot := func(sum reg.Register) {
		m := func(i int) Mem { return l.at(x, i*s.bytes()) }
		VMULPS(m(0), d[0], sum)
		for i := 1; i < nv; i++ {
			VFMADD231PS(m(i), d[i], sum)
		}
	}

	l.begin(dy, func() {})
	for i := range d {
		VMOVUPS(s.at(l.ptr, i), d[i])
	}
	MOVQ(l.quads, n)
	TESTQ(n, n)
	JE(LabelRef("rest"))
	Label("quad")
	{
		sums := s.vecs(4)
		MOVQ(Mem{Base: l.off}, q)
		for k := range sums {
			if k < 3 {
				MOVWQZX(q.As16(), l.idx)
				SHRQ(Imm(16), q)
			} else {
				MOVQ(q, l.idx)
			}
			dot(sums[k])
		}
		r := s.reduce4(sums)
		VADDPS(Mem{Base: g}, r, r)
		VMOVUPS(r, Mem{Base: g})
	}
	ADDQ(Imm(8), l.off)
	ADDQ(Imm(16), g)
	DECQ(n)
	JNE(LabelRef("quad"))

	Label("rest")
	TESTQ(l.rem, l.rem)
	JE(LabelRef("next"))
	{
		sums := s.vecs(4)
		MOVQ(l.rem, n)
		for _, v := range sums {
			s.zero(v)
		}
		for k := range 3 {
			MOVWQZX(Mem{Base: l.off, Disp: 2 * k}, l.idx)
			dot(sums[k])
			if k < 2 {
				DECQ(n)
				JE(LabelRef("dotted"))
			}
		}
		Label("dotted")
		r := s.reduce4(sums)
		t := XMM()
		VADDSS(Mem{Base: g}, r, t)
		VMOVSS(t, Mem{Base: g})
		CMPQ(l.rem, Imm(2))
		JL(LabelRef("stored"))
		VMOVSHDUP(r, t)
		VADDSS(Mem{Base: g, Disp: 4}, t, t)
		VMOVSS(t, Mem{Base: g, Disp: 4})
		JE(LabelRef("stored"))
		VUNPCKHPS(r, r, t)
		VADDSS(Mem{Base: g, Disp: 8}, t, t)
		VMOVSS(t, Mem{Base: g, Disp: 8})
	}
	Label("stored")
	LEAQ(Mem{Base: l.off, Index: l.rem, Scale: 2}, l.off)
	LEAQ(Mem{Base: g, Index: l.rem, Scale: 4}, g)

	Label("next")
	l.end()
}

// reduce4 adds up each of four vectors and returns the sums in order. It
// overwrites the vectors. The 4 × 4 blocks of lanes are transposed while they are
// added, then the blocks are.
func (s isa) reduce4(v []reg.VecVirtual) reg.VecVirtual {
	if s.lanes == 8 {
		VHADDPS(v[1], v[0], v[0])
		VHADDPS(v[3], v[2], v[2])
		VHADDPS(v[2], v[0], v[0])
		hi := XMM()
		VEXTRACTF128(Imm(1), v[0], hi)
		lo := v[0].AsX().(reg.VecVirtual)
		VADDPS(hi, lo, lo)
		return lo
	}
	t := s.vecs(2)
	VUNPCKLPS(v[1], v[0], t[0])
	VUNPCKHPS(v[1], v[0], v[0])
	VADDPS(v[0], t[0], t[0])
	VUNPCKLPS(v[3], v[2], t[1])
	VUNPCKHPS(v[3], v[2], v[2])
	VADDPS(v[2], t[1], t[1])
	VUNPCKLPD(t[1], t[0], v[0])
	VUNPCKHPD(t[1], t[0], t[0])
	VADDPS(t[0], v[0], v[0])
	hi := YMM()
	VEXTRACTF32X8(Imm(1), v[0], hi)
	y := v[0].AsY()
	VADDPS(hi, y, y)
	hix := hi.AsX()
	VEXTRACTF128(Imm(1), y, hix)
	lo := v[0].AsX().(reg.VecVirtual)
	VADDPS(hix, lo, lo)
	return lo
}
