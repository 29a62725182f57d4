package train_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rigel-ml/rigel/checkpoint"
	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/train"
)

// fresh is a model that shares nothing with a trained one but its shapes.
func fresh(t *testing.T, c nn.Config) nn.Module {
	t.Helper()
	m, err := c.Init(nn.NewInit(newBackend(t, 1), 77))
	require.NoError(t, err)
	return m
}

// archiveOf is the archive of a model's parameters alone.
func archiveOf(t *testing.T, m nn.Module) *checkpoint.Archive {
	t.Helper()
	a := checkpoint.NewArchive()
	require.NoError(t, train.PutParams(a, newBackend(t, 1), m.Params()))
	return a
}

// What is served is what was trained: a model loaded from the checkpoint of a
// run, optimizer state and all, gives the very loss and accuracy.
func TestLoadedModelEvaluatesTheSame(t *testing.T) {
	c := inDir(t, nil)
	l, r := fit(t, c)
	b := newBackend(t, 2)
	loss, accuracy, err := train.Evaluate(b, l.Model(), nil, c.Valid)
	require.NoError(t, err)
	assert.Equal(t, r.Last.ValidLoss, loss)
	assert.Equal(t, r.Last.ValidAccuracy, accuracy)

	a, _, err := checkpoint.Load(r.Checkpoint)
	require.NoError(t, err)
	m := fresh(t, network())
	before, _, err := train.Evaluate(b, m, nil, c.Valid)
	require.NoError(t, err)
	require.NotEqual(t, loss, before)
	require.NoError(t, train.LoadParams(a, b, m.Params()))
	assert.Equal(t, hash(t, l.Model()), hash(t, m))
	again, accuracyAgain, err := train.Evaluate(b, m, nn.CrossEntropy{}, c.Valid)
	require.NoError(t, err)
	assert.Equal(t, loss, again)
	assert.Equal(t, accuracy, accuracyAgain)
}

// A Program that is compiled already follows, as it reads pattern and values
// in place.
func TestParamsRoundTrip(t *testing.T) {
	b, one, other := newBackend(t, 1), fresh(t, network()), learner(t, standard(t)).Model()
	require.NotEqual(t, hash(t, one), hash(t, other))
	require.NoError(t, train.LoadParams(archiveOf(t, one), b, other.Params()))
	assert.Equal(t, hash(t, one), hash(t, other))
}

func TestLoadParamsRefuses(t *testing.T) {
	b := newBackend(t, 1)
	values := func(n int) []float32 { return make([]float32, n) }
	for name, test := range map[string]struct {
		stored  nn.SequentialConfig                       // what the archive is made of
		fill    func(t *testing.T, a *checkpoint.Archive) // and then more
		reasons []string
	}{
		"missing": {network()[:4], nil, []string{`"5.weight": missing, want float32 [4 16]`, `"5.bias": missing`}},
		"empty":   {nil, nil, []string{`"0.weight": missing`, `"0.bias": missing`, `"3.weight": missing`, `"5.bias": missing`}},
		"shapes": {nn.SequentialConfig{
			nn.SparseLinearConfig{In: 19, Out: 32, Sparsity: 0.7}, nn.ReLUConfig{}, nn.ReLUConfig{},
			nn.SparseLinearConfig{In: 32, Out: 15, NNZ: 150}, nn.ReLUConfig{},
			nn.LinearConfig{In: 16, Out: classes},
		}, nil, []string{`"0.weight": is csr [32 19], want csr [32 20]`, `"3.weight": is csr [15 32]`, `"3.bias": is float32 [15], want float32 [16]`}},
		"dense for sparse": {nil, func(t *testing.T, a *checkpoint.Archive) {
			require.NoError(t, a.PutFloat32("0.weight", []int{32, 20}, values(640)))
		}, []string{`"0.weight": is float32 [32 20], want csr [32 20]`, `"0.bias": missing`}},
		"connections": {nn.SequentialConfig{
			nn.SparseLinearConfig{In: features, Out: 32, NNZ: 191}, nn.ReLUConfig{}, nn.ReLUConfig{},
			nn.SparseLinearConfig{In: 32, Out: 16, NNZ: 151}, nn.ReLUConfig{},
			nn.LinearConfig{In: 16, Out: classes},
		}, nil, []string{"0.weight has 191 non-zeros in the file, 192 in the model", "3.weight has 151 non-zeros in the file, 150 in the model"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := checkpoint.NewArchive()
			if test.stored != nil {
				a = archiveOf(t, fresh(t, test.stored))
			}
			if test.fill != nil {
				test.fill(t, a)
			}
			m := fresh(t, network())
			before := hash(t, m)
			err := train.LoadParams(a, b, m.Params())
			require.Error(t, err)
			for _, reason := range test.reasons {
				assert.ErrorContains(t, err, reason)
			}
			assert.Equal(t, before, hash(t, m), "half a model was loaded")
		})
	}
}

func TestPutParamsRefusesWhatIsNotFinite(t *testing.T) {
	b := newBackend(t, 1)
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for i, p := range fresh(t, network()).Params() {
			m := fresh(t, network())
			values := make([]float32, p.NNZ())
			values[2] = float32(v)
			broken := m.Params()[i]
			require.NoError(t, ops.SetValues(b, broken.Pattern, broken.Value, values))
			err := train.PutParams(checkpoint.NewArchive(), b, m.Params())
			require.ErrorIs(t, err, train.ErrNotFinite)
			require.ErrorContains(t, err, "weight 2 of "+p.Name)
		}
	}
}

func TestPutParamsTwice(t *testing.T) {
	m := fresh(t, network())
	require.ErrorIs(t, train.PutParams(archiveOf(t, m), newBackend(t, 1), m.Params()), checkpoint.ErrDuplicate)
}
