package cpu

import (
	"fmt"
	"slices"

	"github.com/rigel-ml/rigel/ops"
)

// variant is a row of the kernel table: its name and how to plan it.
type variant struct {
	ops.Variant
	isa  isa
	plan func(b *Backend, s ops.Spec) computation
}

// row describes a kernel for specs of type S. The name follows the grammar of
// ops.Variant.
func row[S ops.Spec](format, tile string, set isa, plan func(b *Backend, s S) computation) variant {
	var zero S
	op := zero.Op()
	return variant{
		Variant: ops.Variant{
			Name: fmt.Sprintf("%s_%s_f32_%s_%s", op, format, tile, set),
			Op:   op, Format: format, Dtype: "f32", Tile: tile, ISA: set.String(),
		},
		isa: set,
		plan: func(b *Backend, s ops.Spec) computation {
			if s, ok := s.(S); ok {
				return plan(b, s)
			}
			return nil
		},
	}
}

// rows describes a kernel that exists for every instruction set, the best
// first.
func rows[S ops.Spec](format, tile string, plan func(b *Backend, s S) computation) []variant {
	var all []variant
	for _, set := range []isa{avx512, avx2, generic} {
		all = append(all, row(format, tile, set, plan))
	}
	return all
}

// table holds every kernel of this backend. Planning takes the first row that
// accepts the spec and that the processor can run. Tiles: "p" is a panel, "v" a
// plain vector.
var table = slices.Concat(
	rows("tiled", "p", planSpMM),
	rows("tiled", "p", planSpMMT),
	rows("tiled", "p", planSDDMM),
	rows("dense", "p", planLinear),
	rows("dense", "p", planLinearT),
	rows("dense", "p", planLinearGrad),
	rows("tiled", "p", planSpMMAct),
	rows("tiled", "p", planSpMMTGate),
	rows("dense", "p", planLinearAct),
	rows("dense", "p", planLinearTGate),
	rows("dense", "p", planBiasAdd),
	rows("dense", "p", planBiasGrad),
	rows("dense", "p", planPack),
	rows("dense", "p", planUnpack),
	rows("dense", "v", planReLU),
	rows("dense", "v", planReLUGrad),
	rows("dense", "v", planSGD),
	rows("dense", "v", planMomentum),
	rows("dense", "v", planAdam),
	[]variant{
		row("dense", "p", generic, planDropout),
		row("dense", "p", generic, planCrossEntropy),
		row("dense", "p", generic, planCrossEntropyGrad),
		row("dense", "v", generic, planSumSquares),
	},
)

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
	if b.err != nil {
		return nil, b.err
	}
	for _, v := range table {
		if v.isa > b.isa {
			continue
		}
		if c := v.plan(b, s); c != nil {
			return &kernel{b: b, op: s.Op(), sig: sig, c: c, alone: nanoseconds(&sig) < aloneBelow}, nil
		}
	}
	return nil, fmt.Errorf("%w: %s on %s", ops.ErrNotImplemented, s.Op(), b.Device())
}
