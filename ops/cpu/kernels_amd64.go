//go:build !purego

package cpu

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:generate sh -c "cd _asm && go run . -pkg cpu -out ../kernels_amd64.s -stubs ../stubs_amd64.go"

func detectISA() isa {
	x := &cpu.X86
	switch {
	case x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512VL && x.HasAVX2 && x.HasFMA:
		return avx512
	case x.HasAVX2 && x.HasFMA:
		return avx2
	}
	return generic
}

func kernelsOf(i isa) *kernels {
	switch i {
	case avx512:
		return &avx512Kernels
	case avx2:
		return &avx2Kernels
	}
	return &genericKernels
}

var (
	avx512Kernels = elementwiseBy(kernels{
		spmm: spmmBy(map[int]spmmTile{
			64: spmmTile64AVX512, 32: spmmTile32AVX512, 16: spmmTile16AVX512, 8: spmmTile8AVX2}),
		sddmm: sddmmBy(map[int]sddmmTile{
			64: sddmmTile64AVX512, 32: sddmmTile32AVX512, 16: sddmmTile16AVX512, 8: sddmmTile8AVX2}),
		sumRows: sumRowsBy(map[int]sumRows{
			64: sumRows64AVX512, 32: sumRows32AVX512, 16: sumRows16AVX512, 8: sumRows8AVX2}),
		gemm: gemmBy([]gemmTile{
			{6, 64, gemm6x64AVX512}, {2, 64, gemm2x64AVX512}, {1, 64, gemm1x64AVX512},
			{6, 32, gemm6x32AVX512}, {2, 32, gemm2x32AVX512}, {1, 32, gemm1x32AVX512},
			{6, 16, gemm6x16AVX512}, {2, 16, gemm2x16AVX512}, {1, 16, gemm1x16AVX512},
			{6, 8, gemm6x8AVX2}, {2, 8, gemm2x8AVX2}, {1, 8, gemm1x8AVX2}}),
	}, vectors{16, reluAVX512, addConstAVX512, addAVX512, reluGradAVX512, sgdAVX512, momentumAVX512, nesterovAVX512, adamAVX512, adamwAVX512, atLeastAVX512})
	avx2Kernels = elementwiseBy(kernels{
		spmm: spmmBy(map[int]spmmTile{
			64: spmmTile64AVX2, 32: spmmTile32AVX2, 16: spmmTile16AVX2, 8: spmmTile8AVX2}),
		sddmm: sddmmBy(map[int]sddmmTile{
			64: sddmmTile64AVX2, 32: sddmmTile32AVX2, 16: sddmmTile16AVX2, 8: sddmmTile8AVX2}),
		sumRows: sumRowsBy(map[int]sumRows{
			64: sumRows64AVX2, 32: sumRows32AVX2, 16: sumRows16AVX2, 8: sumRows8AVX2}),
		gemm: gemmBy([]gemmTile{
			{6, 16, gemm6x16AVX2}, {2, 16, gemm2x16AVX2}, {1, 16, gemm1x16AVX2},
			{6, 8, gemm6x8AVX2}, {2, 8, gemm2x8AVX2}, {1, 8, gemm1x8AVX2}}),
	}, vectors{8, reluAVX2, addConstAVX2, addAVX2, reluGradAVX2, sgdAVX2, momentumAVX2, nesterovAVX2, adamAVX2, adamwAVX2, atLeastAVX2})
)

// The kernels in assembly take pointers. What a pointer's slice must hold is
// settled by the signatures of the operations, which are checked before a kernel
// runs; an empty slice is never read.

type spmmTile func(runs *uint32, nruns int, rows, off *uint16, v, x, y *float32, flags int, bias, gate *float32)

