package optim_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/ops/ref"
	"github.com/rigel-ml/rigel/optim"
)

// The gradients (3, 0) and (4) have a norm of 5 together.
func TestClipping(t *testing.T) {
	for name, tc := range map[string]struct {
		limit float64
		want  [3]float32 // after w ← w - clipped gradient, from 10
	}{
		"no limit":  {0, [3]float32{7, 10, 6}},
		"under it":  {10, [3]float32{7, 10, 6}},
		"right at":  {5, [3]float32{7, 10, 6}},
		"over it":   {2.5, [3]float32{8.5, 10, 8}}, // halved
		"far above": {0.3125, [3]float32{9.8125, 10, 9.75}},
	} {
		for device, b := range backends(t) {
			t.Run(name+"/"+device, func(t *testing.T) {
				w, c := weight(t, b, 10, 10), bias(t, b, 10)
				o, err := optim.New(b, optim.Config{Rule: optim.SGD{}, ClipNorm: tc.limit}, []*nn.Param{w, c})
				require.NoError(t, err)
				gradients := []*tensor.Dense{upload(t, b, 3, 0), upload(t, b, 4)}
				norm, err := o.Norm(gradients)
				require.NoError(t, err)
				assert.InDelta(t, 5, norm, 1e-6)
				require.NoError(t, o.Step(gradients, 1))
				got := append(download(t, b, w.Value), download(t, b, c.Value)...)
				assert.InDeltaSlice(t, tc.want[:], got, 1e-6)
				assert.Equal(t, []float32{3, 0}, download(t, b, gradients[0]), "gradients are only read")
			})
		}
	}
}

// For every rule, and for its state, a clipped gradient is a smaller gradient.
func TestClippingScalesTheGradient(t *testing.T) {
	for name, rule := range rules() {
		t.Run(name, func(t *testing.T) {
			b := ref.New()
			clipped, scaled := weight(t, b, 1, -1), weight(t, b, 1, -1)
			o, err := optim.New(b, optim.Config{Rule: rule, ClipNorm: 2.5}, []*nn.Param{clipped})
			require.NoError(t, err)
			twin := newOptimizer(t, b, rule, scaled)
			for _, g := range []struct{ long, short []float32 }{
				{[]float32{1, -2}, []float32{1, -2}}, // short enough
				{[]float32{3, 4}, []float32{1.5, 2}},
				{[]float32{-40, 30}, []float32{-2, 1.5}},
			} {
				require.NoError(t, o.Step([]*tensor.Dense{upload(t, b, g.long...)}, 0.5))
				require.NoError(t, twin.Step([]*tensor.Dense{upload(t, b, g.short...)}, 0.5))
			}
			assert.InDeltaSlice(t, scaled.Value.Float64s(), clipped.Value.Float64s(), 1e-6)
			for i, s := range twin.States() {
				assert.InDeltaSlice(t, s.Value.Float64s(), o.States()[i].Value.Float64s(), 1e-6, s.Name)
			}
		})
	}
}

// Clipping acts on the gradient alone, before decay is added.
func TestClippingLeavesDecayAlone(t *testing.T) {
	b := ref.New()
	w := weight(t, b, 8)
	o, err := optim.New(b, optim.Config{Rule: optim.SGD{WeightDecay: 0.25}, ClipNorm: 1}, []*nn.Param{w})
	require.NoError(t, err)
	require.NoError(t, o.Step([]*tensor.Dense{upload(t, b, 16)}, 0.5))
	assert.Equal(t, []float32{6.5}, download(t, b, w.Value)) // 8 - ½(16/16 + ¼·8)
}

func TestStepErrors(t *testing.T) {
	b := newCPU(t)
	w, c := weight(t, b, 1, 2), bias(t, b, 3)
	for _, limit := range []float64{0, 1} {
		o, err := optim.New(b, optim.Config{Rule: optim.Adam{}, ClipNorm: limit}, []*nn.Param{w, c})
		require.NoError(t, err)
		good := upload(t, b, 1, 1)
		for name, tc := range map[string]struct {
			gradients []*tensor.Dense
			want      string
		}{
			"too few":      {[]*tensor.Dense{good}, "1 gradients for 2 parameters"},
			"none":         {nil, "0 gradients for 2 parameters"},
			"too many":     {[]*tensor.Dense{good, good, good}, "3 gradients for 2 parameters"},
			"wrong length": {[]*tensor.Dense{good, good}, "bias: operand does not fit"},
			"nil":          {[]*tensor.Dense{good, nil}, "bias: operand does not fit"},
		} {
			t.Run(fmt.Sprint(name, "/clip=", limit), func(t *testing.T) {
				require.ErrorContains(t, o.Step(tc.gradients, 0.5), tc.want)
				_, err := o.Norm(tc.gradients)
				require.ErrorContains(t, err, tc.want)
				assert.Equal(t, []float32{1, 2}, download(t, b, w.Value), "no parameter moves without the others")
				assert.Zero(t, o.Steps())
			})
		}
	}
}

