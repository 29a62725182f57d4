package cpu

import (
	"fmt"

	"github.com/rigel-ml/rigel/ops"
)

// variant is a row of the kernel table: its name and how to plan it.
type variant struct {
	ops.Variant
	plan func(b *Backend, s ops.Spec) computation
}

// row describes a kernel for specs of type S. The name follows the grammar of
// ops.Variant.
func row[S ops.Spec](format, tile, isa string, plan func(b *Backend, s S) computation) variant {
	var zero S
	op := zero.Op()
	return variant{
		Variant: ops.Variant{
			Name: fmt.Sprintf("%s_%s_f32_%s_%s", op, format, tile, isa),
			Op:   op, Format: format, Dtype: "f32", Tile: tile, ISA: isa,
		},
		plan: func(b *Backend, s ops.Spec) computation {
			if s, ok := s.(S); ok {
				return plan(b, s)
			}
			return nil
		},
	}
}

// table holds every kernel of this backend. Planning takes the first row that
// accepts the spec. Tiles: "p" is a panel, "v" a plain vector.
var table = []variant{
	row("csr", "p", "go", planSpMM),
	row("csr", "p", "go", planSpMMT),
	row("csr", "p", "go", planSDDMM),
	row("dense", "p", "go", planLinear),
	row("dense", "p", "go", planLinearT),
	row("dense", "p", "go", planLinearGrad),
	row("dense", "p", "go", planBiasAdd),
	row("dense", "p", "go", planBiasGrad),
	row("dense", "v", "go", planReLU),
	row("dense", "v", "go", planReLUGrad),
	row("dense", "p", "go", planDropout),
	row("dense", "p", "go", planCrossEntropy),
	row("dense", "p", "go", planCrossEntropyGrad),
	row("dense", "p", "go", planPack),
	row("dense", "p", "go", planUnpack),
	row("dense", "v", "go", planSumSquares),
	row("dense", "v", "go", planSGD),
	row("dense", "v", "go", planMomentum),
	row("dense", "v", "go", planAdam),
}

// Kernels returns the kernel table.
func Kernels() []ops.Variant {
	rows := make([]ops.Variant, len(table))
	for i, v := range table {
		rows[i] = v.Variant
	}
	return rows
}

// Plan returns the kernel for a problem.
func (b *Backend) Plan(s ops.Spec) (ops.Kernel, error) {
	if s == nil {
		return nil, fmt.Errorf("%w: nil", ops.ErrSpec)
	}
	sig, err := s.Signature()
	if err != nil {
		return nil, err
	}
	for _, v := range table {
		if c := v.plan(b, s); c != nil {
			return &kernel{b: b, op: s.Op(), sig: sig, c: c}, nil
		}
	}
	return nil, fmt.Errorf("%w: %s on %s", ops.ErrNotImplemented, s.Op(), b.Device())
}
