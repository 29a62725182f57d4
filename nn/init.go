package nn

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/sparse"
)

// Config describes a module that is yet to be made.
type Config interface {
	Init(in *Init) (Module, error)
}

// Init makes parameters: it knows where they live, how they are named and what
// they are drawn from.
//
// Each parameter has a generator of its own, seeded by the seed and its name,
// so that adding a layer to a model leaves the other layers' weights as they
// were.
type Init struct {
	Backend ops.Backend
	seed    uint64
	scope   []string
	taken   map[string]bool // names of parameters and streams, shared by all scopes
}

// NewInit returns an Init for a whole model.
func NewInit(b ops.Backend, seed uint64) *Init {
	return &Init{Backend: b, seed: seed, taken: map[string]bool{}}
}

// Scope returns an Init whose names begin with one more part.
func (in *Init) Scope(name string) *Init {
	s := *in
	s.scope = append(in.scope[:len(in.scope):len(in.scope)], name)
	return &s
}

// Name returns the full dotted name of something in this scope.
func (in *Init) Name(leaf string) string {
	return strings.Join(append(in.scope[:len(in.scope):len(in.scope)], leaf), ".")
}

// Rand returns the generator of this name.
func (in *Init) Rand(leaf string) *rand.Rand {
	return rand.New(rand.NewPCG(in.seed, nameHash(in.Name(leaf))))
}

// Stream returns the stream of random numbers of this name, for what draws
// anew at each step.
func (in *Init) Stream(leaf string) (*ops.Stream, error) {
	if _, err := in.claim(leaf); err != nil {
		return nil, err
	}
	return &ops.Stream{Key: in.Rand(leaf).Uint64()}, nil
}

// claim returns the full name of a parameter or stream, once. Two streams of
// one name would draw the same numbers.
func (in *Init) claim(leaf string) (string, error) {
	name := in.Name(leaf)
	if in.taken[name] {
		return "", fmt.Errorf("nn: two parameters or layers are named %s", name)
	}
	in.taken[name] = true
	return name, nil
}

func nameHash(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

// Dense makes a dense parameter from values of this shape.
func (in *Init) Dense(leaf string, values []float32, shape ...int) (*Param, error) {
	return in.param(leaf, nil, values, shape)
}

// Sparse makes a sparse parameter from one value for each position of p.
func (in *Init) Sparse(leaf string, p *sparse.Pattern, values []float32) (*Param, error) {
	return in.param(leaf, p, values, []int{p.Rows(), p.Cols()})
}

func (in *Init) param(leaf string, p *sparse.Pattern, values []float32, shape []int) (*Param, error) {
	name, err := in.claim(leaf)
	if err != nil {
		return nil, err
	}
	stored := shape
	if p != nil {
		stored = []int{p.NNZ()}
	}
	v, err := in.Backend.New(in.Backend.Dtype(), stored...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := ops.SetValues(in.Backend, p, v, values); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &Param{Name: name, Shape: shape, Pattern: p, Value: v, Decays: len(shape) > 1}, nil
}

// WeightInit draws the weights of one neuron with so many inputs.
type WeightInit func(rng *rand.Rand, fanIn int, w []float32)

// KaimingNormal draws from a normal distribution of variance 2/fanIn, which
// keeps the variance of activations through ReLU layers (He et al., ICCV 2015,
// equation 10).
//
// For a sparse layer fanIn is the number of connections that each neuron
// really has, neuron by neuron, without which the signal fades with the
// sparsity (Evci et al., "Gradient Flow in Sparse Neural Networks and How
// Lottery Tickets Win", AAAI 2022, section 3.1).
func KaimingNormal(rng *rand.Rand, fanIn int, w []float32) {
	std := math.Sqrt(2 / float64(max(fanIn, 1)))
	for i := range w {
		w[i] = float32(rng.NormFloat64() * std)
	}
}

// KaimingUniform draws uniformly with the variance of KaimingNormal.
func KaimingUniform(rng *rand.Rand, fanIn int, w []float32) {
	bound := math.Sqrt(6 / float64(max(fanIn, 1)))
	for i := range w {
		w[i] = float32((2*rng.Float64() - 1) * bound)
	}
}

// drawRows draws the weights of each neuron in turn; rowPtr delimits them.
func drawRows(draw WeightInit, rng *rand.Rand, rowPtr []int32) []float32 {
	if draw == nil {
		draw = KaimingNormal
	}
	w := make([]float32, rowPtr[len(rowPtr)-1])
	for i := range len(rowPtr) - 1 {
		row := w[rowPtr[i]:rowPtr[i+1]]
		draw(rng, len(row), row)
	}
	return w
}

// bias makes a parameter of zeros, or nil where the layer wants none.
func bias(in *Init, none bool, n int) (*Param, error) {
	if none {
		return nil, nil
	}
	return in.Dense("bias", make([]float32, n), n)
}
