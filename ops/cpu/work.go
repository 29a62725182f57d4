package cpu

import "github.com/rigel-ml/rigel/ops"

// aloneBelow is how many nanoseconds of work one thread does by itself: sharing
// costs a few microseconds even when the others are awake.
const aloneBelow = 20_000

// nanoseconds estimates what a problem takes on one thread, from rates of the
// order of those measured: 20 GB/s for what is read and written, 150 and 250
// GFLOP/s for sparse and dense products.
func nanoseconds(s ops.Spec, sig *ops.Signature) float64 {
	elements := sig.Out.Len()
	for _, o := range sig.In {
		elements += o.Len()
	}
	ns := 4 * float64(elements) / 20
	sparse := func(p ops.SparseProblem) float64 {
		return ns + 2*float64(p.Pattern.NNZ())*float64(p.Panels.Slots())/150
	}
	dense := func(p ops.DenseProblem) float64 {
		return ns + 2*float64(p.Out)*float64(p.In)*float64(p.Panels.Slots())/250
	}
	switch s := s.(type) {
	case ops.SpMM:
		return sparse(ops.SparseProblem(s))
	case ops.SpMMT:
		return sparse(ops.SparseProblem(s))
	case ops.SDDMM:
		return sparse(ops.SparseProblem(s))
	case ops.SpMMAct:
		return sparse(s.SparseProblem)
	case ops.SpMMTGate:
		return sparse(ops.SparseProblem(s))
	case ops.Linear:
		return dense(ops.DenseProblem(s))
	case ops.LinearT:
		return dense(ops.DenseProblem(s))
	case ops.LinearGrad:
		return dense(ops.DenseProblem(s))
	case ops.LinearAct:
		return dense(s.DenseProblem)
	case ops.LinearTGate:
		return dense(ops.DenseProblem(s))
	case ops.CrossEntropy, ops.CrossEntropyGrad:
		return 100 * ns // exponentials
	}
	return ns
}