// State is one number for each stored weight and name, whatever the size of
// the matrix.
func TestStateSize(t *testing.T) {
	b := newCPU(t)
	for name, rule := range rules() {
		t.Run(name, func(t *testing.T) {
			s, c := sparseWeight(t, b, 300, 200, 17), bias(t, b, 1, 2, 3)
			o := newOptimizer(t, b, rule, s, c)
			assert.EqualValues(t, 4*(17+3)*len(rule.State()), o.Bytes())
			states := o.States()
			require.Len(t, states, 2*len(rule.State()))
			for i, st := range states {
				param := []*nn.Param{s, c}[i/len(rule.State())]
				assert.Same(t, param, st.Param)
				assert.Equal(t, rule.State()[i%len(rule.State())], st.Name)
				assert.Equal(t, make([]float32, param.NNZ()), download(t, b, st.Value), "fresh state is zero")
			}
		})
	}
	assert.Equal(t, []string{"velocity"}, optim.SGD{Momentum: 0.5}.State())
	assert.Empty(t, optim.SGD{}.State())
	assert.Equal(t, []string{"moment1", "moment2"}, optim.AdamW{}.State())
}

// byCell maps the cells of a sparse parameter to an array of its values.
func byCell(t testing.TB, b ops.Backend, p *nn.Param, d *tensor.Dense) map[int64]float32 {
	t.Helper()
	values, cells := download(t, b, d), p.Pattern.AppendCells(nil)
	m := make(map[int64]float32, len(cells))
	for i, c := range cells {
		m[c] = values[i]
	}
	return m
}

// The test knows no rule: state is moved and compared by what States returns.
func TestMoveState(t *testing.T) {
	b := newCPU(t)
	for name, rule := range rules() {
		t.Run(name, func(t *testing.T) {
			s, c := sparseWeight(t, b, 8, 9, 20), bias(t, b, 1, 2)
			o := newOptimizer(t, b, rule, c, s)
			rng := rand.New(rand.NewPCG(9, 9))
			for range 3 {
				require.NoError(t, o.Step(randomGradients(t, b, rng, c, s), 0.1))
			}
			var before []map[int64]float32
			var others [][]float32
			for _, st := range o.States() {
				if st.Param == s {
					before = append(before, byCell(t, b, s, st.Value))
				} else {
					others = append(others, download(t, b, st.Value))
				}
			}

			drop := []int32{0, 7, 8, 19}
			cells := s.Pattern.AppendCells(nil)
			back := cells[7] // dropped and grown at once: it never left
			grow := []int64{back}
			for cell := int64(0); len(grow) < len(drop); cell += 5 {
				if !slices.Contains(cells, cell) {
					grow = append(grow, cell)
				}
			}
			slices.Sort(grow)
			d, err := s.Pattern.Update(drop, grow)
			require.NoError(t, err)
			require.Equal(t, 3, d.Grown)
			require.NoError(t, o.MoveState(s, d))

			moved, untouched := 0, 0
			for _, st := range o.States() {
				if st.Param != s {
					assert.Equal(t, others[untouched], download(t, b, st.Value), "other parameters stay")
					untouched++
					continue
				}
				for cell, v := range byCell(t, b, s, st.Value) {
					// The map answers 0 for what was not there.
					assert.Equal(t, before[moved][cell], v, "%s of cell %d", st.Name, cell)
					if slices.Contains(cells, cell) {
						assert.NotZero(t, v)
					}
				}
				moved++
			}
			assert.Equal(t, len(rule.State()), moved)
			require.NoError(t, o.Step(randomGradients(t, b, rng, c, s), 0.1))

			stranger := sparseWeight(t, b, 8, 9, 20)
			require.ErrorContains(t, o.MoveState(stranger, d), "sparse is not one of the optimizer's parameters")
		})
	}
}

func TestStepDoesNotAllocate(t *testing.T) {
	b := newCPU(t)
	for name, rule := range rules() {
		for _, limit := range []float64{0, 0.5} {
			params := []*nn.Param{sparseWeight(t, b, 300, 300, 9000), bias(t, b, 1, 2, 3)}
			o, err := optim.New(b, optim.Config{Rule: rule, ClipNorm: limit}, params)
			require.NoError(t, err)
			gradients := randomGradients(t, b, rand.New(rand.NewPCG(1, 1)), params...)
			assert.Zero(t, testing.AllocsPerRun(20, func() {
				if o.Step(gradients, 0.01) != nil {
					t.Error("a step failed")
				}
			}), "%s, clip %v", name, limit)
		}
	}
}
