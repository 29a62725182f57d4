package plot_test

import (
	"context"
	"image"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rigel-ml/rigel/checkpoint"
	"github.com/rigel-ml/rigel/datasets"
	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/ops/cpu"
	"github.com/rigel-ml/rigel/optim"
	"github.com/rigel-ml/rigel/rigl"
	"github.com/rigel-ml/rigel/train"
	"github.com/rigel-ml/rigel/train/plot"
)

// small describes a run that takes milliseconds: whether one of three features
// is the largest.
func small(t *testing.T) train.Config {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	x, labels := make([]float32, 200*3), make([]int32, 200)
	for i := range labels {
		row := x[3*i : 3*i+3]
		for f := range row {
			row[f] = float32(rng.NormFloat64())
		}
		if row[0] > max(row[1], row[2]) {
			labels[i] = 1
		}
	}
	set, err := datasets.FromFloats(datasets.SetConfig{Name: "largest"}, x, labels)
	require.NoError(t, err)
	trainSet, valid, err := set.Split(50)
	require.NoError(t, err)
	return train.Config{
		Model: nn.SequentialConfig{
			nn.Named("fc1", nn.SparseLinearConfig{In: 3, Out: 30, Sparsity: 0.5}), nn.ReLUConfig{},
			nn.Named("fc2", nn.LinearConfig{In: 30, Out: 2}),
		},
		Optimizer: optim.Config{Rule: optim.SGD{Momentum: 0.9}},
		LR:        optim.Constant(0.1),
		Masks:     rigl.Config{Method: rigl.RigL(), Schedule: rigl.Schedule{Every: 10, End: 120}},
		Epochs:    10, Batch: 10, Train: trainSet, Valid: valid, LogEvery: 5,
		Dir: filepath.Join(t.TempDir(), "run"),
	}
}

func fit(t *testing.T, c train.Config) {
	t.Helper()
	b := cpu.NewThreads(1)
	defer b.Close()
	l, err := train.New(b, c)
	require.NoError(t, err)
	defer l.Close()
	_, err = l.Fit(context.Background())
	require.NoError(t, err)
}

// requirePicture draws a run and returns the picture.
func requirePicture(t *testing.T, dir string) image.Image {
	t.Helper()
	path := filepath.Join(filepath.Dir(dir), "run.png")
	require.NoError(t, plot.Run(dir, path))
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	picture, err := png.Decode(f)
	require.NoError(t, err)
	size := picture.Bounds().Size()
	assert.Equal(t, image.Pt(1126, 693), size, "26 × 16 cm at 110 dots an inch")
	return picture
}

// colors counts the pixels of each color in one of the four quarters.
func colors(picture image.Image, right, below bool) map[[3]uint32]int {
	b := picture.Bounds()
	half := image.Pt(b.Dx()/2, b.Dy()/2)
	at := b.Min
	if right {
		at.X += half.X
	}
	if below {
		at.Y += half.Y
	}
	count := map[[3]uint32]int{}
	for y := at.Y; y < at.Y+half.Y; y++ {
		for x := at.X; x < at.X+half.X; x++ {
			r, g, b, _ := picture.At(x, y).RGBA()
			count[[3]uint32{r >> 8, g >> 8, b >> 8}]++
		}
	}
	return count
}

// The colors of the curves of training, or all there is, and of validation.
var blue, orange = [3]uint32{0x1f, 0x77, 0xb4}, [3]uint32{0xe6, 0x6a, 0x00}

func TestRun(t *testing.T) {
	for name, test := range map[string]struct {
		change        func(*train.Config)
		valid, churns bool
	}{
		"RigL":               {func(*train.Config) {}, true, true},
		"dense":              {func(c *train.Config) { c.Model = nn.LinearConfig{In: 3, Out: 2} }, true, false},
		"static":             {func(c *train.Config) { c.Masks = rigl.Config{} }, true, false},
		"without validation": {func(c *train.Config) { c.Valid = nil }, false, true},
		"one epoch":          {func(c *train.Config) { c.Epochs = 1 }, true, true},
		"one epoch, one step, nothing else": {func(c *train.Config) {
			c.Epochs, c.Batch, c.Valid, c.Masks = 1, 1000, nil, rigl.Config{}
		}, false, false},
		"one epoch without a step in the metrics": {func(c *train.Config) { c.Epochs, c.LogEvery = 1, 50 }, true, true},
		"more epochs than marks":                  {func(c *train.Config) { c.Epochs = 70 }, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := small(t)
			test.change(&c)
			fit(t, c)
			p := requirePicture(t, c.Dir)
			for _, quarter := range []struct {
				name         string
				right, below bool
				blue, orange bool
			}{
				{"loss", false, false, true, test.valid},
				{"accuracy", true, false, true, test.valid},
				{"churn", false, true, test.churns, false},
				{"sparsity", true, true, true, false},
			} {
				count := colors(p, quarter.right, quarter.below)
				assert.Equal(t, quarter.blue, count[blue] > 0, "%s: %d blue pixels", quarter.name, count[blue])
				assert.Equal(t, quarter.orange, count[orange] > 0, "%s: %d orange pixels", quarter.name, count[orange])
			}
		})
	}
}

