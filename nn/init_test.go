package nn_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/ops/ref"
	"github.com/rigel-ml/rigel/sparse"
)

// fanIns are the numbers of connections of the neurons of unevenPattern, which
// takes them in turn. A neuron without any is legal.
var fanIns = []int{1, 4, 0, 25, 200}

func unevenPattern(t testing.TB) *sparse.Pattern {
	const rows, cols = 5000, 200
	rowPtr := make([]int32, 1, rows+1)
	var colIdx []int32
	for r := range rows {
		for j := range fanIns[r%len(fanIns)] {
			colIdx = append(colIdx, int32(j))
		}
		rowPtr = append(rowPtr, int32(len(colIdx)))
	}
	return pattern(t, rows, cols, rowPtr, colIdx)
}

func TestInitFollowsTheFanInOfEachNeuron(t *testing.T) {
	for name, tc := range map[string]struct {
		weights nn.WeightInit
		bound   float64 // times 1/√fanIn
	}{
		"normal by default": {nil, math.Inf(1)},
		"normal":            {nn.KaimingNormal, math.Inf(1)},
		"uniform":           {nn.KaimingUniform, math.Sqrt(6)},
	} {
		t.Run(name, func(t *testing.T) {
			b, p := ref.New(), unevenPattern(t)
			params := build(t, b, nn.SparseLinearConfig{
				In: p.Cols(), Out: p.Rows(), Pattern: p, Weights: tc.weights,
			}).Params()
			w := params[0].Value.Float64s()
			for kind, fanIn := range fanIns {
				var n, sum, squares, largest float64
				for r := kind; r < p.Rows(); r += len(fanIns) {
					for _, v := range w[p.RowPtr()[r]:p.RowPtr()[r+1]] {
						n++
						sum += v
						squares += v * v
						largest = max(largest, math.Abs(v))
					}
				}
				if fanIn == 0 {
					assert.Zero(t, n)
					continue
				}
				// Six standard errors of a mean and of a variance of n normal
				// numbers: less than the 2 of a formula that forgets it.
				variance := 2 / float64(fanIn)
				assert.InDelta(t, 0, sum/n, 6*math.Sqrt(variance/n), "mean at fan-in %d", fanIn)
				assert.InDelta(t, variance, squares/n, 6*variance*math.Sqrt(2/n), "variance at fan-in %d", fanIn)
				assert.LessOrEqual(t, largest, tc.bound/math.Sqrt(float64(fanIn))*(1+1e-6))
			}
			assert.Equal(t, make([]float32, p.Rows()), download(t, b, params[1].Value), "biases start at 0")
		})
	}
}

// An initialization that writes down what it is told.
func TestWeightInitSeesTheFanIn(t *testing.T) {
	told := func(_ *rand.Rand, fanIn int, w []float32) {
		for i := range w {
			w[i] = float32(fanIn)
		}
	}
	for name, tc := range map[string]struct {
		config nn.Config
		want   []float32
	}{
		"sparse": {
			nn.SparseLinearConfig{In: 3, Out: 3, Weights: told, Pattern: pattern(t, 3, 3, []int32{0, 2, 2, 5}, []int32{0, 2, 0, 1, 2})},
			[]float32{2, 2, 3, 3, 3},
		},
		"dense": {nn.LinearConfig{In: 3, Out: 2, Weights: told}, []float32{3, 3, 3, 3, 3, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			b := ref.New()
			assert.Equal(t, tc.want, download(t, b, build(t, b, tc.config).Params()[0].Value))
		})
	}
}

