package nn_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/ops/ref"
)

func TestNames(t *testing.T) {
	layer := nn.LinearConfig{In: 2, Out: 2}
	for name, tc := range map[string]struct {
		config nn.Config
		want   []string
	}{
		"a layer by itself": {layer, []string{"weight", "bias"}},
		"numbers count every module": {
			nn.SequentialConfig{layer, nn.ReLUConfig{}, layer},
			[]string{"0.weight", "0.bias", "2.weight", "2.bias"},
		},
		"named beside numbers": {
			nn.SequentialConfig{nn.Named("in", layer), layer, nn.Named("out", layer)},
			[]string{"in.weight", "in.bias", "1.weight", "1.bias", "out.weight", "out.bias"},
		},
		"nested": {
			nn.SequentialConfig{layer, nn.Named("block", nn.SequentialConfig{layer, nn.Named("fc", layer)})},
			[]string{"0.weight", "0.bias", "block.0.weight", "block.0.bias", "block.fc.weight", "block.fc.bias"},
		},
		"without a bias": {
			nn.SequentialConfig{
				nn.LinearConfig{In: 2, Out: 2, NoBias: true},
				nn.SparseLinearConfig{In: 2, Out: 2, NoBias: true},
			},
			[]string{"0.weight", "1.weight"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, names(build(t, ref.New(), tc.config)))
		})
	}
}

// Two layers of one name would be one entry of a checkpoint, and two dropouts
// of one name would draw the same masks.
func TestDuplicateNamesAreRefused(t *testing.T) {
	layer, dropout := nn.LinearConfig{In: 2, Out: 2}, nn.DropoutConfig{P: 0.5}
	for name, tc := range map[string]struct {
		config nn.SequentialConfig
		want   string
	}{
		"layers":              {nn.SequentialConfig{nn.Named("fc", layer), nn.Named("fc", layer)}, "fc.weight"},
		"a name and a number": {nn.SequentialConfig{nn.Named("1", layer), layer}, "1.weight"},
		"across levels": {
			nn.SequentialConfig{nn.Named("a.0", layer), nn.Named("a", nn.SequentialConfig{layer})}, "a.0.weight",
		},
		"dropout": {nn.SequentialConfig{nn.Named("drop", dropout), nn.Named("drop", dropout)}, "drop.dropout"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tc.config.Init(nn.NewInit(ref.New(), 1))
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestBadSequences(t *testing.T) {
	for name, tc := range map[string]struct {
		config nn.Config
		want   string
	}{
		"empty":                {nn.SequentialConfig{}, "empty sequence"},
		"nil":                  {nn.SequentialConfig{nn.ReLUConfig{}, nil}, "1 is nil"},
		"named nil":            {nn.SequentialConfig{nn.Named("fc", nil)}, "fc is nil"},
		"a bad layer is named": {nn.SequentialConfig{nn.Named("fc", nn.LinearConfig{In: 3})}, "fc.linear takes 3 features and gives 0"},
		"dropout of 1":         {nn.SequentialConfig{nn.DropoutConfig{P: 1}}, "0.dropout: p = 1"},
		"negative dropout":     {nn.SequentialConfig{nn.DropoutConfig{P: -0.1}}, "0.dropout: p = -0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tc.config.Init(nn.NewInit(ref.New(), 1))
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestSeeds(t *testing.T) {
	b := newCPU(t)
	at := func(seed uint64) string {
		m, err := smallModel(0.5).Init(nn.NewInit(b, seed))
		require.NoError(t, err)
		return modelHash(t, b, m)
	}
	assert.Equal(t, at(7), at(7))
	assert.NotEqual(t, at(7), at(8))
}

// A layer draws from its own name, so the layers around it may come and go.
func TestInitDoesNotDependOnOtherLayers(t *testing.T) {
	b := newCPU(t)
	layer := nn.Named("fc", nn.SparseLinearConfig{In: 8, Out: 8, Sparsity: 0.5})
	alone := build(t, b, nn.SequentialConfig{layer}).Params()[0]
	among := build(t, b, nn.SequentialConfig{
		nn.SparseLinearConfig{In: 8, Out: 8, Sparsity: 0.5}, nn.DropoutConfig{P: 0.1}, layer,
	}).Params()
	first, last := among[0], among[2]

	require.Equal(t, "fc.weight", last.Name)
	assert.True(t, alone.Pattern.Equal(last.Pattern))
	assert.Equal(t, download(t, b, alone.Value), download(t, b, last.Value))
	assert.False(t, first.Pattern.Equal(last.Pattern), "layers of one shape draw differently")
	assert.NotEqual(t, download(t, b, first.Value), download(t, b, last.Value))
}
