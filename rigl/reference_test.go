package rigl_test

import (
	"cmp"
	"math"
	"slices"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/ops"
)

// denseLayer is a layer of the reference: its whole weight matrix.
type denseLayer struct {
	in, out int
	w, b    []float64
}

func (n *net) denseLayers(t tb) []denseLayer {
	t.Helper()
	params := n.program.Params()
	values := func(p *nn.Param) []float64 {
		host, dense := make([]float32, p.NNZ()), make([]float64, p.Size())
		require.NoError(t, ops.Values(n.backend, p.Pattern, host, p.Value))
		for pos, c := range cellsOf(p) {
			dense[c] = float64(host[pos])
		}
		return dense
	}
	var layers []denseLayer
	for i := range n.nnz {
		layers = append(layers, denseLayer{n.sizes[i], n.sizes[i+1], values(params[2*i]), values(params[2*i+1])})
	}
	return layers
}

// denseGradients is backpropagation as in a textbook: one sample at a time, in
// float64, with the gradient of every weight, stored or not. It shares no code
// with what it checks.
//
// smooth is false where a neuron is so close to the kink of its ReLU that float32
// may fall on the other side.
func (n *net) denseGradients(t tb) (gradients [][]float64, smooth bool) {
	t.Helper()
	layers := n.denseLayers(t)
	for _, l := range layers {
		gradients = append(gradients, make([]float64, l.in*l.out))
	}
	smooth = true
	for s, label := range n.labels {
		input := make([]float64, n.sizes[0])
		for i := range input {
			input[i] = float64(n.x[s*len(input)+i])
		}
		activations := [][]float64{input}
		for i, l := range layers {
			z := slices.Clone(l.b)
			for o := range z {
				for j, a := range activations[i] {
					z[o] += l.w[o*l.in+j] * a
				}
				if i < len(layers)-1 {
					smooth = smooth && (z[o] == 0 || math.Abs(z[o]) > 1e-5)
					z[o] = max(z[o], 0)
				}
			}
			activations = append(activations, z)
		}
		delta := crossEntropyDelta(activations[len(layers)], int(label), len(n.labels))
		for i, l := range slices.Backward(layers) {
			before := make([]float64, l.in)
			for o, d := range delta {
				for j, a := range activations[i] {
					gradients[i][o*l.in+j] += d * a
					if a > 0 {
						before[j] += l.w[o*l.in+j] * d
					}
				}
			}
			delta = before
		}
	}
	return gradients, smooth
}

// crossEntropyDelta is (softmax - one hot) / batch.
func crossEntropyDelta(logits []float64, label, batch int) []float64 {
	sum := 0.0
	for _, z := range logits {
		sum += math.Exp(z)
	}
	delta := make([]float64, len(logits))
	for c, z := range logits {
		delta[c] = math.Exp(z) / sum / float64(batch)
	}
	delta[label] -= 1 / float64(batch)
	return delta
}

// largest returns the k cells of the largest |gradient| that are not kept, the
// smaller cell number first among equals, and the score of the last of them.
func largest(gradient []float64, kept map[int64]bool, k int) (top []int64, last float64) {
	for c := range gradient {
		if !kept[int64(c)] {
			top = append(top, int64(c))
		}
	}
	score := func(c int64) float64 { return math.Abs(gradient[c]) }
	slices.SortFunc(top, func(a, b int64) int {
		return cmp.Or(cmp.Compare(score(b), score(a)), cmp.Compare(a, b))
	})
	top = top[:k]
	if k > 0 {
		last = score(top[k-1])
	}
	return top, last
}

// assertLargest checks grown cells against the reference. Only where a score
// other than 0 lies within the rounding of float32 of the last one that made it
// may the two disagree.
func assertLargest(t tb, gradient []float64, kept map[int64]bool, grown []int64) {
	t.Helper()
	want, last := largest(gradient, kept, len(grown))
	scale := 0.0
	for _, g := range gradient {
		scale = max(scale, math.Abs(g))
	}
	borderline := func(c int64) bool {
		score := math.Abs(gradient[c])
		return score != 0 && math.Abs(score-last) <= 1e-5*scale
	}
	settled := func(top []int64) []int64 {
		s := slices.DeleteFunc(append([]int64{}, top...), borderline)
		slices.Sort(s)
		return s
	}
	assert.Equal(t, settled(want), settled(grown), "cells of the largest gradients")
}
