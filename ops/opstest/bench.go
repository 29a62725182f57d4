package opstest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rigel-ml/rigel/ops"
)

// Benchmark times every operation at the sizes of a real layer and reports
// GFLOP/s of useful work, or GB/s of memory touched where nothing is multiplied.
func Benchmark(b *testing.B, backend ops.Backend) {
	const out, in, batch = 1024, 1024, 256
	panels, err := ops.NewPanels(batch)
	require.NoError(b, err)
	for _, sparsity := range []float64{0.5, 0.9, 0.99} {
		p := ops.SparseProblem{Pattern: Pattern(out, in, 1-sparsity), Panels: panels}
		flops := 2 * float64(p.Pattern.NNZ()) * batch
		act := ops.Activation{Bias: true, ReLU: true}
		for _, s := range []ops.Spec{ops.SpMM(p), ops.SpMMT(p), ops.SDDMM(p), ops.SpMMAct{SparseProblem: p, Activation: act}, ops.SpMMTGate(p)} {
			benchmark(b, backend, s, fmt.Sprintf("%dx%dx%d/sparsity=%.2f", out, in, batch, sparsity), flops)
		}
	}
	dense := ops.DenseProblem{Out: out, In: in, Panels: panels}
	act := ops.Activation{Bias: true, ReLU: true}
	for _, s := range []ops.Spec{ops.Linear(dense), ops.LinearT(dense), ops.LinearGrad(dense),
		ops.LinearAct{DenseProblem: dense, Activation: act}, ops.LinearTGate(dense)} {
		benchmark(b, backend, s, fmt.Sprintf("%dx%dx%d", out, in, batch), 2.0*out*in*batch)
	}
	layer := ops.LayerProblem{Features: in, Panels: panels}
	const n = 100_000
	for _, s := range []ops.Spec{
		ops.BiasAdd(layer), ops.BiasGrad(layer), ops.ReLU(layer), ops.ReLUGrad(layer), ops.Pack(layer), ops.Unpack(layer),
		ops.Dropout{LayerProblem: layer, P: 0.5, Stream: &ops.Stream{}},
		ops.CrossEntropy{Features: 10, Panels: panels}, ops.CrossEntropyGrad{Features: 10, Panels: panels},
		ops.SumSquares{N: n}, ops.SGD{N: n, Hyper: &ops.SGDHyper{}}, ops.Momentum{N: n, Hyper: &ops.SGDHyper{}},
		ops.Adam{N: n, Hyper: &ops.AdamHyper{Step: 1}},
	} {
		benchmark(b, backend, s, "layer", 0)
	}
}

func benchmark(b *testing.B, backend ops.Backend, s ops.Spec, name string, flops float64) {
	b.Run(fmt.Sprintf("%s/%s", s.Op(), name), func(b *testing.B) {
		sig, err := s.Signature()
		require.NoError(b, err)
		k, err := backend.Plan(s)
		require.NoError(b, err)
		p := place(b, backend, sig, draw(sig, normal, 1))
		bytes := 4 * sig.Out.Len()
		for _, o := range sig.In {
			bytes += 4 * o.Len()
		}
		b.ReportAllocs()
		for b.Loop() {
			if err := k.Run(p.out, p.in); err != nil {
				b.Fatal(err)
			}
		}
		seconds := b.Elapsed().Seconds() / float64(b.N)
		if flops > 0 {
			b.ReportMetric(flops/seconds/1e9, "GFLOP/s")
		} else {
			b.ReportMetric(float64(bytes)/seconds/1e9, "GB/s")
		}
	})
}
