package optim_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/ops/ref"
	"github.com/rigel-ml/rigel/optim"
)

// Being sparse changes nothing but what is stored: a layer with every
// connection trains as a dense one. The backend is ref, which adds up in one
// order for both; others may differ in the last bit.
func TestFullSparseTrainsAsDense(t *testing.T) {
	for name, rule := range rules() {
		t.Run(name, func(t *testing.T) {
			dense := newTrainingRun(t, ref.New(), rule, nn.LinearConfig{In: 5, Out: 7})
			sparse := newTrainingRun(t, ref.New(), rule, nn.SparseLinearConfig{In: 5, Out: 7})
			before := dense.bits(t)
			require.Equal(t, before, sparse.bits(t))
			dense.steps(t, 0, 12)
			sparse.steps(t, 0, 12)
			for i, p := range dense.model.Params() {
				q := sparse.model.Params()[i]
				assert.Equal(t, p.Value.Float64s(), q.Value.Float64s(), p.Name)
			}
			assert.Equal(t, dense.bits(t), sparse.bits(t))
			assert.NotEqual(t, before, dense.bits(t))
		})
	}
}

func TestTrainingLowersTheLoss(t *testing.T) {
	for name, rule := range rules() {
		t.Run(name, func(t *testing.T) {
			b := newCPU(t)
			r := newTrainingRun(t, b, rule, nn.SparseLinearConfig{In: 5, Out: 7, Sparsity: 0.4})
			r.steps(t, 0, 1)
			first := r.program.Loss()
			for range 60 {
				r.steps(t, 0, 1) // the same batch, to learn it by heart
			}
			assert.Less(t, r.program.Loss(), 0.95*first)
		})
	}
}

// Copying States and Steps into a fresh optimizer is all that a checkpoint has
// to do.
func TestRestoredOptimizerContinues(t *testing.T) {
	const half, end = 6, 13
	layer := nn.SparseLinearConfig{In: 5, Out: 7, Sparsity: 0.4}
	for name, rule := range rules() {
		t.Run(name, func(t *testing.T) {
			b := newCPU(t)
			whole := newTrainingRun(t, b, rule, layer)
			whole.steps(t, 0, half)

			resumed := newTrainingRun(t, b, rule, layer)
			for i, p := range whole.model.Params() {
				require.NoError(t, b.Upload(resumed.model.Params()[i].Value, download(t, b, p.Value)))
			}
			states := resumed.optimizer.States()
			for i, s := range whole.optimizer.States() {
				require.Equal(t, s.Param.Name, states[i].Param.Name)
				require.Equal(t, s.Name, states[i].Name)
				require.NoError(t, b.Upload(states[i].Value, download(t, b, s.Value)))
			}
			resumed.optimizer.SetSteps(whole.optimizer.Steps())

			whole.steps(t, half, end)
			resumed.steps(t, half, end)
			assert.Equal(t, whole.bits(t), resumed.bits(t))
			assert.Equal(t, end, resumed.optimizer.Steps())
		})
	}
}

// Rules answer to the names that configurations and checkpoints use.
func TestRuleNames(t *testing.T) {
	for want, rule := range map[string]optim.Rule{"sgd": optim.SGD{}, "adam": optim.Adam{}, "adamw": optim.AdamW{}} {
		assert.Equal(t, want, rule.Name())
	}
}
