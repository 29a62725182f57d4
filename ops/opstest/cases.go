// Package opstest is the suite that every backend passes: each operation over a
// ladder of hard shapes, against the float64 references of ops/ref, with
// outputs poisoned and memory around the operands guarded.
//
// A backend's own test is three lines:
//
//	func TestConformance(t *testing.T) { opstest.Conformance(t, cpu.New()) }
package opstest

import (
	"fmt"
	"math/rand/v2"

	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/sparse"
)

// Case is a problem with a name for the test log.
type Case struct {
	Name string
	Spec ops.Spec
}

// shape is a layer and a batch: the sizes that the ladder climbs over. They are
// 0 and 1, primes, one over a row block or a panel, and a real layer.
type shape struct{ out, in, batch int }

var ladder = []shape{
	{0, 5, 3}, {5, 0, 3}, {1, 1, 1}, {1, 7, 8}, {7, 1, 9}, {3, 5, 16}, {13, 17, 31}, {33, 64, 33}, {32, 31, 64},
	{65, 129, 65}, {37, 41, 127}, {10, 100, 128}, {100, 300, 129},
}

// densities are nnz over cells; the last is a full pattern.
var densities = []float64{0, 0.02, 0.3, 1}

// activations are all that can follow a product.
var activations = []ops.Activation{
	{}, {Bias: true}, {ReLU: true}, {Bias: true, ReLU: true},
	{Residual: true}, {Bias: true, Residual: true}, {Residual: true, ReLU: true}, {Bias: true, Residual: true, ReLU: true},
}

// Cases returns the ladder for an operation.
func Cases(op ops.Op) []Case {
	var cases []Case
	add := func(name string, s ops.Spec) {
		if s.Op() == op {
			cases = append(cases, Case{name, s})
		}
	}
	for _, s := range ladder {
		panels, err := ops.NewPanels(s.batch)
		if err != nil {
			panic(err) // the ladder is wrong
		}
		for _, density := range densities {
			p := Pattern(s.out, s.in, density)
			name := fmt.Sprintf("%dx%dx%d/%.2f", s.out, s.in, s.batch, density)
			add(name, ops.SpMM{Pattern: p, Panels: panels})
			add(name, ops.SpMMT{Pattern: p, Panels: panels})
			add(name, ops.SDDMM{Pattern: p, Panels: panels})
			add(name, ops.SpMMTGate{Pattern: p, Panels: panels})
			for _, a := range activations {
				add(fmt.Sprintf("%s/%+v", name, a), ops.SpMMAct{SparseProblem: ops.SparseProblem{Pattern: p, Panels: panels}, Activation: a})
			}
		}
		dense := ops.DenseProblem{Out: s.out, In: s.in, Panels: panels}
		layer := ops.LayerProblem{Features: s.in, Panels: panels}
		name := fmt.Sprintf("%dx%dx%d", s.out, s.in, s.batch)
		add(name, ops.Linear(dense))
		add(name, ops.LinearT(dense))
		add(name, ops.LinearGrad(dense))
		add(name, ops.LinearTGate(dense))
		for _, a := range activations {
			add(fmt.Sprintf("%s/%+v", name, a), ops.LinearAct{DenseProblem: dense, Activation: a})
		}
		add(name, ops.BiasAdd(layer))
		add(name, ops.BiasGrad(layer))
		add(name, ops.ReLU(layer))
		add(name, ops.ReLUGrad(layer))
		add(name, ops.Pack(layer))
		add(name, ops.Unpack(layer))
		for _, p := range []float64{0, 0.1, 0.9} {
			add(fmt.Sprintf("%s/p%.1f", name, p), ops.Dropout{LayerProblem: layer, P: p, Stream: &ops.Stream{Key: 3, Step: 5}})
		}
		if s.in > 0 {
			add(name, ops.CrossEntropy(layer))
			add(name, ops.CrossEntropyGrad(layer))
		}
	}
	for _, n := range []int{0, 1, 7, 4095, 4096, 4097, 10_007} {
		name := fmt.Sprint(n)
		add(name, ops.SumSquares{N: n})
		add(name, ops.SGD{N: n, Hyper: &ops.SGDHyper{LR: 0.1, WeightDecay: 0.01, GradScale: 0.5}})
		for _, nesterov := range []bool{false, true} {
			add(fmt.Sprintf("%s/nesterov=%t", name, nesterov), ops.Momentum{N: n, Hyper: &ops.SGDHyper{
				LR: 0.1, Momentum: 0.9, WeightDecay: 0.01, GradScale: 0.5, Nesterov: nesterov}})
		}
		for _, decoupled := range []bool{false, true} {
			add(fmt.Sprintf("%s/decoupled=%t", name, decoupled), ops.Adam{N: n, Hyper: &ops.AdamHyper{
				LR: 0.01, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, WeightDecay: 0.1, GradScale: 0.5, Decoupled: decoupled, Step: 3}})
		}
	}
	return cases
}

// Pattern returns a random pattern of about this density, the same one each
// time.
func Pattern(rows, cols int, density float64) *sparse.Pattern {
	rng := rand.New(rand.NewPCG(uint64(rows), uint64(cols)))
	p, err := sparse.RandomPattern(rows, cols, int(density*float64(rows*cols)), rng)
	if err != nil {
		panic(err) // the caller's density is not in [0, 1]
	}
	return p
}
