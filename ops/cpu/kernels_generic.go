package cpu

// The kernels in portable Go. They define what the assembly computes, up to the
// order of additions.

var genericKernels = kernels{
	spmm: spmmGeneric, sddmm: sddmmGeneric, sumRows: sumRowsGeneric, gemm: gemmGeneric,
	relu: reluGeneric, reluGrad: reluGradGeneric, add: addGeneric, addConst: addConstGeneric,
	sgd: sgdGeneric, momentum: momentumGeneric, nesterov: nesterovGeneric, adam: adamGeneric, adamw: adamwGeneric,
	atLeast: atLeastGeneric, transpose: transposeGeneric,
}

func spmmGeneric(t *tiled, i int, v, x, y []float32, width, flags int, bias, gate []float32) {
	tl := &t.tiles[i]
	rows, off := t.rowList[tl.list:], t.off[tl.nnz:]
	for _, run := range t.runs[tl.run:tl.runEnd] {
		n := int(run & 0xffff)
		for range run >> 16 {
			r := int(rows[0])
			rows = rows[1:]
			for s := 0; s < width; s += 8 {
				var a [8]float32
				if n > 0 { // x is empty where there are no columns
					multiplyEight(&a, off[:n], v, x[s:], width)
				}
				finish(&a, (*[8]float32)(y[r*width+s:]), flags, r, r*width+s, bias, gate)
			}
			off, v = off[n:], v[n:]
		}
	}
}

// multiplyEight adds a row's products with eight samples to a, which the
// compiler keeps in registers.
func multiplyEight(a *[8]float32, off []uint16, v, x []float32, width int) {
	a0, a1, a2, a3, a4, a5, a6, a7 := a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]
	v = v[:len(off)]
	for p, o := range off {
		w := v[p]
		q := (*[8]float32)(x[int(o)/offsetUnit*width:])
		a0 += w * q[0]
		a1 += w * q[1]
		a2 += w * q[2]
		a3 += w * q[3]
		a4 += w * q[4]
		a5 += w * q[5]
		a6 += w * q[6]
		a7 += w * q[7]
	}
	*a = [8]float32{a0, a1, a2, a3, a4, a5, a6, a7}
}

// finish applies the flags to eight sums and stores them.
func finish(a, y *[8]float32, flags, row, at int, bias, gate []float32) {
	for i := range a {
		s := a[i]
		if flags&flagAccumulate != 0 {
			s += y[i]
		}
		if flags&flagBias != 0 {
			s += bias[row]
		}
		if flags&flagResidual != 0 {
			s += gate[at+i]
		}
		if flags&flagReLU != 0 && s <= 0 {
			s = 0
		}
		if flags&flagGate != 0 && !(gate[at+i] > 0) {
			s = 0
		}
		y[i] = s
	}
}

func sddmmGeneric(t *tiled, i int, g, x, dy []float32, width int) {
	tl := &t.tiles[i]
	rows, off := t.rowList[tl.list:], t.off[tl.nnz:]
	for _, run := range t.runs[tl.run:tl.runEnd] {
		n := int(run & 0xffff)
		for range run >> 16 {
			d := dy[int(rows[0])*width:][:width]
			rows = rows[1:]
			for p, o := range off[:n] {
				g[p] += dot(d, x[int(o)/offsetUnit*width:][:width])
			}
			off, g = off[n:], g[n:]
		}
	}
}

// dot returns a · b for slices of equal length, a multiple of 8. Four partial
// sums hide the latency of the additions.
func dot(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	for i := 0; i < len(a); i += 8 {
		p, q := (*[8]float32)(a[i:]), (*[8]float32)(b[i:])
		s0 += p[0]*q[0] + p[4]*q[4]
		s1 += p[1]*q[1] + p[5]*q[5]
		s2 += p[2]*q[2] + p[6]*q[6]
		s3 += p[3]*q[3] + p[7]*q[7]
	}
	return (s0 + s1) + (s2 + s3)
}

func sumRowsGeneric(y, x []float32, width int) {
	for r := range y {
		var sum float32
		for _, v := range x[r*width : (r+1)*width] {
			sum += v
		}
		y[r] += sum
	}
}

func gemmGeneric(g gemmBlock) {
	for r := range g.rows {
		for c := 0; c < g.width; c += 8 {
			y := (*[8]float32)(g.y[r*g.yRow+c:])
			var a0, a1, a2, a3, a4, a5, a6, a7 float32
			for p := range g.panels {
				w, x := p*g.wPanel+r*g.wRow, p*g.xPanel+c
				for range g.k {
					v, q := g.w[w], (*[8]float32)(g.x[x:])
					a0 += v * q[0]
					a1 += v * q[1]
					a2 += v * q[2]
					a3 += v * q[3]
					a4 += v * q[4]
					a5 += v * q[5]
					a6 += v * q[6]
					a7 += v * q[7]
					w, x = w+g.wK, x+g.xK
				}
			}
			a := [8]float32{a0, a1, a2, a3, a4, a5, a6, a7}
			if g.accumulate {
				for i := range a {
					a[i] += y[i]
				}
			}
			*y = a
		}
	}
}
