package graph

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/ops"
)

// gorgonia's scalars are pointers to Go numbers; kernels read and write tensors
// of one element. These functions cross over.

func newScalar(dt tensor.Dtype) (G.Value, error) {
	switch dt {
	case tensor.Float32:
		return G.NewF32(0), nil
	case tensor.Float64:
		return G.NewF64(0), nil
	}
	return nil, fmt.Errorf("%w: scalars of %v", ops.ErrNotImplemented, dt)
}

func storeScalar(b ops.Backend, dst *tensor.Dense, v G.Value) error {
	switch v := v.(type) {
	case *G.F64:
		if b.AllocAccessible() {
			dst.Float64s()[0] = float64(*v)
			return nil
		}
	case *G.F32:
		if b.AllocAccessible() {
			dst.Float32s()[0] = float32(*v)
			return nil
		}
		return b.Upload(dst, []float32{float32(*v)})
	}
	return fmt.Errorf("%w: a %T, want a scalar of %v", ops.ErrOperand, v, b.Dtype())
}

func loadScalar(b ops.Backend, dst G.Value, src *tensor.Dense) error {
	switch v := dst.(type) {
	case *G.F64:
		*v = G.F64(src.Float64s()[0])
	case *G.F32:
		if b.AllocAccessible() {
			*v = G.F32(src.Float32s()[0])
			return nil
		}
		host := make([]float32, 1)
		if err := b.Download(host, src); err != nil {
			return err
		}
		*v = G.F32(host[0])
	}
	return nil
}
