package cpu

import (
	"math"
	"slices"

	"github.com/rigel-ml/rigel/sparse"
)

// tiled is the execution form of a pattern: column blocks whose slice of a panel
// stays in the nearest cache, by row blocks. Inside a tile, rows are sorted by
// their count of non-zeros, so that the inner loops of the kernels run constant
// trip counts, and no row pointers are needed: a run is a count and a number of
// rows.
//
// One form serves panels of every width: an offset is the column inside its
// block times 32, which is the distance of two columns of a panel of 64 in units
// of 8 bytes. Narrower panels scale it down.
type tiled struct {
	rows, cols           int
	rowBlock, colBlock   int // sizes
	rowBlocks, colBlocks int // counts

	off     []uint16 // of each non-zero, in tile order
	rowList []uint16 // rows of each tile inside their block, sorted by count
	runs    []uint32 // count | rows<<16
	tiles   []tile   // row block by row block
}

// tile is one block: its first non-zero, entry of rowList and run, and where
// its runs end.
type tile struct {
	nnz, list, run, runEnd int
}

const (
	offsetUnit  = 32
	maxColBlock = math.MaxUint16 / offsetUnit
	maxRowBlock = 2048
	// listPadding entries follow the row list, because the kernels look a few
	// rows ahead.
	listPadding = 8
)

// blockSizes fits the measurements of many shapes: tiles have about a dozen
// non-zeros a row, no fewer than 128 columns (32 KB of a panel), and there are at
// least two blocks of rows to share once there are rows enough.
func blockSizes(rows, cols, nnz int) (rowBlock, colBlock int) {
	density := float64(nnz) / max(float64(rows)*float64(cols), 1)
	want := 12 / density
	if density < 0.015 {
		want = 20 / density
	}
	colBlock = int(min(max(want, 128), maxColBlock))
	// Equal blocks: 784 columns by 128 are six blocks of 131.
	n := max((cols+colBlock/2)/colBlock, 1)
	if ceil(cols, n) > maxColBlock {
		n = ceil(cols, maxColBlock)
	}
	colBlock = max(ceil(cols, n), 1)
	n = max(ceil(rows, maxRowBlock), 1)
	if n == 1 && rows >= 256 {
		n = 2
	}
	return max(ceil(rows, n), 1), colBlock
}

func ceil(a, b int) int { return (a + b - 1) / b }

// buildTiled builds the form of CSR arrays, in the memory of old if there is
// one.
func buildTiled(old *tiled, rows, cols int, rowPtr, colIdx []int32) *tiled {
	t := old
	if t == nil {
		t = &tiled{}
	}
	nnz := len(colIdx)
	t.rows, t.cols = rows, cols
	t.rowBlock, t.colBlock = blockSizes(rows, cols, nnz)
	t.rowBlocks, t.colBlocks = ceil(rows, t.rowBlock), max(ceil(cols, t.colBlock), 1)
	t.off = resized(t.off, nnz)
	t.rowList = t.rowList[:0]
	t.tiles = resized(t.tiles, t.rowBlocks*t.colBlocks)
	t.runs = t.runs[:0]
	b := tileBuilder{
		tiled: t, rowPtr: rowPtr, colIdx: colIdx,
		next: make([]int32, t.rowBlock), count: make([]int32, t.rowBlock), place: make([]int32, t.colBlock+2),
	}
	for rb := range t.rowBlocks {
		b.first, b.rows = rb*t.rowBlock, min(t.rowBlock, rows-rb*t.rowBlock)
		copy(b.next, rowPtr[b.first:b.first+b.rows])
		for cb := range t.colBlocks {
			t.tiles[rb*t.colBlocks+cb] = b.tile(cb)
		}
	}
	t.rowList = append(t.rowList, make([]uint16, listPadding)...)
	return t
}

// tileBuilder goes through the tiles of a block of rows from left to right.
type tileBuilder struct {
	*tiled
	rowPtr, colIdx []int32
	first, rows    int     // of the block
	k              int     // non-zeros placed
	next           []int32 // first entry of each row not yet placed
	count          []int32 // of each row in the tile
	place          []int32 // rows of each count, then where they go
}

