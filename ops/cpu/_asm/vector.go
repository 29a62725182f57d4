package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// loop generates a function over vectors of equal length, a multiple of the
// lanes: n numbers of each array, a vector at a time. consts are the numbers of
// the array c, one in each register.
func (s isa) loop(name, doc string, arrays []string, consts int, body func(at func(array int) Mem, c []reg.VecVirtual)) {
	signature := "func(n int, c *float32"
	for _, a := range arrays {
		signature += ", " + a + " *float32"
	}
	TEXT(name+s.name, NOSPLIT, signature+")")
	Pragma("noescape")
	Doc(name + s.name + " " + doc)
	n := Load(Param("n"), GP64())
	c := make([]reg.VecVirtual, consts)
	if consts > 0 {
		p := Load(Param("c"), GP64())
		for i := range c {
			c[i] = s.vec()
			VBROADCASTSS(Mem{Base: p, Disp: 4 * i}, c[i])
		}
	}
	base := make([]reg.Register, len(arrays))
	for i, a := range arrays {
		base[i] = Load(Param(a), GP64())
	}
	i := GP64()
	XORQ(i, i)
	SHLQ(Imm(2), n)
	TESTQ(n, n)
	JE(LabelRef("done"))
	Label("loop")
	body(func(array int) Mem { return Mem{Base: base[array], Index: i, Scale: 1} }, c)
	ADDQ(Imm(uint64(s.bytes())), i)
	CMPQ(i, n)
	JL(LabelRef("loop"))
	Label("done")
	VZEROUPPER()
	RET()
}

// vectors generates the elementwise kernels. Their formulas stand beside the Go
// twins in ops/cpu.
func vectors(s isa) {
	s.loop("relu", "computes y = max(x, 0), and NaN for NaN.", []string{"y", "x"}, 0, func(at func(int) Mem, _ []reg.VecVirtual) {
		x, zero := s.vec(), s.vec()
		s.zero(zero)
		VMOVUPS(at(1), x)
		VMAXPS(x, zero, x)
		VMOVUPS(x, at(0))
	})
	s.loop("reluGrad", "computes dx = dy where y > 0, else 0.", []string{"dx", "y", "dy"}, 0, func(at func(int) Mem, _ []reg.VecVirtual) {
		dy, y, zero := s.vec(), s.vec(), s.vec()
		s.zero(zero)
		VMOVUPS(at(1), y)
		VMOVUPS(at(2), dy)
		s.gate(dy, y, zero)
		VMOVUPS(dy, at(0))
	})
	s.loop("add", "computes y = a + b.", []string{"y", "a", "b"}, 0, func(at func(int) Mem, _ []reg.VecVirtual) {
		v := s.vec()
		VMOVUPS(at(1), v)
		VADDPS(at(2), v, v)
		VMOVUPS(v, at(0))
	})
	s.loop("addConst", "computes y = x + c[0].", []string{"y", "x"}, 1, func(at func(int) Mem, c []reg.VecVirtual) {
		x := s.vec()
		VADDPS(at(1), c[0], x)
		VMOVUPS(x, at(0))
	})
	// c: gradient scale, L2, learning rate.
	s.loop("sgd", "takes a step of gradient descent.", []string{"w", "dw"}, 3, func(at func(int) Mem, c []reg.VecVirtual) {
		w, g := s.vec(), s.vec()
		VMOVUPS(at(0), w)
		VMULPS(at(1), c[0], g)
		VFMADD231PS(c[1], w, g)
		VFNMADD231PS(c[2], g, w)
		VMOVUPS(w, at(0))
	})
	// c: gradient scale, L2, learning rate, momentum.
	for _, nesterov := range []bool{false, true} {
		name, doc := "momentum", "takes a step with momentum."
		if nesterov {
			name, doc = "nesterov", "takes a step with Nesterov's momentum."
		}
		s.loop(name, doc, []string{"w", "dw", "v"}, 4, func(at func(int) Mem, c []reg.VecVirtual) {
			w, g, v := s.vec(), s.vec(), s.vec()
			VMOVUPS(at(0), w)
			VMULPS(at(1), c[0], g)
			VFMADD231PS(c[1], w, g)
			VMULPS(at(2), c[3], v)
			VADDPS(g, v, v)
			VMOVUPS(v, at(2))
			if nesterov {
				VFMADD231PS(c[3], v, g)
				v = g
			}
			VFNMADD231PS(c[2], v, w)
			VMOVUPS(w, at(0))
		})
	}
	// c: gradient scale, decay, beta1, 1-beta1, beta2, 1-beta2, learning rate
	// over the first bias correction, 1 over the second, epsilon. The decay is
	// L2, or what the weight is multiplied by.
	for _, decoupled := range []bool{false, true} {
		name, doc := "adam", "takes a step of Adam."
		if decoupled {
			name, doc = "adamw", "takes a step of AdamW."
		}
		s.loop(name, doc, []string{"w", "dw", "m", "v"}, 9, func(at func(int) Mem, c []reg.VecVirtual) {
			w, g, m, v := s.vec(), s.vec(), s.vec(), s.vec()
			VMOVUPS(at(0), w)
			VMULPS(at(1), c[0], g)
			if decoupled {
				VMULPS(c[1], w, w)
			} else {
				VFMADD231PS(c[1], w, g)
			}
			VMULPS(at(2), c[2], m)
			VFMADD231PS(c[3], g, m)
			VMOVUPS(m, at(2))
			VMULPS(g, g, g)
			VMULPS(at(3), c[4], v)
			VFMADD231PS(c[5], g, v)
			VMOVUPS(v, at(3))
			VMULPS(c[7], v, v)
			VSQRTPS(v, v)
			VADDPS(c[8], v, v)
			VMULPS(c[6], m, m)
			VDIVPS(v, m, m)
			VSUBPS(m, w, w)
			VMOVUPS(w, at(0))
		})
	}
}

// gate zeroes v where y is not above zero.
func (s isa) gate(v, y, zero reg.VecVirtual) {
	const greater = 0x1e // ordered, quiet
	if s.lanes == 16 {
		k := K()
		VCMPPS(Imm(greater), zero, y, k)
		VMOVAPS_Z(v, k, v)
		return
	}
	VCMPPS(Imm(greater), zero, y, y)
	VANDPS(y, v, v)
}
