package sparse_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rigel-ml/rigel/sparse"
)

// bits compares values as they are stored, so that NaN equals itself and the
// two zeros differ.
func bits(values []float32) []uint32 {
	b := make([]uint32, len(values))
	for i, v := range values {
		b[i] = math.Float32bits(v)
	}
	return b
}

func drawCSR(t *rapid.T) *sparse.CSR[float32] {
	p := drawPattern(t)
	special := []float32{0, float32(math.Copysign(0, -1)), float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}
	value := rapid.OneOf(rapid.Float32(), rapid.SampledFrom(special))
	m, err := sparse.NewCSR(p, rapid.SliceOfN(value, p.NNZ(), p.NNZ()).Draw(t, "values"))
	require.NoError(t, err)
	return m
}

func requireSame(t require.TestingT, want, got *sparse.CSR[float32]) {
	require.True(t, want.Pattern.Equal(got.Pattern), "patterns differ")
	require.Equal(t, bits(want.Values), bits(got.Values))
}

func TestRoundTripCOO(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawCSR(t)
		back, err := m.COO().CSR()
		require.NoError(t, err)
		requireSame(t, m, back)
	})
}

func TestRoundTripShuffledCOO(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawCSR(t)
		c := m.COO()
		order := make([]int, m.NNZ())
		for i := range order {
			order[i] = i
		}
		shuffled := *c
		shuffled.Row, shuffled.Col, shuffled.Values = nil, nil, nil
		for _, p := range rapid.Permutation(order).Draw(t, "order") {
			shuffled.Row = append(shuffled.Row, c.Row[p])
			shuffled.Col = append(shuffled.Col, c.Col[p])
			shuffled.Values = append(shuffled.Values, c.Values[p])
		}
		if !shuffled.IsCanonical() {
			_, err := shuffled.CSR()
			require.ErrorIs(t, err, sparse.ErrNotCanonical)
		}
		shuffled.Canonicalize()
		back, err := shuffled.CSR()
		require.NoError(t, err)
		requireSame(t, m, back)
	})
}

func TestRoundTripCSC(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawCSR(t)
		c := m.CSC()
		checked, err := sparse.NewCSC(c.Rows, c.Cols, c.ColPtr, c.RowIdx, c.Values)
		require.NoError(t, err)
		requireSame(t, m, checked.CSR())
	})
}

func TestRoundTripDense(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawCSR(t)
		dense := m.Dense()
		back, err := sparse.FromDense(m.Rows(), m.Cols(), dense)
		require.NoError(t, err)
		// Stored zeros are lost on the way through dense, everything else stays.
		require.Equal(t, bits(dense), bits(withNegativeZeros(back.Dense(), dense)))
		require.LessOrEqual(t, back.NNZ(), m.NNZ())
		require.False(t, slices.Contains(back.Values, 0))
	})
}

// withNegativeZeros restores the sign of zeros, the one thing a dense round
// trip does not keep.
func withNegativeZeros(got, want []float32) []float32 {
	for i := range got {
		if got[i] == 0 && want[i] == 0 {
			got[i] = want[i]
		}
	}
	return got
}

func TestCanonicalCSR(t *testing.T) {
	m, err := sparse.CanonicalCSR(2, 3, []int32{0, 4, 4}, []int32{2, 0, 2, 1}, []float64{1, 2, 4, 8})
	require.NoError(t, err)
	assert.Equal(t, []int32{0, 3, 3}, m.RowPtr())
	assert.Equal(t, []int32{0, 1, 2}, m.ColIdx())
	assert.Equal(t, []float64{2, 8, 5}, m.Values)

	_, err = sparse.CanonicalCSR(1, 3, []int32{0, 1}, []int32{3}, []float64{1})
	require.ErrorIs(t, err, sparse.ErrInvalid, "out of range cannot be mended")
}

func TestFormatsReject(t *testing.T) {
	p, err := sparse.FullPattern(1, 2)
	require.NoError(t, err)
	one := []float32{1}
	for name, f := range map[string]func() error{
		"csr: nil pattern":        func() error { _, err := sparse.NewCSR[float32](nil, nil); return err },
		"csr: value count":        func() error { _, err := sparse.NewCSR(p, one); return err },
		"coo: lengths":            func() error { _, err := sparse.NewCOO(1, 1, []int32{0}, nil, one); return err },
		"coo: row":                func() error { _, err := sparse.NewCOO(1, 1, []int32{1}, []int32{0}, one); return err },
		"coo: column":             func() error { _, err := sparse.NewCOO(1, 1, []int32{0}, []int32{-1}, one); return err },
		"csc: value count":        func() error { _, err := sparse.NewCSC(1, 1, []int32{0, 1}, []int32{0}, []float32{}); return err },
		"csc: pointers":           func() error { _, err := sparse.NewCSC(1, 1, []int32{0, 2}, []int32{0}, one); return err },
		"csc: row":                func() error { _, err := sparse.NewCSC(1, 1, []int32{0, 1}, []int32{1}, one); return err },
		"dense: length":           func() error { _, err := sparse.FromDense(2, 2, one); return err },
		"move: length":            func() error { _, err := sparse.Move(&sparse.Delta{OldNNZ: 2}, one); return err },
		"sample: more than there": func() error { _, err := sparse.Sample(2, 3, nil); return err },
	} {
		t.Run(name, func(t *testing.T) { require.ErrorIs(t, f(), sparse.ErrInvalid) })
	}
}