func TestSparsityOfALayer(t *testing.T) {
	given := pattern(t, 4, 5, []int32{0, 1, 1, 2, 3}, []int32{4, 0, 2})
	for name, tc := range map[string]struct {
		config nn.SparseLinearConfig
		nnz    int
	}{
		"none of the three":         {nn.SparseLinearConfig{}, 20},
		"sparsity":                  {nn.SparseLinearConfig{Sparsity: 0.9}, 2},
		"sparsity rounds":           {nn.SparseLinearConfig{Sparsity: 0.78}, 4}, // 4.4
		"nnz before sparsity":       {nn.SparseLinearConfig{Sparsity: 0.9, NNZ: 7}, 7},
		"all of them":               {nn.SparseLinearConfig{NNZ: 20}, 20},
		"pattern before the others": {nn.SparseLinearConfig{Sparsity: 0.9, NNZ: 7, Pattern: given}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			tc.config.In, tc.config.Out = 5, 4
			params := build(t, ref.New(), tc.config).Params()
			assert.Equal(t, tc.nnz, params[0].NNZ())
			assert.Equal(t, tc.nnz, params[0].Pattern.NNZ())
			assert.EqualValues(t, 20, params[0].Size())
			// The bias is no matrix and does not count.
			assert.InDelta(t, 1-float64(tc.nnz)/20, nn.Sparsity(params), 1e-12)
		})
	}
	assert.Zero(t, nn.Sparsity(nil))
}

// Fault 28: the error says which layer, and what is possible.
func TestImpossibleSparsity(t *testing.T) {
	for name, tc := range map[string]struct {
		config nn.SparseLinearConfig
		want   []string
	}{
		"NaN":               {nn.SparseLinearConfig{Sparsity: math.NaN()}, []string{"sparsity NaN", "at least 0 and below 1"}},
		"negative":          {nn.SparseLinearConfig{Sparsity: -0.1}, []string{"sparsity -0.1", "at least 0 and below 1"}},
		"one":               {nn.SparseLinearConfig{Sparsity: 1}, []string{"sparsity 1", "at least 0 and below 1"}},
		"over one":          {nn.SparseLinearConfig{Sparsity: 90}, []string{"sparsity 90", "at least 0 and below 1"}},
		"leaves nothing":    {nn.SparseLinearConfig{Sparsity: 0.99}, []string{"leaves none of 20", "at most 0.95 leaves one"}},
		"negative nnz":      {nn.SparseLinearConfig{NNZ: -1}, []string{"-1 connections", "want 1 to 20"}},
		"too many":          {nn.SparseLinearConfig{NNZ: 21}, []string{"21 connections", "want 1 to 20"}},
		"pattern's rows":    {nn.SparseLinearConfig{Pattern: pattern(t, 1, 5, []int32{0, 1}, []int32{0})}, []string{"pattern of 1 × 5", "want 4 × 5"}},
		"pattern's columns": {nn.SparseLinearConfig{Pattern: pattern(t, 4, 1, []int32{0, 1, 1, 1, 1}, []int32{0})}, []string{"pattern of 4 × 1", "want 4 × 5"}},
		"empty pattern":     {nn.SparseLinearConfig{Pattern: pattern(t, 4, 5, make([]int32, 5), nil)}, []string{"0 connections", "at least one"}},
		"past int32 cells":  {nn.SparseLinearConfig{In: 1 << 20, Out: 1 << 20, Sparsity: 0.5}, []string{"nnz = 549755813888"}},
		"no features":       {nn.SparseLinearConfig{In: -5}, []string{"takes -5 features", "at least 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.config.In == 0 {
				tc.config.In, tc.config.Out = 5, 4
			}
			_, err := nn.SequentialConfig{nn.Named("fc1", tc.config)}.Init(nn.NewInit(ref.New(), 1))
			require.Error(t, err)
			assertErrorSays(t, err, append(tc.want, "fc1.weight")...)
		})
	}
}

// What the message above proposes must work, also for a layer so large that
// the proposal is close to 1.
func TestProposedSparsityWorks(t *testing.T) {
	c := nn.SparseLinearConfig{In: 4000, Out: 2000, Sparsity: 1 - 1e-9}
	_, err := c.Init(nn.NewInit(ref.New(), 1))
	require.ErrorContains(t, err, "at most 0.999999875 leaves one")
	c.Sparsity = 0.999999875
	assert.Equal(t, 1, build(t, ref.New(), c).Params()[0].NNZ())
}

// Fault 17: never a wrap.
func TestDenseLayerPastInt32(t *testing.T) {
	_, err := nn.LinearConfig{In: 1 << 16, Out: 1 << 16}.Init(nn.NewInit(ref.New(), 1))
	require.ErrorContains(t, err, "65536 × 65536 weights, want at most 2147483647")
}
