package cpu

import "github.com/rigel-ml/rigel/ops"

// aloneBelow is how many nanoseconds of work one thread does by itself: sharing
// costs a few microseconds even when the others are awake.
const aloneBelow = 20_000

// nanoseconds estimates what a problem takes on one thread, from rates of the
// order of those measured: 20 GB/s for what is read and written, 150 and 250
// GFLOP/s for sparse and dense products.
func nanoseconds(sig *ops.Signature) float64 {
	ns := cost(&sig.Out)
	for i := range sig.In {
		ns += cost(&sig.In[i])
	}
	return ns
}

func cost(o *ops.Operand) float64 {
	rate := 250.0
	if o.Pattern != nil {
		rate = 150
	}
	return float64(o.Len()) * (4.0/20 + o.FLOPs/rate)
}
