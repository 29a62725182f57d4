package sparse_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rigel-ml/rigel/sparse"
)

// Keys of two packages, whose underlying types are the same.
type (
	keyA struct{}
	keyB struct{}
)

// smallPattern is (0 . 2; . 1 .) in a matrix of 2 × 3.
func smallPattern(t *testing.T) *sparse.Pattern {
	t.Helper()
	p, err := sparse.NewPattern(2, 3, []int32{0, 2, 3}, []int32{0, 2, 1})
	require.NoError(t, err)
	return p
}

func TestDerivedIsMadeOnceAVersion(t *testing.T) {
	p := smallPattern(t)
	var olds [][]int32 // what each build was given
	columns := func() []int32 {
		return sparse.Derived(p, keyA{}, func(old []int32) []int32 {
			olds = append(olds, old)
			return append(old[:0:0], p.ColIdx()...)
		})
	}
	first := columns()
	assert.Equal(t, []int32{0, 2, 1}, first)
	assert.Equal(t, first, columns())
	assert.Equal(t, [][]int32{nil}, olds, "made on first use, from nothing, and kept")

	_, err := p.Update([]int32{0}, []int64{1})
	require.NoError(t, err)
	assert.Equal(t, []int32{1, 2, 1}, columns())
	require.Len(t, olds, 2)
	assert.Same(t, &first[0], &olds[1][0], "the old value, for its memory")

	require.NoError(t, p.Set([]int32{0, 1, 3}, []int32{0, 0, 2}))
	assert.Equal(t, []int32{0, 0, 2}, columns())
	assert.Equal(t, []int32{0, 0, 2}, columns())
	assert.Len(t, olds, 3)

	_, err = p.Update([]int32{7}, nil)
	require.Error(t, err)
	columns()
	assert.Len(t, olds, 3, "a failed update changes nothing")
}

func TestDerivedKeepsKeysApart(t *testing.T) {
	p := smallPattern(t)
	a := func() int { return sparse.Derived(p, keyA{}, func(old int) int { return old + 1 }) }
	b := func() string { return sparse.Derived(p, keyB{}, func(old string) string { return old + "b" }) }
	assert.Equal(t, 1, a())
	assert.Equal(t, "b", b())
	_, err := p.Update(nil, nil)
	require.NoError(t, err)
	assert.Equal(t, 2, a(), "each is given its own old value")
	_, err = p.Update(nil, nil)
	require.NoError(t, err)
	assert.Equal(t, "bb", b(), "and follows when it is asked for, over versions that it missed")
	assert.Equal(t, 3, a())
}

func TestDerivedBelongsToOnePattern(t *testing.T) {
	p := smallPattern(t)
	sparse.Derived(p, keyA{}, func(int) int { return 7 })
	clone := sparse.Derived(p.Clone(), keyA{}, func(old int) int { return old + 1 })
	assert.Equal(t, 1, clone, "a clone starts with nothing derived")
}

// TestDerivedFromSeveralGoroutines is for the race detector.
func TestDerivedFromSeveralGoroutines(t *testing.T) {
	p := smallPattern(t)
	made := 0
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			got := sparse.Derived(p, keyA{}, func([]int64) []int64 {
				made++
				return p.AppendCells(nil)
			})
			assert.Equal(t, []int64{0, 2, 4}, got)
		})
	}
	all.Wait()
	assert.Equal(t, 1, made)
}

func TestSet(t *testing.T) {
	p := smallPattern(t)
	rowPtr, colIdx := []int32{0, 0, 3}, []int32{0, 1, 2}
	heldPtr, heldIdx := p.RowPtr(), p.ColIdx()
	require.NoError(t, p.Set(rowPtr, colIdx))
	assert.Equal(t, []int64{3, 4, 5}, p.AppendCells(nil))
	assert.EqualValues(t, 1, p.Version())
	assert.Equal(t, rowPtr, heldPtr, "in place, for those that hold the arrays")
	assert.Equal(t, colIdx, heldIdx)

	rowPtr[1], colIdx[0] = 1, 2
	assert.Equal(t, []int64{3, 4, 5}, p.AppendCells(nil), "the arguments were copied")
}

func TestSetRejectsAndLeavesAlone(t *testing.T) {
	for name, tc := range map[string]struct {
		rowPtr, colIdx []int32
		want           error
	}{
		"more non-zeros":      {[]int32{0, 2, 4}, []int32{0, 1, 0, 1}, sparse.ErrInvalid},
		"fewer non-zeros":     {[]int32{0, 1, 2}, []int32{0, 1}, sparse.ErrInvalid},
		"another row count":   {[]int32{0, 3}, []int32{0, 1, 2}, sparse.ErrInvalid},
		"column out of range": {[]int32{0, 2, 3}, []int32{0, 3, 1}, sparse.ErrInvalid},
		"unsorted row":        {[]int32{0, 2, 3}, []int32{1, 0, 1}, sparse.ErrNotCanonical},
		"nothing":             {nil, nil, sparse.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			p := smallPattern(t)
			require.ErrorIs(t, p.Set(slices.Clone(tc.rowPtr), tc.colIdx), tc.want)
			assert.True(t, p.Equal(smallPattern(t)))
			assert.Zero(t, p.Version())
		})
	}
}