func spmmBy(width map[int]spmmTile) func(*tiled, int, []float32, []float32, []float32, int, int, []float32, []float32) {
	var tiles [65]spmmTile
	for w, f := range width {
		tiles[w] = f
	}
	return func(t *tiled, i int, v, x, y []float32, width, flags int, bias, gate []float32) {
		tl := &t.tiles[i]
		tiles[width](unsafe.SliceData(t.runs[tl.run:]), tl.runEnd-tl.run, unsafe.SliceData(t.rowList[tl.list:]),
			unsafe.SliceData(t.off[tl.nnz:]), unsafe.SliceData(v), unsafe.SliceData(x), unsafe.SliceData(y), flags,
			unsafe.SliceData(bias), unsafe.SliceData(gate))
	}
}

type sddmmTile func(runs *uint32, nruns int, rows, off *uint16, g, x, dy *float32)

func sddmmBy(width map[int]sddmmTile) func(*tiled, int, []float32, []float32, []float32, int) {
	var tiles [65]sddmmTile
	for w, f := range width {
		tiles[w] = f
	}
	return func(t *tiled, i int, g, x, dy []float32, width int) {
		tl := &t.tiles[i]
		tiles[width](unsafe.SliceData(t.runs[tl.run:]), tl.runEnd-tl.run, unsafe.SliceData(t.rowList[tl.list:]),
			unsafe.SliceData(t.off[tl.nnz:]), unsafe.SliceData(g), unsafe.SliceData(x), unsafe.SliceData(dy))
	}
}

type sumRows func(fours int, x, y *float32)

func sumRowsBy(width map[int]sumRows) func(y, x []float32, width int) {
	var sums [65]sumRows
	for w, f := range width {
		sums[w] = f
	}
	return func(y, x []float32, width int) {
		n := len(y) / 4 * 4
		sums[width](n/4, unsafe.SliceData(x), unsafe.SliceData(y))
		sumRowsGeneric(y[n:], x[n*width:], width)
	}
}

// gemmTile is a register tile of so many rows and columns.
type gemmTile struct {
	rows, cols int
	run        func(panels, k int, w *float32, wRow, wK, wPanel int, x *float32, xK, xPanel int, y *float32, yRow, accumulate int)
}

// gemmDepth is how many k of a panel are multiplied before the next rows are:
// that much of x stays in the second cache.
const gemmDepth = 512

// gemmBy covers a block with register tiles, the widest and tallest first.
func gemmBy(tiles []gemmTile) func(gemmBlock) {
	return func(g gemmBlock) {
		for k0 := 0; k0 == 0 || k0 < g.k; k0 += gemmDepth {
			depth := min(gemmDepth, g.k-k0)
			for c, cols := 0, 0; c < g.width; c += cols {
				for r, rows := 0, 0; r < g.rows; r += rows {
					t := fit(tiles, g.rows-r, g.width-c)
					rows, cols = t.rows, t.cols
					w, x, y := g.w[r*g.wRow+k0*g.wK:], g.x[k0*g.xK+c:], g.y[r*g.yRow+c:]
					t.run(g.panels, depth, unsafe.SliceData(w), 4*g.wRow, 4*g.wK, 4*g.wPanel,
						unsafe.SliceData(x), 4*g.xK, 4*g.xPanel, unsafe.SliceData(y), 4*g.yRow, truth(g.accumulate || k0 > 0))
				}
			}
		}
	}
}

