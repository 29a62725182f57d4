package checkpoint

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rigel-ml/rigel/checkpoint/internal/simdisk"
)

func TestRetention(t *testing.T) {
	inf := math.Inf(1)
	tests := map[string]struct {
		opt    Options
		scores []float64 // of steps 1, 2, …
		want   []int64
		best   int64 // 0: none
	}{
		"default, best is old":     {Options{}, []float64{1, 9, 2, 3, 4, 5}, []int64{2, 4, 5, 6}, 2},
		"default, best is recent":  {Options{}, []float64{1, 2, 3, 4, 5, 6}, []int64{4, 5, 6}, 6},
		"lower is better":          {Options{LowerIsBetter: true}, []float64{2, 1, 9, 9, 9, 9}, []int64{2, 4, 5, 6}, 2},
		"keep one":                 {Options{Keep: 1}, []float64{2, 1}, []int64{1, 2}, 1},
		"nothing scored":           {Options{Keep: 2}, []float64{noScore, noScore, noScore}, []int64{2, 3}, 0},
		"some scored":              {Options{Keep: 1}, []float64{noScore, -9, noScore, noScore}, []int64{2, 4}, 2},
		"tie keeps the first":      {Options{Keep: 1}, []float64{5, 5, 5}, []int64{1, 3}, 1},
		"infinite scores":          {Options{Keep: 1}, []float64{-inf, inf, 0}, []int64{2, 3}, 2},
		"infinite, low is better":  {Options{Keep: 1, LowerIsBetter: true}, []float64{-inf, inf, noScore}, []int64{1, 3}, 1},
		"fewer than to keep":       {Options{Keep: 9}, []float64{1, 2}, []int64{1, 2}, 2},
		"zero is a score as other": {Options{Keep: 1}, []float64{0, -1, -2}, []int64{1, 3}, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := newRun(t, simdisk.New(), "/run", tt.opt)
			for i, score := range tt.scores {
				save(t, d, int64(i+1), score)
			}
			requireSteps(t, d, tt.want...)
			_, info, _, err := d.Best()
			if tt.best == 0 {
				require.ErrorIs(t, err, ErrNoCheckpoint)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.best, info.Step)
		})
	}
}

// The score is in the checkpoint, so a later process knows the best one.
func TestRetentionAfterResume(t *testing.T) {
	disk := simdisk.New()
	d := newRun(t, disk, "/run", Options{Keep: 1})
	save(t, d, 1, 10)
	save(t, d, 2, 3)
	require.NoError(t, d.Close())
	d, err := open(disk, "/run", Options{Keep: 1})
	require.NoError(t, err)
	save(t, d, 3, 4)
	save(t, d, 4, 5)
	requireSteps(t, d, 1, 4)
}

func TestSaveRefuses(t *testing.T) {
	d := newRun(t, simdisk.New(), "/run", Options{})
	save(t, d, 5, noScore)
	for name, step := range map[string]int64{"negative": -1, "before the newest": 4} {
		path, err := d.Save(step, archiveOf(t, step), noScore)
		assert.Error(t, err, name)
		assert.Empty(t, path, name)
	}
	_, err := d.Save(6, nil, noScore)
	assert.Error(t, err)
	requireSteps(t, d, 5)

	again := archiveOf(t, 5)
	require.NoError(t, again.PutRecord("second", true))
	_, err = d.Save(5, again, noScore)
	require.NoError(t, err, "a checkpoint of the same step is replaced")
	a, _, _, err := d.Latest()
	require.NoError(t, err)
	assert.Contains(t, a.Records(), "second")
}

func TestStepNames(t *testing.T) {
	for _, step := range []int64{0, 1, 123, 999_999_999, 1_000_000_000, math.MaxInt64} {
		got, ok := parseStep(stepName(step))
		assert.True(t, ok)
		assert.Equal(t, step, got)
	}
	for _, name := range []string{"", "step-1.safetensors", "step--00000001.safetensors", "step-+00000001.safetensors",
		"step-000000001.safetensors.tmp", "step-000000001.safetensors.stale", "000000001", "step-000000001",
		"step-99999999999999999999.safetensors"} {
		_, ok := parseStep(name)
		assert.False(t, ok, name)
	}
}
