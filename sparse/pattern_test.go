package sparse_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rigel-ml/rigel/sparse"
)

// drawPattern draws patterns of every density, empty and full ones, and
// matrices without rows or columns.
func drawPattern(t *rapid.T) *sparse.Pattern {
	rows := rapid.IntRange(0, 12).Draw(t, "rows")
	cols := rapid.IntRange(0, 12).Draw(t, "cols")
	nnz := rapid.IntRange(0, rows*cols).Draw(t, "nnz")
	seed := rapid.Uint64().Draw(t, "seed")
	p, err := sparse.RandomPattern(rows, cols, nnz, rand.New(rand.NewPCG(seed, 0)))
	require.NoError(t, err)
	return p
}

func TestNewPatternRejects(t *testing.T) {
	for name, tc := range map[string]struct {
		rows, cols     int
		rowPtr, colIdx []int32
		want           error
		message        string
	}{
		"negative rows":         {-1, 2, []int32{0}, nil, sparse.ErrInvalid, "rows = -1"},
		"columns over int32":    {1, math.MaxInt32 + 1, []int32{0, 0}, nil, sparse.ErrInvalid, "columns = 2147483648"},
		"too few pointers":      {2, 2, []int32{0, 1}, []int32{0}, sparse.ErrInvalid, "row pointers has 2 entries, want 3"},
		"no pointers":           {0, 2, nil, nil, sparse.ErrInvalid, "row pointers has 0 entries, want 1"},
		"first pointer not 0":   {1, 2, []int32{1, 1}, []int32{0}, sparse.ErrInvalid, "row pointers[0] = 1"},
		"decreasing pointers":   {2, 2, []int32{0, 2, 1}, []int32{0}, sparse.ErrInvalid, "row pointers decreases at 2: 1 after 2"},
		"last pointer not nnz":  {1, 2, []int32{0, 1}, []int32{0, 1}, sparse.ErrInvalid, "row pointers ends at 1, want nnz = 2"},
		"negative column":       {1, 2, []int32{0, 1}, []int32{-1}, sparse.ErrInvalid, "column indices[0] = -1"},
		"column past the end":   {1, 2, []int32{0, 1}, []int32{2}, sparse.ErrInvalid, "column indices[0] = 2, want 0 to 1"},
		"unsorted columns":      {1, 3, []int32{0, 2}, []int32{2, 1}, sparse.ErrNotCanonical, "column indices[1] = 1 follows 2 in row 0"},
		"repeated column":       {1, 3, []int32{0, 2}, []int32{1, 1}, sparse.ErrNotCanonical, "column indices[1] = 1 follows 1 in row 0"},
		"range before ordering": {1, 3, []int32{0, 3}, []int32{2, 1, 9}, sparse.ErrInvalid, "column indices[2] = 9"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := sparse.NewPattern(tc.rows, tc.cols, tc.rowPtr, tc.colIdx)
			require.ErrorIs(t, err, tc.want)
			assert.ErrorContains(t, err, tc.message)
		})
	}
}

func TestNothingWraps(t *testing.T) {
	const side = 100_000 // side × side is 10^10 cells, past int32
	rng := rand.New(rand.NewPCG(1, 2))
	p, err := sparse.RandomPattern(side, side, 1000, rng)
	require.NoError(t, err)
	assert.EqualValues(t, 10_000_000_000, p.Cells())
	cells := p.AppendCells(nil)
	assert.True(t, slices.IsSorted(cells))
	assert.Greater(t, cells[len(cells)-1], int64(math.MaxInt32))

	_, err = sparse.FullPattern(side, side)
	require.ErrorIs(t, err, sparse.ErrInvalid)
	_, err = sparse.RandomPattern(3, 3, 10, rng)
	require.ErrorIs(t, err, sparse.ErrInvalid)
}

func TestFullPattern(t *testing.T) {
	p, err := sparse.FullPattern(2, 3)
	require.NoError(t, err)
	assert.Equal(t, []int32{0, 3, 6}, p.RowPtr())
	assert.Equal(t, []int32{0, 1, 2, 0, 1, 2}, p.ColIdx())
	assert.Equal(t, 1.0, p.Density())
}

