package rigl

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Shape is the shape of a layer's weight.
type Shape struct {
	Name    string
	Out, In int
}

func (s Shape) size() int64 { return int64(s.Out) * int64(s.In) }

// Distribution shares the connections of a network out among its layers.
type Distribution interface {
	// Name is what flags and files call it.
	Name() string
	// NNZ returns how many connections each layer gets, at least 1, when a
	// share sparsity of all weights is to be left out. A layer may get all of
	// its weights, which makes it dense. The error says which layer would be
	// left without a connection, and what is possible.
	NNZ(layers []Shape, sparsity float64, rng *rand.Rand) ([]int, error)
}

// Uniform gives every layer the same sparsity, but leaves the first one dense,
// as the RigL paper does: the sparsity of the whole network is then lower than
// asked for.
type Uniform struct{}

// Name returns "uniform".
func (Uniform) Name() string { return "uniform" }

// NNZ rounds each layer to the nearest whole number.
func (Uniform) NNZ(layers []Shape, sparsity float64, _ *rand.Rand) ([]int, error) {
	if err := check(layers, sparsity); err != nil {
		return nil, err
	}
	nnz := make([]int, len(layers))
	for i, l := range layers {
		nnz[i] = int(math.Round((1 - sparsity) * float64(l.size())))
		if i == 0 {
			nnz[i] = int(l.size())
		}
	}
	if cut := slices.Index(nnz, 0); cut >= 0 {
		smallest := layers[cut].size()
		for _, l := range layers[1:] {
			smallest = min(smallest, l.size())
		}
		return nil, cutOff(layers[cut], sparsity, fmt.Sprintf("a sparsity of %v leaves every layer at least one", sparsityOf(1, smallest)))
	}
	return nnz, nil
}

// ERK is the Erdős–Rényi(-Kernel) distribution (Mocanu et al., Nature
// Communications 2018; Evci et al. 2020): the density of a layer is in
// proportion to (in + out) / (in · out), so that small layers keep more of
// their connections. Layers that would get more than all of them become dense,
// and the rest is shared out again. The sparsity of the whole network is met to
// within one connection.
type ERK struct{}

// Name returns "erk".
func (ERK) Name() string { return "erk" }

// NNZ solves for the factor ε of density = ε (in + out) / (in · out).
func (ERK) NNZ(layers []Shape, sparsity float64, _ *rand.Rand) ([]int, error) {
	if err := check(layers, sparsity); err != nil {
		return nil, err
	}
	budget := budget(layers, sparsity)
	dense := make([]bool, len(layers))
	share := make([]float64, len(layers))
	for {
		left, raw := float64(budget), 0.0
		for i, l := range layers {
			if dense[i] {
				left -= float64(l.size())
			} else {
				raw += float64(l.In + l.Out)
			}
		}
		overflow := false
		for i, l := range layers {
			share[i] = float64(l.size())
			if dense[i] {
				continue
			}
			share[i] = left / raw * float64(l.In+l.Out)
			if share[i] > float64(l.size()) {
				dense[i], overflow = true, true
			}
		}
		if !overflow {
			break
		}
	}
	nnz := apportion(layers, share, budget)
	if cut := slices.Index(nnz, 0); cut >= 0 {
		return nil, cutOff(layers[cut], sparsity, fmt.Sprintf("a sparsity of %v leaves every layer at least one", erkLimit(layers)))
	}
	return nnz, nil
}

// erkLimit returns a sparsity at which every share is at least 1: with ε = 1 /
// min(in + out), and a larger ε once layers are dense.
func erkLimit(layers []Shape) float64 {
	var total, raw int64
	smallest := int64(math.MaxInt64)
	for _, l := range layers {
		sum := int64(l.In) + int64(l.Out)
		total, raw, smallest = total+l.size(), raw+sum, min(smallest, sum)
	}
	return sparsityOf((raw+smallest-1)/smallest, total)
}

// Random draws the connections of the whole network uniformly from all weights:
// every layer, the first included, comes out at about the sparsity asked for.
type Random struct{}

// Name returns "random".
func (Random) Name() string { return "random" }

// NNZ draws the layers' counts, one connection after the other, from the
// multivariate hypergeometric distribution.
func (Random) NNZ(layers []Shape, sparsity float64, rng *rand.Rand) ([]int, error) {
	if err := check(layers, sparsity); err != nil {
		return nil, err
	}
	left := make([]int64, len(layers))
	var total int64
	for i, l := range layers {
		left[i] = l.size()
		total += left[i]
	}
	nnz := make([]int, len(layers))
	for range budget(layers, sparsity) {
		at := rng.Int64N(total)
		total--
		for i := range layers {
			if at < left[i] {
				left[i]--
				nnz[i]++
				break
			}
			at -= left[i]
		}
	}
	if cut := slices.Index(nnz, 0); cut >= 0 {
		size := layers[cut].size()
		enough := min(10, size) // chance leaves out a layer that expects ten in one draw of 20,000
		return nil, cutOff(layers[cut], sparsity, fmt.Sprintf("it can expect %.2g; a sparsity of %v lets it expect %d",
			(1-sparsity)*float64(size), sparsityOf(enough, size), enough))
	}
	return nnz, nil
}

// Distributions returns the distributions by name.
func Distributions() map[string]Distribution {
	m := map[string]Distribution{}
	for _, d := range []Distribution{Uniform{}, ERK{}, Random{}} {
		m[d.Name()] = d
	}
	return m
}

// budget returns the number of connections of a network of this sparsity.
func budget(layers []Shape, sparsity float64) int64 {
	var total int64
	for _, l := range layers {
		total += l.size()
	}
	return int64(math.Round((1 - sparsity) * float64(total)))
}

// apportion rounds shares to whole numbers that add up to budget: down, and
// then up for those that lost the most (the largest remainders, the earlier
// layer first).
func apportion(layers []Shape, share []float64, budget int64) []int {
	nnz, order := make([]int, len(share)), make([]int, len(share))
	for i, s := range share {
		nnz[i], order[i] = int(math.Floor(s)), i
		budget -= int64(nnz[i])
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(share[b]-float64(nnz[b]), share[a]-float64(nnz[a]))
	})
	for _, i := range order {
		if budget > 0 && int64(nnz[i]) < layers[i].size() {
			nnz[i]++
			budget--
		}
	}
	return nnz
}

func check(layers []Shape, sparsity float64) error {
	if len(layers) == 0 {
		return fmt.Errorf("rigl: no layers to share connections among")
	}
	if !(sparsity >= 0 && sparsity < 1) {
		return fmt.Errorf("rigl: sparsity %v, want at least 0 and below 1", sparsity)
	}
	for _, l := range layers {
		if l.In < 1 || l.Out < 1 {
			return fmt.Errorf("rigl: layer %s is %d × %d", l.Name, l.Out, l.In)
		}
	}
	return nil
}

// cutOff is the error about a layer that is left without a connection.
func cutOff(l Shape, sparsity float64, possible string) error {
	return fmt.Errorf("rigl: sparsity %v leaves layer %s (%d × %d) without a connection; %s", sparsity, l.Name, l.Out, l.In, possible)
}

// sparsityOf returns the sparsity that leaves n of total connections, rounded
// down to a number that a person can type and that still leaves n.
func sparsityOf(n, total int64) float64 {
	scale := math.Pow(10, math.Ceil(math.Log10(float64(total)))+1)
	return math.Floor((1-float64(n)/float64(total))*scale) / scale
}
