package cpu

import (
	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/ops"
)

// features is a computation whose tasks are blocks of features, each through
// all panels. The body sees one feature of one panel at a time.
type features struct {
	independent
	ops.LayerProblem
	a, b, out []float32
	body      func(k *features, f, c int, at, end int)
}

func (k *features) bind(out *tensor.Dense, in []*tensor.Dense) (int, error) {
	k.a, k.out = in[0].Float32s(), out.Float32s()
	if len(in) > 1 {
		k.b = in[1].Float32s()
	}
	return blocks(k.Features), nil
}

func (k *features) do(i, _ int) {
	lo, hi := blockRange(i, k.Features)
	for c := range k.Panels.Count {
		for f := lo; f < hi; f++ {
			at := (c*k.Features + f) * k.Panels.Width
			k.body(k, f, c, at, at+k.Panels.Width)
		}
	}
}

func planBiasAdd(b *Backend, s ops.BiasAdd) computation {
	return &features{LayerProblem: ops.LayerProblem(s), body: func(k *features, f, _, at, end int) {
		b.kernels.addConst(k.out[at:end], k.a[at:end], &k.b[f])
	}}
}

// biasGrad sums each feature over the batch. A task is a block of features and
// goes through all panels in order.
type biasGrad struct {
	independent
	ops.LayerProblem
	kernels *kernels
	dy, db  []float32
}

func planBiasGrad(b *Backend, s ops.BiasGrad) computation {
	return &biasGrad{LayerProblem: ops.LayerProblem(s), kernels: b.kernels}
}

func (k *biasGrad) bind(out *tensor.Dense, in []*tensor.Dense) (int, error) {
	k.dy, k.db = in[0].Float32s(), out.Float32s()
	return blocks(k.Features), nil
}

func (k *biasGrad) do(i, _ int) {
	lo, hi := blockRange(i, k.Features)
	db := k.db[lo:hi]
	clear(db)
	for c := range k.Panels.Count {
		dy := panel(k.dy, c, k.Features, k.Panels.Width)
		k.kernels.sumRows(db, dy[lo*k.Panels.Width:hi*k.Panels.Width], k.Panels.Width)
	}
}

func planDropout(_ *Backend, s ops.Dropout) computation {
	scale := float32(1 / (1 - s.P))
	return &features{LayerProblem: s.LayerProblem, body: func(k *features, f, c, at, end int) {
		y := k.out[at:end]
		for i, v := range k.a[at:end] {
			y[i] = 0
			if s.Keeps(c*k.Panels.Width+i, f) {
				y[i] = v * scale
			}
		}
	}}
}

// packed moves between batch-major and panels, a panel at a time.
type packed struct {
	independent
	ops.LayerProblem
	kernels     *kernels
	unpack      bool
	batch, tile []float32
}

func planPack(b *Backend, s ops.Pack) computation {
	return &packed{LayerProblem: ops.LayerProblem(s), kernels: b.kernels}
}

func planUnpack(b *Backend, s ops.Unpack) computation {
	return &packed{LayerProblem: ops.LayerProblem(s), kernels: b.kernels, unpack: true}
}

func (k *packed) bind(out *tensor.Dense, in []*tensor.Dense) (int, error) {
	k.batch, k.tile = in[0].Float32s(), out.Float32s()
	if k.unpack {
		k.batch, k.tile = k.tile, k.batch
	}
	return k.Panels.Count, nil
}

func (k *packed) do(c, _ int) {
	width := k.Panels.Width
	lo, hi := c*width, min((c+1)*width, k.Panels.Batch)
	batch, tile := k.batch[lo*k.Features:hi*k.Features], panel(k.tile, c, k.Features, width)
	if k.unpack {
		k.kernels.transpose(batch, k.Features, tile, width, k.Features, hi-lo)
		return
	}
	if hi-lo < width {
		clear(tile)
	}
	k.kernels.transpose(tile, width, batch, k.Features, hi-lo, k.Features)
}