// written makes a run directory of these lines.
func written(t *testing.T, lines ...any) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	d, err := checkpoint.Create(dir, struct{}{}, checkpoint.Options{})
	require.NoError(t, err)
	for _, line := range lines {
		require.NoError(t, d.AppendMetrics(line))
	}
	require.NoError(t, d.Close())
	return dir
}

// Numbers at which a logarithm or a range of zero width might fail.
func TestExtremes(t *testing.T) {
	for name, e := range map[string]train.Epoch{
		"nothing but zeros": {},
		"no loss at all":    {TrainAccuracy: 1, ValidAccuracy: 1, Sparsity: 0.9},
		"a tiny loss":       {TrainLoss: 1e-30, ValidLoss: 1e-30},
		"a huge loss":       {TrainLoss: 1e30},
		"tiny and huge":     {TrainLoss: 1e-30, ValidLoss: 1e30},
		"loss of 1":         {TrainLoss: 1, ValidLoss: 1},
	} {
		t.Run(name, func(t *testing.T) {
			e.Event, e.Step, e.Epoch = "epoch", 10, 1
			requirePicture(t, written(t, e))
			if testing.Short() {
				return // a picture takes a second under the race detector
			}
			next := e
			next.Step, next.Epoch = 20, 2
			requirePicture(t, written(t, train.Step{Event: "step", Step: 3, Loss: e.TrainLoss}, e, next))
		})
	}
}

// Lines of a kind that this version does not know are for others.
func TestOtherLinesArePassedOver(t *testing.T) {
	requirePicture(t, written(t, map[string]any{"event": "weather", "step": 1, "loss": "high"},
		train.Epoch{Event: "epoch", Step: 2, Epoch: 1, TrainLoss: 0.5}))
}

func TestErrors(t *testing.T) {
	t.Run("no run", func(t *testing.T) {
		for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "nowhere")} {
			err := plot.Run(dir, filepath.Join(t.TempDir(), "run.png"))
			require.ErrorIs(t, err, checkpoint.ErrNoRun)
			require.ErrorContains(t, err, dir)
		}
	})
	t.Run("no finished epoch", func(t *testing.T) {
		dir := written(t, train.Step{Event: "step", Step: 1, Loss: 1})
		target := filepath.Join(t.TempDir(), "run.png")
		require.ErrorContains(t, plot.Run(dir, target), dir+" has no finished epoch")
		assert.NoFileExists(t, target)
	})
	t.Run("a line that is no event", func(t *testing.T) {
		dir := written(t, train.Epoch{Event: "epoch", Step: 2}, map[string]any{"event": "epoch", "step": 3, "nnz": "many"})
		require.ErrorContains(t, plot.Run(dir, filepath.Join(t.TempDir(), "run.png")), "line 2 of the metrics")
	})
	dir := written(t, train.Epoch{Event: "epoch", Step: 2, Epoch: 1, TrainLoss: 1})
	t.Run("no such folder", func(t *testing.T) {
		target := filepath.Join(t.TempDir(), "nowhere", "run.png")
		require.ErrorContains(t, plot.Run(dir, target), filepath.Dir(target))
	})
	t.Run("target is a folder", func(t *testing.T) {
		folder := t.TempDir()
		target := filepath.Join(folder, "run.png")
		require.NoError(t, os.MkdirAll(filepath.Join(target, "full"), 0o755))
		require.ErrorContains(t, plot.Run(dir, target), target)
		entries, err := os.ReadDir(folder)
		require.NoError(t, err)
		assert.Len(t, entries, 1, "a temporary file was left")
	})
}

// A picture replaces the one before.
func TestRunAgain(t *testing.T) {
	c := small(t)
	c.Epochs = 1
	fit(t, c)
	first := requirePicture(t, c.Dir)
	assert.Equal(t, first, requirePicture(t, c.Dir))
	entries, err := os.ReadDir(filepath.Dir(c.Dir))
	require.NoError(t, err)
	assert.Len(t, entries, 2, "the run and the picture")
}
