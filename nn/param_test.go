package nn_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/ops/ref"
)

func TestDecays(t *testing.T) {
	for _, p := range build(t, ref.New(), smallModel(0)).Params() {
		assert.Equal(t, p.IsWeight(), p.Decays, p.Name)
	}
}

func TestHashIsStable(t *testing.T) {
	b := newCPU(t)
	m := build(t, b, smallModel(0.5))
	h := modelHash(t, b, m)
	assert.Equal(t, h, modelHash(t, b, m))
	assert.Equal(t, h, modelHash(t, b, build(t, b, smallModel(0.5))))
	assert.Len(t, h, 64)
	p := compile(t, b, m, 5, true)
	x, labels := samples(5)
	run(t, b, p, x, labels, 1)
	assert.Equal(t, h, modelHash(t, b, m), "a run changes no parameter")
}

// Every bit of every value counts, those of NaN and of zero among them.
func TestHashSeesEveryBit(t *testing.T) {
	b := newCPU(t)
	m := build(t, b, smallModel(0))
	h := modelHash(t, b, m)
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(m.Params()).Draw(t, "parameter")
		v := p.Value.Float32s()
		i := rapid.IntRange(0, len(v)-1).Draw(t, "value")
		bit := rapid.IntRange(0, 31).Draw(t, "bit")
		before := v[i]
		v[i] = math.Float32frombits(math.Float32bits(before) ^ 1<<bit)
		changed, err := nn.Hash(b, m.Params())
		require.NoError(t, err)
		require.NotEqual(t, h, changed)
		v[i] = before
		restored, err := nn.Hash(b, m.Params())
		require.NoError(t, err)
		require.Equal(t, h, restored)
	})
}

func TestHashSeesMoreThanValues(t *testing.T) {
	b := newCPU(t)
	config := func() *nn.Param {
		return build(t, b, nn.SparseLinearConfig{
			In: 4, Out: 1, Pattern: pattern(t, 1, 4, []int32{0, 1}, []int32{2}), NoBias: true,
		}).Params()[0]
	}
	base := config()
	h, err := nn.Hash(b, []*nn.Param{base})
	require.NoError(t, err)
	value := download(t, b, base.Value)
	for name, change := range map[string]func(p *nn.Param){
		"name":  func(p *nn.Param) { p.Name = "other" },
		"shape": func(p *nn.Param) { p.Shape = []int{4, 1} },
		"pattern": func(p *nn.Param) {
			require.NoError(t, p.Load(b, []int32{0, 1}, []int32{3}, value))
		},
		// A dense parameter whose bits are those of the pattern and the value.
		"density": func(p *nn.Param) {
			dense := build(t, b, nn.LinearConfig{In: 4, Out: 1, NoBias: true}).Params()[0]
			copy(dense.Value.Float32s(), []float32{0, math.Float32frombits(1), math.Float32frombits(2), value[0]})
			dense.Name = p.Name
			*p = *dense
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := config()
			change(p)
			changed, err := nn.Hash(b, []*nn.Param{p})
			require.NoError(t, err)
			assert.NotEqual(t, h, changed)
		})
	}
	_, err = nn.Hash(ref.New(), []*nn.Param{base})
	assertErrorSays(t, err, "weight") // a backend that cannot read the parameter
}

func TestLoadRoundTrip(t *testing.T) {
	b := newCPU(t)
	m := build(t, b, smallModel(0))
	other, err := smallModel(0).Init(nn.NewInit(b, 99))
	require.NoError(t, err)
	require.NotEqual(t, modelHash(t, b, m), modelHash(t, b, other))
	for i, p := range other.Params() {
		q := m.Params()[i]
		var rowPtr, colIdx []int32
		if q.Pattern != nil {
			rowPtr, colIdx = q.Pattern.RowPtr(), q.Pattern.ColIdx()
		}
		require.NoError(t, p.Load(b, rowPtr, colIdx, inOrder(t, b, q, q.Value)))
	}
	assert.Equal(t, modelHash(t, b, m), modelHash(t, b, other))

	// The copy is a copy.
	q := other.Params()[0]
	_, err = q.Pattern.Update([]int32{0}, nil)
	require.NoError(t, err)
	assert.False(t, q.Pattern.Equal(m.Params()[0].Pattern))
}

// A failed load leaves the parameter as it was: a new pattern over old values
// would be a model that nobody trained.
func TestLoadErrorsLeaveTheParameterAlone(t *testing.T) {
	b := newCPU(t)
	rowPtr, colIdx := []int32{0, 1, 3}, []int32{1, 0, 2}
	otherRowPtr, otherColIdx := []int32{0, 2, 3}, []int32{0, 2, 1}
	values := []float32{1, 2, 3}
	for name, tc := range map[string]struct {
		dense          bool
		backend        ops.Backend
		rowPtr, colIdx []int32
		values         []float32
		want           string
	}{
		"values too short":   {false, b, otherRowPtr, otherColIdx, values[:2], "transfer of 2 values"},
		"no values":          {false, b, otherRowPtr, otherColIdx, nil, "transfer of 0 values"},
		"another backend":    {false, ref.New(), otherRowPtr, otherColIdx, values, "float64"},
		"another nnz":        {false, b, []int32{0, 1, 2}, []int32{0, 2}, values, "nnz = 2, want 3"},
		"both another nnz":   {false, b, []int32{0, 1, 2}, []int32{0, 2}, values[:2], "2 values"},
		"no pattern":         {false, b, nil, nil, values, "row pointers"},
		"column out of rows": {false, b, otherRowPtr, []int32{0, 3, 1}, values, "column indices[1] = 3"},
		"unsorted":           {false, b, otherRowPtr, []int32{2, 0, 1}, values, "column indices[1]"},
		"dense: too short":   {true, b, nil, nil, values, "transfer of 3 values"},
		"dense: a pattern":   {true, b, rowPtr, colIdx, make([]float32, 6), "a pattern for a dense parameter"},
	} {
		t.Run(name, func(t *testing.T) {
			var config nn.Config = nn.LinearConfig{In: 3, Out: 2}
			if !tc.dense {
				config = nn.SparseLinearConfig{In: 3, Out: 2, Pattern: pattern(t, 2, 3, rowPtr, colIdx).Clone()}
			}
			m := build(t, b, nn.SequentialConfig{nn.Named("fc", config)})
			before := modelHash(t, b, m)
			err := m.Params()[0].Load(tc.backend, tc.rowPtr, tc.colIdx, tc.values)
			require.Error(t, err)
			assertErrorSays(t, err, "fc.weight", tc.want)
			assert.Equal(t, before, modelHash(t, b, m))
			if !tc.dense {
				assert.Zero(t, m.Params()[0].Pattern.Version(), "nobody has to refresh anything")
			}
		})
	}
}
