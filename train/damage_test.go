package train_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rigel-ml/rigel/checkpoint"
	"github.com/rigel-ml/rigel/train"
)

// flip changes one bit in the middle of a file.
func flip(t *testing.T, path string) {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	content[len(content)/2] ^= 4
	require.NoError(t, os.WriteFile(path, content, 0o644))
}

func TestDamagedCheckpoints(t *testing.T) {
	often := func(c *train.Config) { c.SaveEvery = 4 } // 16, 20, 24 and then 26
	want, _ := reference(t, inDir(t, often))
	for name, damage := range map[string]func(t *testing.T, path string){
		"a flipped bit": flip,
		"cut off":       func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, 5000)) },
		"empty":         func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, 0)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for bad := 1; bad <= 2; bad++ {
				c := inDir(t, often)
				interrupt(t, c, 26)
				paths := checkpoints(t, c.Dir)
				require.Len(t, paths, 3)
				for _, path := range paths[len(paths)-bad:] {
					damage(t, path)
				}
				seen := &recorder{}
				c.Observer = seen
				fit(t, resumed(c))
				require.Len(t, seen.warnings, bad)
				for i, warning := range seen.warnings {
					assert.Contains(t, warning, paths[len(paths)-1-i])
				}
				assert.Equal(t, []int{24, 20}[bad-1], seen.begins[0].Step)
				assert.Equal(t, want, outcomeOf(t, c.Dir))
				assert.FileExists(t, paths[len(paths)-1]+".stale", "for a person to look at")
			}
		})
	}
}

// With no sound checkpoint left, going on would mean to begin anew and throw the
// metrics away. That is for the user to say.
func TestAllCheckpointsDamaged(t *testing.T) {
	c := inDir(t, nil)
	interrupt(t, c, 26)
	for _, path := range checkpoints(t, c.Dir) {
		flip(t, path)
	}
	seen := &recorder{}
	c.Observer = seen
	err := refused(t, resumed(c), c.Dir)
	require.ErrorIs(t, err, checkpoint.ErrNoCheckpoint)
	require.Len(t, seen.warnings, 3)
	for i, path := range checkpoints(t, c.Dir) {
		assert.Contains(t, seen.warnings[2-i], path)
	}
}

// put adds a checkpoint to a run as another program might.
func put(t *testing.T, dir string, step int64, fill func(a *checkpoint.Archive)) {
	t.Helper()
	d, err := checkpoint.Open(dir, checkpoint.Options{})
	require.NoError(t, err)
	defer d.Close()
	a := checkpoint.NewArchive()
	fill(a)
	_, err = d.Save(step, a, 0.5)
	require.NoError(t, err)
}

func TestForeignCheckpoint(t *testing.T) {
	c := inDir(t, nil)
	l := learner(t, c)
	require.NoError(t, l.Close())
	put(t, c.Dir, 14, func(a *checkpoint.Archive) {
		require.NoError(t, a.PutFloat32("0.bias", []int{31}, make([]float32, 31)))
		require.NoError(t, a.PutInt64("global_step", []int{1}, []int64{14}))
	})
	err := refused(t, resumed(c), filepath.Join(c.Dir, "checkpoints", "step-000000014.safetensors"),
		`"0.bias": is float32 [31], want float32 [32]`, `"0.weight": missing, want csr [32 20]`, `"global_step": extra`,
		`"optimizer.0.weight.velocity": missing`)
	require.ErrorIs(t, err, checkpoint.ErrMismatch)
}

// A model without an optimizer and a position is no run to go on with.
func TestCheckpointOfWeightsAlone(t *testing.T) {
	c := inDir(t, nil)
	l := learner(t, c)
	require.NoError(t, l.Close())
	put(t, c.Dir, 14, func(a *checkpoint.Archive) {
		require.NoError(t, train.PutParams(a, newBackend(t, 1), l.Model().Params()))
	})
	refused(t, resumed(c), `"optimizer.0.bias.velocity": missing`)
}

// When checkpoints cannot be written, Fit says so; what was there remains, and
// once the disk is well again the same Learner goes on, or a new one.
func TestFailingDisk(t *testing.T) {
	want, _ := reference(t, standard(t))
	for _, failing := range []int{12, 20, 40} { // in an epoch, at its end, at the end of all
		for _, anew := range []bool{false, true} {
			c := inDir(t, nil)
			folder := filepath.Join(c.Dir, "checkpoints")
			seen := &recorder{onStep: func(s train.Step) {
				if s.Step == failing {
					require.NoError(t, os.Rename(folder, folder+".away"))
					require.NoError(t, os.WriteFile(folder, nil, 0o644))
				}
			}}
			c.Observer = seen
			l := learner(t, c)
			for range 2 { // trying again does not help yet, nor does it harm
				_, err := l.Fit(context.Background())
				require.ErrorContains(t, err, folder)
				require.NotErrorIs(t, err, train.ErrInterrupted)
			}
			require.NoError(t, os.Remove(folder))
			require.NoError(t, os.Rename(folder+".away", folder))
			assert.EqualValues(t, (failing-1)/steps*steps, requireSound(t, c.Dir))

			seen.onStep = nil
			if anew {
				require.NoError(t, l.Close())
				l = learner(t, resumed(c))
			}
			r, err := l.Fit(context.Background())
			require.NoError(t, err)
			assert.FileExists(t, r.Checkpoint)
			require.NoError(t, l.Close())
			assert.Equal(t, want, outcomeOf(t, c.Dir), "failing at step %d", failing)
		}
	}
}

func TestDirectoryThatCannotBe(t *testing.T) {
	c := inDir(t, nil)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, []byte("something else"), 0o644))
	for _, dir := range []string{file, filepath.Join(file, "run")} {
		c.Dir = dir
		_, err := train.New(newBackend(t, 1), c)
		require.ErrorContains(t, err, dir)
	}
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "something else", string(content))
}