// tile places the non-zeros of column block cb.
func (b *tileBuilder) tile(cb int) tile {
	tl := tile{nnz: b.k, list: len(b.rowList), run: len(b.runs)}
	limit := int32(min((cb+1)*b.colBlock, b.cols))
	clear(b.place)
	for r := range b.rows {
		p := b.next[r]
		for end := b.rowPtr[b.first+r+1]; p < end && b.colIdx[p] < limit; p++ {
		}
		b.count[r] = p - b.next[r]
		b.place[b.count[r]+1]++
	}
	// The first and the last block see every row, to start it and to end it.
	// Blocks between list those with something to add, so that the lists grow
	// with the non-zeros and not with the blocks.
	listed := b.rows
	if cb > 0 && cb < b.colBlocks-1 {
		listed -= int(b.place[1])
		b.place[1] = 0
	}
	for c, rows := range b.place[1:] {
		if rows > 0 {
			b.runs = append(b.runs, uint32(c)|uint32(rows)<<16)
		}
	}
	for c := 1; c < len(b.place); c++ {
		b.place[c] += b.place[c-1]
	}
	b.rowList = slices.Grow(b.rowList, listed)[:tl.list+listed]
	list := b.rowList[tl.list:]
	for r, n := range b.count[:b.rows] {
		if n == 0 && listed < b.rows {
			continue
		}
		list[b.place[n]] = uint16(r)
		b.place[n]++
	}
	for _, r := range list {
		for range b.count[r] {
			b.off[b.k] = uint16((int(b.colIdx[b.next[r]]) - cb*b.colBlock) * offsetUnit)
			b.next[r]++
			b.k++
		}
	}
	tl.runEnd = len(b.runs)
	return tl
}

// walk calls f with each non-zero and its CSR position. The positions are not
// kept: they would be as large as the values, and only files and mask updates
// ask for them.
func (t *tiled) walk(rowPtr []int32, f func(k int, pos int32)) {
	k := 0
	next := make([]int32, t.rowBlock)
	for i, tl := range t.tiles {
		if first := i / t.colBlocks * t.rowBlock; i%t.colBlocks == 0 {
			copy(next, rowPtr[first:min(first+t.rowBlock, t.rows)])
		}
		rows := t.rowList[tl.list:]
		for _, run := range t.runs[tl.run:tl.runEnd] {
			count, n := int32(run&0xffff), run>>16
			for _, r := range rows[:n] {
				for range count {
					f(k, next[r])
					next[r]++
					k++
				}
			}
			rows = rows[n:]
		}
	}
}

// end returns the first non-zero after tile i.
func (t *tiled) end(i int) int {
	if i+1 < len(t.tiles) {
		return t.tiles[i+1].nnz
	}
	return len(t.off)
}

func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// forms are the execution forms of a pattern: of the matrix, in whose order its
// values are stored, and of the transpose.
type forms struct {
	forward, transposed *tiled
	// source is where each value of the transposed form is stored.
	source []int32
}

// turned are values in the order of the transposed form. They belong to one
// kernel: other backends may run kernels of the same pattern meanwhile.
type turned struct {
	source       []int32
	from, values []float32
}

// do turns block i of the values.
func (t *turned) do(i, _ int) {
	lo, hi := i*vectorBlock, min((i+1)*vectorBlock, len(t.source))
	gather(t.values[lo:hi], t.from, t.source[lo:hi])
}

// turnAlone is how many blocks one thread turns by itself: some 20 µs of work.
const turnAlone = 16

func (t *turned) all() { gather(t.values, t.from, t.source) }

// gather copies src[at[i]] to dst[i]. Four at a time keep more loads in flight.
func gather(dst, src []float32, at []int32) {
	dst = dst[:len(at)]
	i := 0
	for ; i+4 <= len(at); i += 4 {
		p, d := (*[4]int32)(at[i:]), (*[4]float32)(dst[i:])
		d[0], d[1], d[2], d[3] = src[p[0]], src[p[1]], src[p[2]], src[p[3]]
	}
	for ; i < len(at); i++ {
		dst[i] = src[at[i]]
	}
}

type (
	forwardKey struct{}
	formsKey   struct{}
)

// forwardForm returns the form of a pattern at its present version.
func forwardForm(p *sparse.Pattern) *tiled {
	return sparse.Derived(p, forwardKey{}, func(old *tiled) *tiled {
		return buildTiled(old, p.Rows(), p.Cols(), p.RowPtr(), p.ColIdx())
	})
}

// bothForms returns the form of a pattern and that of its transpose.
func bothForms(p *sparse.Pattern) *forms {
	forward := forwardForm(p)
	return sparse.Derived(p, formsKey{}, func(old *forms) *forms {
		f := old
		if f == nil {
			f = &forms{}
		}
		tr := p.Transposed()
		f.forward = forward
		f.transposed = buildTiled(f.transposed, p.Cols(), p.Rows(), tr.RowPtr, tr.ColIdx)
		stored := tr.ColIdx // its indices have served
		forward.walk(p.RowPtr(), func(k int, pos int32) { stored[pos] = int32(k) })
		f.source = resized(f.source, p.NNZ())
		f.transposed.walk(tr.RowPtr, func(k int, entry int32) { f.source[k] = stored[tr.Perm[entry]] })
		return f
	})
}