func TestRandomPatternIsUniform(t *testing.T) {
	const rows, cols, nnz, draws = 3, 4, 5, 6000
	count := make([]int, rows*cols)
	rng := rand.New(rand.NewPCG(7, 7))
	for range draws {
		p, err := sparse.RandomPattern(rows, cols, nnz, rng)
		require.NoError(t, err)
		require.Equal(t, nnz, p.NNZ())
		for _, c := range p.AppendCells(nil) {
			count[c]++
		}
	}
	want := float64(draws) * nnz / (rows * cols)
	for c, n := range count {
		assert.InDelta(t, want, n, 6*math.Sqrt(want), "cell %d", c)
	}
}

func TestTransposedTwiceIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPattern(t)
		once := p.Transposed()
		tr, err := sparse.NewPattern(p.Cols(), p.Rows(), once.RowPtr, once.ColIdx)
		require.NoError(t, err)
		twice := tr.Transposed()
		assert.Equal(t, p.RowPtr(), twice.RowPtr)
		assert.Equal(t, p.ColIdx(), twice.ColIdx)
		for k, pos := range twice.Perm {
			assert.EqualValues(t, k, once.Perm[pos], "the permutations undo each other")
		}
	})
}

func TestUpdateProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPattern(t)
		before := p.AppendCells(nil)
		p.Transposed() // so that the update has something to refresh

		var drop []int32
		kept := map[int64]bool{}
		for pos, c := range before {
			if rapid.Bool().Draw(t, "drop") {
				drop = append(drop, int32(pos))
			} else {
				kept[c] = true
			}
		}
		var grow []int64
		for c := range p.Cells() {
			if !kept[c] && rapid.Bool().Draw(t, "grow") {
				grow = append(grow, c)
			}
		}
		want := slices.Clone(grow)
		for c := range kept {
			want = append(want, c)
		}
		slices.Sort(want)

		d, err := p.Update(drop, grow)
		require.NoError(t, err)
		after := p.AppendCells(nil)
		require.True(t, slices.Equal(want, after), "want %v, got %v", want, after)
		require.EqualValues(t, 1, p.Version())

		// Every connection that was there before carries its value; a new one
		// starts at zero.
		values := make([]int64, len(before))
		for i, c := range before {
			values[i] = c + 1
		}
		moved, err := sparse.Move(d, values)
		require.NoError(t, err)
		grown := 0
		for i, c := range after {
			if slices.Contains(before, c) {
				require.Equal(t, c+1, moved[i])
			} else {
				require.Zero(t, moved[i])
				grown++
			}
		}
		require.Equal(t, grown, d.Grown)
		require.Equal(t, len(before)+d.Grown-d.Dropped, len(after))

		fresh, err := sparse.NewPattern(p.Rows(), p.Cols(), p.RowPtr(), p.ColIdx())
		require.NoError(t, err, "the updated arrays are canonical")
		require.Equal(t, fresh.Transposed().Perm, p.Transposed().Perm, "the transposed index follows")
	})
}

func TestUpdateRejectsAndLeavesAlone(t *testing.T) {
	fresh := func() *sparse.Pattern {
		p, err := sparse.NewPattern(2, 3, []int32{0, 2, 3}, []int32{0, 2, 1})
		require.NoError(t, err)
		return p
	}
	for name, tc := range map[string]struct {
		drop []int32
		grow []int64
	}{
		"drop out of range": {[]int32{3}, nil},
		"negative drop":     {[]int32{-1}, nil},
		"unsorted drop":     {[]int32{1, 0}, nil},
		"repeated drop":     {[]int32{1, 1}, nil},
		"grow out of range": {nil, []int64{6}},
		"unsorted grow":     {nil, []int64{5, 3}},
		"grow a stored one": {[]int32{0}, []int64{2}},
	} {
		t.Run(name, func(t *testing.T) {
			p := fresh()
			_, err := p.Update(tc.drop, tc.grow)
			require.Error(t, err)
			assert.True(t, p.Equal(fresh()))
			assert.Zero(t, p.Version())
		})
	}
}

func TestFind(t *testing.T) {
	p, err := sparse.NewPattern(2, 5, []int32{0, 2, 3}, []int32{1, 4, 3})
	require.NoError(t, err)
	pos, ok := p.Find(0, 4)
	assert.True(t, ok)
	assert.Equal(t, 1, pos)
	_, ok = p.Find(1, 4)
	assert.False(t, ok)
}
