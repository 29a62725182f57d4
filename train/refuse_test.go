package train_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rigel-ml/rigel/checkpoint"
	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/ops/cpu"
	"github.com/rigel-ml/rigel/optim"
	"github.com/rigel-ml/rigel/rigl"
	"github.com/rigel-ml/rigel/train"
)

// refused checks that New refuses a configuration for all of these reasons and
// leaves the files of its directory as they were.
func refused(t *testing.T, c train.Config, reasons ...string) error {
	t.Helper()
	before := map[string]string{}
	if _, err := os.Stat(c.Dir); err == nil {
		before = files(t, c.Dir)
	}
	l, err := train.New(newBackend(t, 1), c)
	require.Error(t, err)
	require.Nil(t, l)
	for _, reason := range reasons {
		assert.ErrorContains(t, err, reason)
	}
	if _, err := os.Stat(c.Dir); err == nil {
		assert.Equal(t, before, files(t, c.Dir))
	} else {
		assert.Empty(t, before)
	}
	return err
}

func TestResumeWithOtherSettings(t *testing.T) {
	c := inDir(t, nil)
	interrupt(t, c, 13)
	for name, test := range map[string]struct {
		change  func(*train.Config)
		reasons []string
	}{
		"rule":     {func(c *train.Config) { c.Optimizer.Rule = optim.Adam{} }, []string{"optimizer was sgd", "is now adam"}},
		"momentum": {func(c *train.Config) { c.Optimizer.Rule = optim.SGD{Momentum: 0.8} }, []string{"optimizer", `"Momentum":0.9`, `"Momentum":0.8`}},
		"clipping": {func(c *train.Config) { c.Optimizer.ClipNorm = 3 }, []string{"optimizer", `"ClipNorm":2`, `"ClipNorm":3`}},
		"rate":     {func(c *train.Config) { c.LR = optim.Constant(0.5) }, []string{"learning rate was optim.Warmup", "is now optim.Constant 0.5"}},
		"method":   {func(c *train.Config) { c.Masks.Method = rigl.SET() }, []string{"mask training was rigl", "is now set"}},
		"schedule": {func(c *train.Config) { c.Masks.Schedule.Every = 8 }, []string{"mask training", `"Every":7`, `"Every":8`}},
		"epochs":   {func(c *train.Config) { c.Epochs = 9 }, []string{"number of epochs was 4, is now 9"}},
		"batch":    {func(c *train.Config) { c.Batch = 16 }, []string{"batch size was 32, is now 16"}},
		"seed":     {func(c *train.Config) { c.Seed = 6 }, []string{"seed was 5, is now 6"}},
		"data":     {func(c *train.Config) { c.Train = c.Valid }, []string{"data was clusters, 301 samples", "is now more clusters, 100 samples"}},
		"labels":   {func(c *train.Config) { c.Train = clusters(t, "clusters", samples, 99) }, []string{"label_sum"}},
		"shapes": {func(c *train.Config) {
			c.Model = nn.SequentialConfig{nn.SparseLinearConfig{In: features, Out: 30, Sparsity: 0.7}, nn.LinearConfig{In: 30, Out: classes}}
		}, []string{"number of parameters was 6, is now 4", "parameter 0 was {0.weight [32 20] 192}, is now {0.weight [30 20] 180}",
			"parameter 1", "parameter 2 was {3.weight", "is now {1.weight"}},
		"connections": {func(c *train.Config) {
			m := network()
			m[3] = nn.SparseLinearConfig{In: 32, Out: 16, NNZ: 151}
			c.Model = m
		}, []string{"parameter 2 was {3.weight [16 32] 150}, is now {3.weight [16 32] 151}"}},
		"all at once": {func(c *train.Config) {
			c.Optimizer.Rule, c.LR, c.Masks.Method = optim.AdamW{}, optim.Constant(1), rigl.Static()
			c.Epochs, c.Batch, c.Seed, c.Train = 9, 16, 6, c.Valid
			c.Model = nn.LinearConfig{In: features, Out: classes}
		}, []string{"optimizer was", "learning rate was", "mask training was", "number of epochs was", "batch size was",
			"seed was", "data was", "number of parameters was", "parameter 0 was", "parameter 1 was"}},
	} {
		t.Run(name, func(t *testing.T) {
			other := resumed(c)
			test.change(&other)
			refused(t, other, append(test.reasons, c.Dir)...)
		})
	}

	// What does not change the result may change.
	other := resumed(c)
	other.Notes, other.Keep, other.SaveEvery, other.LogEvery = map[string]string{"why": "more disk"}, 9, 5, 7
	fit(t, other)
}

