package ops_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rigel-ml/rigel/ops"
)

func TestNewPanels(t *testing.T) {
	for batch, want := range map[int]ops.Panels{
		1:   {Batch: 1, Width: 8, Count: 1},
		8:   {Batch: 8, Width: 8, Count: 1},
		9:   {Batch: 9, Width: 16, Count: 1},
		33:  {Batch: 33, Width: 64, Count: 1},
		64:  {Batch: 64, Width: 64, Count: 1},
		65:  {Batch: 65, Width: 64, Count: 2},
		256: {Batch: 256, Width: 64, Count: 4},
	} {
		got, err := ops.NewPanels(batch)
		require.NoError(t, err)
		assert.Equal(t, want, got)
		assert.GreaterOrEqual(t, got.Slots(), batch)
		assert.Equal(t, got.Slots()*5, got.Shape(5).TotalSize())
	}
	for _, batch := range []int{0, -1} {
		_, err := ops.NewPanels(batch)
		require.ErrorIs(t, err, ops.ErrSpec)
	}
}

func TestStreamIsUniform(t *testing.T) {
	s := ops.Stream{Key: 1}
	const n, bins = 1 << 16, 16
	count := [bins]int{}
	for i := range uint64(n) {
		u := s.Uniform(i)
		require.True(t, u >= 0 && u < 1)
		count[int(u*bins)]++
	}
	for _, c := range count {
		assert.InDelta(t, n/bins, c, 320, "five standard deviations")
	}
}

func TestStreamDependsOnKeyStepAndNumberAlone(t *testing.T) {
	draw := func(key, step uint64) (u [64]float32) {
		s := ops.Stream{Key: key, Step: step}
		for i := range u {
			u[len(u)-1-i] = s.Uniform(uint64(len(u) - 1 - i)) // in any order
		}
		return u
	}
	assert.Equal(t, draw(1, 2), draw(1, 2))
	assert.NotEqual(t, draw(1, 2), draw(1, 3))
	assert.NotEqual(t, draw(1, 2), draw(2, 2))
	assert.NotEqual(t, draw(1, 2), draw(2, 1))
}
