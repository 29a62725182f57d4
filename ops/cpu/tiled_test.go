package cpu

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"
	"pgregory.net/rapid"

	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/sparse"
)

// Sizes on both sides of one tile.
var (
	small = rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(250, 270))
	sizes = rapid.OneOf(small, rapid.IntRange(maxRowBlock-2, maxRowBlock+2))
)

// drawPattern draws patterns of every kind and density.
func drawPattern(t *rapid.T, name string, size *rapid.Generator[int]) *sparse.Pattern {
	rows, cols := size.Draw(t, name+" rows"), size.Draw(t, name+" cols")
	rng := newRNG(rapid.Uint64().Draw(t, name+" seed"))
	if rapid.Bool().Draw(t, name+" uniform") {
		most := min(rows*cols, 20_000)
		return randomPattern(t, rows, cols, rapid.OneOf(rapid.IntRange(0, most), rapid.Just(most)).Draw(t, name+" nnz"), rng)
	}
	kind := rapid.IntRange(0, len(shapeOf)-1).Draw(t, name+" kind")
	density := rapid.SampledFrom([]float64{0, 0.03, 0.3, 1}).Draw(t, name+" density")
	rows = min(rows, 1<<16/(cols+1)) // every cell is looked at
	return patternOf(t, kind, rows, cols, density, rng)
}

func formOf(old *tiled, p *sparse.Pattern) *tiled {
	return buildTiled(old, p.Rows(), p.Cols(), p.RowPtr(), p.ColIdx())
}

// entry is a non-zero of a tile.
type entry struct{ row, col int }

// decode reads tile i of a form as the kernels do, and checks what they rely on.
func decode(t *rapid.T, form *tiled, i int) []entry {
	tl := form.tiles[i]
	row0, col0 := i/form.colBlocks*form.rowBlock, i%form.colBlocks*form.colBlock
	n := min(form.rowBlock, form.rows-row0)
	end := len(form.rowList) - listPadding
	if i+1 < len(form.tiles) {
		end = form.tiles[i+1].list
	}
	rows, off := form.rowList[tl.list:end], form.off[tl.nnz:form.end(i)]

	sorted := slices.Compact(slices.Sorted(slices.Values(rows)))
	require.Len(t, sorted, len(rows), "a tile lists a row once")
	if cb := i % form.colBlocks; cb == 0 || cb == form.colBlocks-1 {
		require.Len(t, rows, n, "the first and the last tile of a block of rows list them all, to start and to end them")
	} else if tl.run < tl.runEnd {
		require.Positive(t, form.runs[tl.run]&0xffff, "tiles between list what has something to add")
	}
	if len(sorted) > 0 {
		require.Less(t, int(sorted[len(sorted)-1]), n)
	}
	var entries []entry
	last := -1
	for _, run := range form.runs[tl.run:tl.runEnd] {
		count := int(run & 0xffff)
		require.Greater(t, count, last, "runs are sorted by count")
		last = count
		for _, r := range rows[:run>>16] {
			for _, o := range off[:count] {
				c := int(o) / offsetUnit
				if o%offsetUnit != 0 || c >= form.colBlock || col0+c >= form.cols {
					t.Fatalf("offset %d in a block of %d columns", o, form.colBlock)
				}
				entries = append(entries, entry{row0 + int(r), col0 + c})
			}
			off = off[count:]
		}
		rows = rows[run>>16:]
	}
	require.Empty(t, rows, "the runs cover all rows listed")
	require.Empty(t, off, "and all non-zeros")
	return entries
}

func TestTiledFormHoldsThePattern(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPattern(t, "", sizes)
		form := formOf(nil, p)
		require.Len(t, form.tiles, form.rowBlocks*form.colBlocks)
		require.LessOrEqual(t, form.rowBlock, maxRowBlock)
		require.LessOrEqual(t, form.colBlock, maxColBlock)
		require.Equal(t, make([]uint16, listPadding), form.rowList[len(form.rowList)-listPadding:], "what kernels look ahead at is in range")
		var entries []entry
		for i := range form.tiles {
			entries = append(entries, decode(t, form, i)...)
		}
		require.Len(t, entries, p.NNZ())

		cells := p.AppendCells(nil)
		order := make([]int32, 0, p.NNZ())
		form.walk(p.RowPtr(), func(k int, pos int32) {
			e := entries[len(order)]
			if k != len(order) || cells[pos] != int64(e.row)*int64(p.Cols())+int64(e.col) {
				t.Fatalf("walk visits non-zero %d at position %d, want number %d, which lies in %v", k, pos, len(order), e)
			}
			order = append(order, pos)
		})
		b := &Backend{}
		require.True(t, slices.Equal(order, b.Order(p)))
		slices.Sort(order)
		for i, pos := range order {
			if int(pos) != i {
				t.Fatalf("position %d is not visited once", i)
			}
		}
	})
}

func TestTiledFormInOldMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := drawPattern(t, "before", sizes), drawPattern(t, "after", sizes)
		requireSameForm(t, formOf(nil, after), formOf(formOf(nil, before), after))
	})
}

func requireSameForm(t require.TestingT, want, got *tiled) {
	all := func(f *tiled) []int {
		return []int{f.rows, f.cols, f.rowBlock, f.colBlock, f.rowBlocks, f.colBlocks}
	}
	require.Equal(t, all(want), all(got))
	require.True(t, slices.Equal(want.off, got.off), "offsets")
	require.True(t, slices.Equal(want.rowList, got.rowList), "row lists")
	require.True(t, slices.Equal(want.runs, got.runs), "runs")
	require.True(t, slices.Equal(want.tiles, got.tiles), "tiles")
}

// drawUpdate draws the update of a pattern; one that keeps the number of
// non-zeros if keep is set.
func drawUpdate(t *rapid.T, p *sparse.Pattern, keep bool) (drop []int32, grow []int64) {
	rng := newRNG(rapid.Uint64().Draw(t, "update"))
	n := rapid.IntRange(0, p.NNZ()).Draw(t, "drop")
	dropped, err := sparse.Sample(int64(p.NNZ()), n, rng)
	require.NoError(t, err)
	for _, d := range dropped {
		drop = append(drop, int32(d))
	}
	var free []int64 // cells that may grow: all that are not kept
	next := 0
	for pos, cell := range append(p.AppendCells(nil), p.Cells()) {
		for ; next < int(cell); next++ {
			free = append(free, int64(next))
		}
		if _, gone := slices.BinarySearch(drop, int32(pos)); !gone {
			next = int(cell) + 1
		}
	}
	if !keep {
		n = rapid.IntRange(0, min(len(free), 2*n+10)).Draw(t, "grow")
	}
	chosen, err := sparse.Sample(int64(len(free)), n, rng)
	require.NoError(t, err)
	for _, i := range chosen {
		grow = append(grow, free[i])
	}
	return drop, grow
}

// TestFormsFollowTheVersion: after an update both forms and what connects them
// are those of a pattern that was made as it now is.
func TestFormsFollowTheVersion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPattern(t, "", small)
		for range 3 {
			drop, grow := drawUpdate(t, p, false)
			if rapid.Bool().Draw(t, "forward first") {
				forwardForm(p)
			}
			bothForms(p)
			_, err := p.Update(drop, grow)
			require.NoError(t, err)

			got, want := bothForms(p), bothForms(p.Clone())
			requireSameForm(t, want.forward, got.forward)
			requireSameForm(t, want.transposed, got.transposed)
			require.True(t, slices.Equal(want.source, got.source))
			require.Same(t, forwardForm(p), got.forward)
			require.Same(t, got, bothForms(p), "kept until the next update")
		}
	})
}

// TestBackendsShareAPattern: reading a pattern from several goroutines is safe,
// so two backends may run kernels of one pattern at the same time. Here the
// second begins before the first has done its work.
func TestBackendsShareAPattern(t *testing.T) {
	p := randomPattern(t, 30, 40, 300, newRNG(1))
	s := ops.SpMMT{Pattern: p, Panels: newPanels(t, 8)}
	sig, err := s.Signature()
	require.NoError(t, err)
	first, second := open(t, "generic", 1), open(t, "generic", 1)
	in, other := inputs(t, s, integer, newRNG(2)), inputs(t, s, integer, newRNG(3))
	want := solve(t, first, s, in)

	k, err := first.Plan(s)
	require.NoError(t, err)
	out := upload(t, first, sig.Out, make([]float32, sig.Out.Len()))
	c := k.(*kernel).c
	n, err := c.bind(out, []*tensor.Dense{upload(t, first, sig.In[0], in[0]), upload(t, first, sig.In[1], in[1])})
	require.NoError(t, err)
	solve(t, second, s, other)
	for i := range n {
		c.do(i, 0)
	}
	requireSame(t, want, out.Float32s(), "another backend ran in between")
}
