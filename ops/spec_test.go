package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/ops/opstest"
)

// Every product spends a multiplication and an addition on each weight and
// sample, whichever of its three operands it computes.
func TestProductsSayWhatTheySpend(t *testing.T) {
	panels, err := ops.NewPanels(130)
	require.NoError(t, err)
	pattern := opstest.Pattern(30, 20, 0.1)
	sparse := ops.SparseProblem{Pattern: pattern, Panels: panels}
	dense := ops.DenseProblem{Out: 30, In: 20, Panels: panels}
	for weights, specs := range map[int][]ops.Spec{
		pattern.NNZ(): {
			ops.SpMM(sparse), ops.SpMMT(sparse), ops.SDDMM(sparse),
			ops.SpMMAct{SparseProblem: sparse}, ops.SpMMTGate(sparse),
		},
		30 * 20: {
			ops.Linear(dense), ops.LinearT(dense), ops.LinearGrad(dense),
			ops.LinearAct{DenseProblem: dense}, ops.LinearTGate(dense),
		},
	} {
		for _, s := range specs {
			sig, err := s.Signature()
			require.NoError(t, err, s.Op())
			flops := sig.Out.FLOPs * float64(sig.Out.Len())
			for _, o := range sig.In {
				flops += o.FLOPs * float64(o.Len())
			}
			require.Equal(t, 2*float64(weights)*float64(panels.Slots()), flops, "%s", s.Op())
		}
	}
}