func TestDirectoryInUse(t *testing.T) {
	c := inDir(t, nil)
	interrupt(t, c, 3)
	open := learner(t, resumed(c))
	require.ErrorIs(t, refused(t, resumed(c), c.Dir), checkpoint.ErrLocked)
	require.ErrorIs(t, refused(t, c, c.Dir), checkpoint.ErrLocked)
	require.NoError(t, open.Close())
	fit(t, resumed(c))
}

// A failed resume must not keep the lock.
func TestRefusalReleasesTheLock(t *testing.T) {
	c := inDir(t, nil)
	interrupt(t, c, 3)
	for _, change := range []func(*train.Config){
		func(c *train.Config) { c.Batch = 8 },                                    // run.json says no
		func(c *train.Config) { c.Train = clusters(t, "clusters", samples, 99) }, // the checkpoint does
	} {
		other := resumed(c)
		change(&other)
		refused(t, other)
	}
	fit(t, resumed(c))
}

func TestNewRunOverAnOldOne(t *testing.T) {
	c := inDir(t, nil)
	fit(t, c)
	require.ErrorIs(t, refused(t, c, c.Dir), checkpoint.ErrExists)
}

func TestResumeWithoutARun(t *testing.T) {
	c := inDir(t, nil)
	require.ErrorIs(t, refused(t, resumed(c), c.Dir), checkpoint.ErrNoRun)
	assert.NoDirExists(t, c.Dir)
	require.NoError(t, os.Mkdir(c.Dir, 0o755))
	require.ErrorIs(t, refused(t, resumed(c), c.Dir), checkpoint.ErrNoRun)
	require.NoError(t, os.WriteFile(filepath.Join(c.Dir, "run.json"), []byte(`{"program":"another"}`), 0o644))
	refused(t, resumed(c), "run.json", "program")
	require.NoError(t, os.Remove(filepath.Join(c.Dir, "run.json")))
	fit(t, c) // an empty directory is a fine place for a new run
}

// A run killed before its first checkpoint stands at its beginning.
func TestResumeBeforeTheFirstCheckpoint(t *testing.T) {
	want, _ := reference(t, standard(t))
	c := inDir(t, nil)
	l := learner(t, c)
	for range 7 { // leaves lines in the metrics that are not from the run to come
		require.NoError(t, train.StepOf(l))
	}
	require.NoError(t, l.Close())
	require.NotEmpty(t, metrics(t, c.Dir))
	seen := &recorder{}
	c.Observer = seen
	fit(t, resumed(c))
	assert.Equal(t, []string{"the run has no checkpoint yet: starting from the beginning"}, seen.warnings)
	assert.Equal(t, want, outcomeOf(t, c.Dir))
}

// Settings behind pointers are described by what they point to, which another
// process can find again.
func TestResumeWithSettingsBehindPointers(t *testing.T) {
	c := inDir(t, nil)
	interrupt(t, c, 13)
	rule, lr := c.Optimizer.Rule.(optim.SGD), c.LR.(optim.Warmup)
	c.Optimizer.Rule, c.LR = &rule, &lr
	learner(t, resumed(c))
}

// Another instruction set goes on, with a warning that the bits will differ.
func TestResumeOnOtherKernels(t *testing.T) {
	c := inDir(t, nil)
	interrupt(t, c, 13)
	other, err := cpu.Open(cpu.Options{Threads: 1, ISA: "generic"})
	require.NoError(t, err)
	defer other.Close()
	if other.ISA() == newBackend(t, 1).ISA() {
		t.Skip("this processor has one instruction set")
	}
	r := &recorder{}
	c.Observer = r
	l, err := train.New(other, resumed(c))
	require.NoError(t, err)
	require.NoError(t, l.Close())
	require.Len(t, r.warnings, 1)
	assert.Contains(t, r.warnings[0], "goes on on cpu generic")
}