// fit returns the largest tile for what is left. The smallest one, of 1 × 8,
// always fits.
func fit(tiles []gemmTile, rows, cols int) *gemmTile {
	for i := range tiles {
		if tiles[i].rows <= rows && tiles[i].cols <= cols {
			return &tiles[i]
		}
	}
	return &tiles[len(tiles)-1]
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// vectors are the elementwise kernels of an instruction set. They take numbers
// that fill whole vectors of so many lanes.
type vectors struct {
	lanes          int
	relu, addConst func(n int, c, y, x *float32)
	add            func(n int, c, y, a, b *float32)
	reluGrad       func(n int, c, dx, y, dy *float32)
	sgd            func(n int, c, w, g *float32)
	momentum       func(n int, c, w, g, v *float32)
	nesterov       func(n int, c, w, g, v *float32)
	adam           func(n int, c, w, g, m, v *float32)
	adamw          func(n int, c, w, g, m, v *float32)
	atLeast        func(sixteens int, x *float32, threshold uint32, masks *uint16)
}

// elementwiseBy completes kernels with the elementwise ones; what is left of a
// slice after the last whole vector is done in Go.
func elementwiseBy(k kernels, v vectors) kernels {
	whole := func(n int) int { return n / v.lanes * v.lanes }
	k.relu = func(y, x []float32) {
		n := whole(len(y))
		v.relu(n, nil, unsafe.SliceData(y), unsafe.SliceData(x))
		reluGeneric(y[n:], x[n:])
	}
	k.addConst = func(y, x []float32, c *float32) {
		n := whole(len(y))
		v.addConst(n, c, unsafe.SliceData(y), unsafe.SliceData(x))
		addConstGeneric(y[n:], x[n:], c)
	}
	k.add = func(y, a, b []float32) {
		n := whole(len(y))
		v.add(n, nil, unsafe.SliceData(y), unsafe.SliceData(a), unsafe.SliceData(b))
		addGeneric(y[n:], a[n:], b[n:])
	}
	k.reluGrad = func(dx, y, dy []float32) {
		n := whole(len(y))
		v.reluGrad(n, nil, unsafe.SliceData(dx), unsafe.SliceData(y), unsafe.SliceData(dy))
		reluGradGeneric(dx[n:], y[n:], dy[n:])
	}
	k.sgd = func(w, g []float32, c *sgdConsts) {
		n := whole(len(w))
		v.sgd(n, &c.gradScale, unsafe.SliceData(w), unsafe.SliceData(g))
		sgdGeneric(w[n:], g[n:], c)
	}
	withVelocity := func(vector func(n int, c, w, g, v *float32), rest func(w, g, v []float32, c *momentumConsts)) func(w, g, v []float32, c *momentumConsts) {
		return func(w, g, v []float32, c *momentumConsts) {
			n := whole(len(w))
			vector(n, &c.gradScale, unsafe.SliceData(w), unsafe.SliceData(g), unsafe.SliceData(v))
			rest(w[n:], g[n:], v[n:], c)
		}
	}
	k.momentum, k.nesterov = withVelocity(v.momentum, momentumGeneric), withVelocity(v.nesterov, nesterovGeneric)
	withMoments := func(vector func(n int, c, w, g, m, v *float32), rest func(w, g, m, v []float32, c *adamConsts)) func(w, g, m, v []float32, c *adamConsts) {
		return func(w, g, m, v []float32, c *adamConsts) {
			n := whole(len(w))
			vector(n, &c.gradScale, unsafe.SliceData(w), unsafe.SliceData(g), unsafe.SliceData(m), unsafe.SliceData(v))
			rest(w[n:], g[n:], m[n:], v[n:], c)
		}
	}
	k.adam, k.adamw = withMoments(v.adam, adamGeneric), withMoments(v.adamw, adamwGeneric)
	k.atLeast = func(masks []uint64, x []float32, threshold uint32) {
		// Four masks of sixteen make one of 64: the first is the lowest.
		v.atLeast(4*len(masks), unsafe.SliceData(x), threshold, (*uint16)(unsafe.Pointer(unsafe.SliceData(masks))))
	}
	k.transpose = transposeSquares
	return k
}

// transposeSquares transposes in squares of 8 × 8, which go through registers,
// and the edges one by one.
func transposeSquares(dst []float32, dstStride int, src []float32, srcStride, rows, cols int) {
	for r := 0; r < rows; r += 8 {
		n := min(8, rows-r)
		c := 0
		if n == 8 {
			for ; c+8 <= cols; c += 8 {
				transpose8AVX2(&dst[c*dstStride+r], 4*dstStride, &src[r*srcStride+c], 4*srcStride)
			}
		}
		if c < cols {
			transposeGeneric(dst[c*dstStride+r:], dstStride, src[r*srcStride+c:], srcStride, n, cols-c)
		}
	}
}
