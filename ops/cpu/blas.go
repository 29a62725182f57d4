package cpu

import (
	"sync"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
	"gorgonia.org/tensor"
)

// UseBLAS makes tensor, and with it gorgonia, multiply float32 matrices with
// this package's kernels, also in programs that use nothing else of Rigel. It
// returns a function that puts back what was there.
//
// Everything but Sgemm stays with gonum.
func UseBLAS() (restore func()) {
	before := tensor.WhichBLAS()
	tensor.Use(NewBLAS(New()))
	return func() { tensor.Use(before) }
}

// BLAS is gonum's BLAS with Sgemm on the kernels of a Backend. It may be called
// from several goroutines, which then take turns.
type BLAS struct {
	gonum.Implementation
	mu      sync.Mutex
	backend *Backend
	product sgemm
}

// NewBLAS returns a BLAS that runs on the backend, which nobody else may use.
func NewBLAS(b *Backend) *BLAS { return &BLAS{backend: b} }

// Sgemm computes C = alpha op(A) op(B) + beta C for row-major matrices, where
// op(A) is m × k and op(B) is k × n. Like gonum's it panics when the sizes do not
// fit: that is the contract of the interface.
func (b *BLAS) Sgemm(tA, tB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int, bm []float32, ldb int, beta float32, c []float32, ldc int) {
	if !fits(tA, m, k, a, lda) || !fits(tB, k, n, bm, ldb) || !fits(blas.NoTrans, m, n, c, ldc) || m*n*k < 8192 || alpha == 0 || b.backend.err != nil {
		// Too small to be worth it, or wrong, which gonum says best.
		b.Implementation.Sgemm(tA, tB, m, n, k, alpha, a, lda, bm, ldb, beta, c, ldc)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	p := &b.product
	p.kernels, p.m, p.n, p.k, p.beta, p.c, p.ldc = b.backend.kernels, m, n, k, beta, c, ldc
	p.takeA(tA != blas.NoTrans, alpha, a, lda)
	p.takeB(tB != blas.NoTrans, bm, ldb)
	b.backend.pool.run(blocks(m)*ceil(n, stripWidth), p)
	p.a, p.b, p.c = nil, nil, nil
}

// fits reports whether op(x) can be rows × cols.
func fits(t blas.Transpose, rows, cols int, x []float32, ld int) bool {
	if t != blas.NoTrans {
		rows, cols = cols, rows
	}
	return rows > 0 && cols > 0 && ld >= cols && len(x) >= (rows-1)*ld+cols
}

// sgemm is one product. A task is a block of rows by a strip of columns.
type sgemm struct {
	kernels  *kernels
	m, n, k  int
	a        []float32 // op(A)
	aRow, aK int
	b        []float32 // op(B), rows of n or more
	bK       int
	tail     []float32 // the last n mod 8 columns of op(B), k × 8
	beta     float32
	c        []float32
	ldc      int
	copyA    []float32
	copyB    []float32
}

func (p *sgemm) takeA(transposed bool, alpha float32, a []float32, lda int) {
	p.a, p.aRow, p.aK = a, lda, 1
	if transposed {
		p.aRow, p.aK = 1, lda
	}
	if alpha == 1 {
		return
	}
	p.copyA = resized(p.copyA, p.m*p.k)
	for i := range p.m {
		for l := range p.k {
			p.copyA[i*p.k+l] = alpha * a[i*p.aRow+l*p.aK]
		}
	}
	p.a, p.aRow, p.aK = p.copyA, p.k, 1
}

func (p *sgemm) takeB(transposed bool, b []float32, ldb int) {
	p.b, p.bK = b, ldb
	if transposed {
		p.copyB = resized(p.copyB, p.k*p.n)
		p.kernels.transpose(p.copyB, p.n, b, ldb, p.n, p.k)
		p.b, p.bK = p.copyB, p.n
	}
	rest := p.n % 8
	p.tail = resized(p.tail, 8*p.k)
	clear(p.tail)
	for l := range p.k {
		copy(p.tail[8*l:], p.b[l*p.bK+p.n-rest:l*p.bK+p.n])
	}
}

func (p *sgemm) do(i, _ int) {
	strip, lo, hi := i/blocks(p.m), 0, 0
	lo, hi = blockRange(i%blocks(p.m), p.m)
	from := strip * stripWidth
	whole := min(stripWidth, (p.n-from)/8*8)
	p.scale(lo, hi, from, min(from+stripWidth, p.n))
	block := gemmBlock{
		rows: hi - lo, width: whole, panels: 1, k: p.k,
		w: p.a[lo*p.aRow:], wRow: p.aRow, wK: p.aK,
		accumulate: p.beta != 0,
	}
	if whole > 0 {
		block.x, block.xK = p.b[from:], p.bK
		block.y, block.yRow = p.c[lo*p.ldc+from:], p.ldc
		p.kernels.gemm(block)
	}
	if rest := min(stripWidth, p.n-from) - whole; rest > 0 {
		room := make([]float32, 8*(hi-lo))
		block.x, block.xK, block.width = p.tail, 8, 8
		block.y, block.yRow, block.accumulate = room, 8, false
		p.kernels.gemm(block)
		for r := range hi - lo {
			row := p.c[(lo+r)*p.ldc+from+whole:][:rest]
			for j := range row {
				if p.beta == 0 {
					row[j] = room[8*r+j]
				} else {
					row[j] += room[8*r+j]
				}
			}
		}
	}
}

// scale multiplies a block of C by beta; with 0 it is overwritten instead.
func (p *sgemm) scale(lo, hi, from, to int) {
	if p.beta == 0 || p.beta == 1 {
		return
	}
	for r := lo; r < hi; r++ {
		row := p.c[r*p.ldc+from : r*p.ldc+to]
		for j := range row {
			row[j] *= p.beta
		}
	}
}
