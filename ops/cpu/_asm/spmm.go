package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Flags of the row kernels; ops/cpu has the same constants.
const (
	flagAccumulate = 1 << iota // y is added to, otherwise overwritten
	flagBias                   // bias[row] is added
	flagReLU                   // y = max(y, 0), at the end
	flagGate                   // y = 0 where gate ≤ 0, at the end
	flagResidual               // gate is added instead, at the end
)

// spmm generates the product of one tile with one panel: for each run of rows
// with the same count of non-zeros, and each row of it,
//
//	y[row] (+)= Σ v[k] · x[col[k]]   (+ bias[row], ReLU, gate, residual)
//
// A row of x or y is width numbers. Four columns are one 64-bit load of four
// 16-bit offsets, four weights one 128-bit load: scalar loads compete with the
// vector loads for two slots a cycle.
func spmm(s isa, width int) {
	nv := width / s.lanes // vectors in a row
	chains := 1           // independent sums, to hide the latency of FMA
	for chains*nv < 8 && chains < 4 {
		chains *= 2
	}
	TEXT(fmt.Sprintf("spmmTile%d%s", width, s.name), NOSPLIT,
		"func(runs *uint32, nruns int, rows *uint16, off *uint16, v *float32, x *float32, y *float32, flags int, bias *float32, gate *float32)")
	Pragma("noescape")
	Doc(fmt.Sprintf("spmmTile%d%s multiplies one tile with one panel of %d samples.", width, s.name, width))
	l := newTileLoop(width)
	v := Load(Param("v"), GP64())
	x := Load(Param("x"), GP64())
	y := Load(Param("y"), GP64())

	acc := make([][]reg.VecVirtual, chains)
	for c := range acc {
		acc[c] = s.vecs(nv)
	}
	w := s.vec()
	l.scratch()
	one := func(chain int, fold func(m Mem, acc reg.Register)) {
		for i := range nv {
			fold(l.at(x, i*s.bytes()), acc[chain][i])
		}
	}
	fma := func(m Mem, acc reg.Register) { VFMADD231PS(m, w, acc) }

	l.begin(y, func() {
		// Rows without a non-zero have nothing to add.
		Load(Param("flags"), l.idx)
		CMPQ(l.idx, Imm(flagAccumulate))
		JNE(LabelRef("row"))
	})
	for c := range acc {
		for i := range nv {
			s.zero(acc[c][i])
		}
	}
	n := GP64()
	MOVQ(l.quads, n)
	TESTQ(n, n)
	JE(LabelRef("rest"))
	Label("quad")
	{
		q, wv := GP64(), s.vec()
		MOVQ(Mem{Base: l.off}, q)
		if s.lanes == 16 {
			VBROADCASTF32X4(Mem{Base: v}, wv)
		} else {
			VBROADCASTF128(Mem{Base: v}, wv)
		}
		for k, imm := range []uint64{0x00, 0x55, 0xaa, 0xff} {
			if k < 3 {
				MOVWQZX(q.As16(), l.idx)
				SHRQ(Imm(16), q)
			} else {
				MOVQ(q, l.idx)
			}
			VPERMILPS(Imm(imm), wv, w)
			one(k%chains, fma)
		}
	}
	ADDQ(Imm(8), l.off)
	ADDQ(Imm(16), v)
	DECQ(n)
	JNE(LabelRef("quad"))

	Label("rest")
	MOVQ(l.rem, n)
	TESTQ(n, n)
	JE(LabelRef("sum"))
	for k := range 3 {
		MOVWQZX(Mem{Base: l.off, Disp: 2 * k}, l.idx)
		VBROADCASTSS(Mem{Base: v, Disp: 4 * k}, w)
		one(k%chains, fma)
		if k < 2 {
			DECQ(n)
			JE(LabelRef("rested"))
		}
	}
	Label("rested")
	LEAQ(Mem{Base: l.off, Index: l.rem, Scale: 2}, l.off)
	LEAQ(Mem{Base: v, Index: l.rem, Scale: 4}, v)

	Label("sum")
	for step := 1; step < chains; step *= 2 {
		for c := 0; c+step < chains; c += 2 * step {
			for i := range nv {
				VADDPS(acc[c+step][i], acc[c][i], acc[c][i])
			}
		}
	}
	Load(Param("flags"), l.idx)
	epilogue(s, acc[0], l.rows, l.ptr, l.idx, "row_done")
	Label("row_done")
	for i := range nv {
		VMOVUPS(acc[0][i], s.at(l.ptr, i))
	}
	l.end()
}

// epilogue applies the flags to a finished row.
func epilogue(s isa, y []reg.VecVirtual, rows, ptr, flags reg.Register, done string) {
	TESTQ(U32(flagAccumulate), flags)
	JE(LabelRef("fresh"))
	for i := range y {
		VADDPS(s.at(ptr, i), y[i], y[i])
	}
	Label("fresh")
	TESTQ(U32(flagBias|flagReLU|flagGate|flagResidual), flags)
	JE(LabelRef(done))

	TESTQ(U32(flagBias), flags)
	JE(LabelRef("biased"))
	row, p, t := GP64(), GP64(), s.vec()
	MOVWQZX(Mem{Base: rows}, row)
	Load(Param("bias"), p)
	VBROADCASTSS(Mem{Base: p, Index: row, Scale: 4}, t)
	for i := range y {
		VADDPS(t, y[i], y[i])
	}
	Label("biased")
	gate := GP64()
	Load(Param("gate"), gate)
	rowBytes := len(y) * s.bytes()
	offset := GP64()
	MOVWQZX(Mem{Base: rows}, offset)
	IMUL3Q(U32(uint32(rowBytes)), offset, offset)
	ADDQ(offset, gate)
	TESTQ(U32(flagResidual), flags)
	JE(LabelRef("added"))
	for i := range y {
		VADDPS(s.at(gate, i), y[i], y[i])
	}
	Label("added")
	zero := s.vec()
	s.zero(zero)
	TESTQ(U32(flagReLU), flags)
	JE(LabelRef("rectified"))
	for i := range y {
		// max returns its second source, in Intel's order, for NaN: y stays NaN.
		VMAXPS(y[i], zero, y[i])
	}
	Label("rectified")
	TESTQ(U32(flagGate), flags)
	JE(LabelRef(done))
	for i := range y {
		VMOVUPS(s.at(gate, i), t)
		s.gate(y[i], t, zero)
	}
}
