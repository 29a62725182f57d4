package ref

import (
	"fmt"

	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/sparse"
)

// New returns a zeroed tensor in ordinary memory.
func (b *Backend) New(dt tensor.Dtype, shape ...int) (*tensor.Dense, error) {
	if dt != tensor.Float64 && dt != tensor.Int32 {
		return nil, fmt.Errorf("%w: dtype %v on %s", ops.ErrNotImplemented, dt, b.Device())
	}
	return tensor.New(tensor.Of(dt), tensor.WithShape(shape...)), nil
}

// Order is CSR order.
func (b *Backend) Order(*sparse.Pattern) []int32 { return nil }

// Upload widens host values into dst.
func (b *Backend) Upload(dst *tensor.Dense, src []float32) error {
	if err := ops.CheckTransfer(dst, tensor.Float64, len(src)); err != nil {
		return err
	}
	for i, v := range src {
		dst.Float64s()[i] = float64(v)
	}
	return nil
}

// UploadInt32 copies labels into dst.
func (b *Backend) UploadInt32(dst *tensor.Dense, src []int32) error {
	if err := ops.CheckTransfer(dst, tensor.Int32, len(src)); err != nil {
		return err
	}
	copy(dst.Int32s(), src)
	return nil
}

// Download rounds src to float32.
func (b *Backend) Download(dst []float32, src *tensor.Dense) error {
	if err := ops.CheckTransfer(src, tensor.Float64, len(dst)); err != nil {
		return err
	}
	for i, v := range src.Float64s() {
		dst[i] = float32(v)
	}
	return nil
}
