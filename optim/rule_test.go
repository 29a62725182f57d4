package optim_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/ops/ref"
	"github.com/rigel-ml/rigel/optim"
)

// TestFirstStepsByHand takes w = 1 through the gradients 1 and -1 at a learning
// rate of ½.
func TestFirstStepsByHand(t *testing.T) {
	const eps = 1e-30 // so small that it leaves no trace
	for name, tc := range map[string]struct {
		rule optim.Rule
		want [2]float64
	}{
		// 1 - ½·1 = ½; ½ + ½·1 = 1.
		"sgd": {optim.SGD{}, [2]float64{0.5, 1}},
		// g = 1 + ¼·1 = 5/4, 1 - 5/8 = 3/8; g = -1 + 3/32 = -29/32,
		// 3/8 + 29/64 = 53/64.
		"sgd, decay": {optim.SGD{WeightDecay: 0.25}, [2]float64{0.375, 0.828125}},
		// v = 1, w = ½; v = ¾ - 1 = -¼, w = ½ + 1/8.
		"momentum": {optim.SGD{Momentum: 0.75}, [2]float64{0.5, 0.625}},
		// g = v = 5/4, w = 3/8; g = -29/32, v = 15/16 - 29/32 = 1/32,
		// w = 3/8 - 1/64.
		"momentum, decay": {optim.SGD{Momentum: 0.75, WeightDecay: 0.25}, [2]float64{0.375, 0.359375}},
		// v = 1, step 1 + ¾, w = 1 - 7/8 = 1/8; v = -¼, step -1 - 3/16 = -19/16,
		// w = 1/8 + 19/32.
		"nesterov": {optim.SGD{Momentum: 0.75, Nesterov: true}, [2]float64{0.125, 0.71875}},
		// m = ½, m/(1-½) = 1; v = ¼, v/(1-¾) = 1; w = 1 - ½ = ½.
		// m = ¼ - ½ = -¼, m/(1-¼) = -⅓; v = 3/16 + ¼, v/(1-9/16) = 1; w = ½ + 1/6.
		"adam": {optim.Adam{Beta1: 0.5, Beta2: 0.75, Epsilon: eps}, [2]float64{0.5, 2.0 / 3}},
		// g = 1 + ½·1 = 3/2: m = ¾, 3/2 corrected; √(9/4) = 3/2; w = ½.
		// g = -1 + ½·½ = -¾: m = 3/8 - 3/8 = 0; w = ½.
		"adam, decay": {optim.Adam{Beta1: 0.5, Beta2: 0.75, Epsilon: eps, WeightDecay: 0.5}, [2]float64{0.5, 0.5}},
		// The moments of adam; w = 1 - ½·½·1 - ½ = ¼; w = ¼ - ½·½·¼ + 1/6.
		"adamw": {optim.AdamW{Beta1: 0.5, Beta2: 0.75, Epsilon: eps, WeightDecay: 0.5}, [2]float64{0.25, 0.1875 + 1.0/6}},
		// w = 1 - ½·1/(1 + 1) = ¾; w = ¾ + ½·⅓/(1 + 1).
		"adam, epsilon outside the root": {optim.Adam{Beta1: 0.5, Beta2: 0.75, Epsilon: 1}, [2]float64{0.75, 0.75 + 1.0/12}},
	} {
		for device, b := range backends(t) {
			t.Run(name+"/"+device, func(t *testing.T) {
				w := weight(t, b, 1)
				o := newOptimizer(t, b, tc.rule, w)
				for i, g := range []float32{1, -1} {
					require.NoError(t, o.Step([]*tensor.Dense{upload(t, b, g)}, 0.5))
					assert.InDelta(t, tc.want[i], download(t, b, w.Value)[0], 1e-6, "step %d", i+1)
				}
				assert.Equal(t, 2, o.Steps())
			})
		}
	}
}

// twin is the rule for one weight, from the papers. It returns the weight after
// a step.
func twin(rule optim.Rule, decays bool) func(w, g, lr float64) float64 {
	switch r := rule.(type) {
	case optim.SGD:
		return twinSGD(r, decays)
	case optim.Adam:
		return twinAdam(optim.AdamW(r), decays, false)
	case optim.AdamW:
		return twinAdam(r, decays, true)
	}
	panic("a rule without a twin: " + rule.Name())
}

// twinSGD adds up the whole history of gradients instead of keeping a velocity.
func twinSGD(r optim.SGD, decays bool) func(w, g, lr float64) float64 {
	var history []float64
	return func(w, g, lr float64) float64 {
		if decays {
			g += r.WeightDecay * w
		}
		history = append(history, g)
		velocity := 0.0
		for i, past := range history {
			velocity += past * math.Pow(r.Momentum, float64(len(history)-1-i))
		}
		if r.Nesterov {
			velocity = g + r.Momentum*velocity
		}
		return w - lr*velocity
	}
}

// twinAdam averages the whole history: a moment with its bias corrected is a
// mean in which a gradient of k steps ago has the weight βᵏ.
func twinAdam(r optim.AdamW, decays, decoupled bool) func(w, g, lr float64) float64 {
	or := func(v, def float64) float64 {
		if v == 0 {
			return def
		}
		return v
	}
	beta1, beta2, eps := or(r.Beta1, 0.9), or(r.Beta2, 0.999), or(r.Epsilon, 1e-8)
	var history []float64
	mean := func(beta float64, f func(g float64) float64) float64 {
		sum, total := 0.0, 0.0
		for i, g := range history {
			k := math.Pow(beta, float64(len(history)-1-i))
			sum, total = sum+k*f(g), total+k
		}
		return sum / total
	}
	return func(w, g, lr float64) float64 {
		shrink := 0.0
		switch {
		case decays && decoupled:
			shrink = lr * r.WeightDecay * w
		case decays:
			g += r.WeightDecay * w
		}
		history = append(history, g)
		m := mean(beta1, func(g float64) float64 { return g })
		v := mean(beta2, func(g float64) float64 { return g * g })
		return w - shrink - lr*m/(math.Sqrt(v)+eps)
	}
}

// Several steps of each rule against its twin; the weight decays and the bias
// does not.
func TestRulesAgainstTheirTwins(t *testing.T) {
	const steps, lr = 25, 0.0625
	for name, rule := range rules() {
		for device, b := range backends(t) {
			t.Run(name+"/"+device, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(8, 8))
				w, c := weight(t, b, 2, -3), bias(t, b, 4, -5)
				o := newOptimizer(t, b, rule, w, c)
				want := []float64{2, -3, 4, -5}
				twins := []func(w, g, lr float64) float64{
					twin(rule, true), twin(rule, true), twin(rule, false), twin(rule, false),
				}
				for step := range steps {
					gradients := randomGradients(t, b, rng, w, c)
					rate := lr * float64(1+step%3)
					for i, g := range append(download(t, b, gradients[0]), download(t, b, gradients[1])...) {
						want[i] = twins[i](want[i], float64(g), rate)
					}
					require.NoError(t, o.Step(gradients, rate))
					assert.InDeltaSlice(t, want, append(download(t, b, w.Value), download(t, b, c.Value)...), 2e-5)
				}
			})
		}
	}
}

// A connection that has just grown has no gradient yet where its neuron is
// dead: its state is all zeros and must not divide by zero.
func TestZeroGradientsWithoutDecayChangeNothing(t *testing.T) {
	for name, rule := range rules() {
		for device, b := range backends(t) {
			t.Run(name+"/"+device, func(t *testing.T) {
				c := bias(t, b, 2, -3)
				o := newOptimizer(t, b, rule, c)
				for range 3 {
					require.NoError(t, o.Step([]*tensor.Dense{upload(t, b, 0, 0)}, 0.5))
				}
				assert.Equal(t, []float32{2, -3}, download(t, b, c.Value))
			})
		}
	}
}

func TestBadRulesAreRefused(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, tc := range map[string]struct {
		config optim.Config
		want   string
	}{
		"no rule":               {optim.Config{}, "no rule"},
		"negative clip":         {optim.Config{Rule: optim.SGD{}, ClipNorm: -1}, "clipped at -1"},
		"clip at NaN":           {optim.Config{Rule: optim.SGD{}, ClipNorm: nan}, "clipped at NaN"},
		"momentum of 1":         {optim.Config{Rule: optim.SGD{Momentum: 1}}, "sgd with momentum 1"},
		"negative momentum":     {optim.Config{Rule: optim.SGD{Momentum: -0.5}}, "sgd with momentum -0.5"},
		"momentum NaN":          {optim.Config{Rule: optim.SGD{Momentum: nan}}, "sgd with momentum NaN"},
		"nesterov by itself":    {optim.Config{Rule: optim.SGD{Nesterov: true}}, "Nesterov needs momentum"},
		"sgd: negative decay":   {optim.Config{Rule: optim.SGD{WeightDecay: -1}}, "weight decay -1"},
		"sgd: NaN decay":        {optim.Config{Rule: optim.SGD{WeightDecay: nan}}, "weight decay NaN"},
		"sgd: infinite decay":   {optim.Config{Rule: optim.SGD{WeightDecay: inf}}, "weight decay +Inf"},
		"adam: beta1 of 1":      {optim.Config{Rule: optim.Adam{Beta1: 1}}, "adam with betas 1 and 0.999"},
		"adam: negative beta2":  {optim.Config{Rule: optim.Adam{Beta2: -0.1}}, "adam with betas 0.9 and -0.1"},
		"adam: beta2 NaN":       {optim.Config{Rule: optim.Adam{Beta2: nan}}, "betas 0.9 and NaN"},
		"adam: negative eps":    {optim.Config{Rule: optim.Adam{Epsilon: -1}}, "epsilon -1"},
		"adam: infinite eps":    {optim.Config{Rule: optim.Adam{Epsilon: inf}}, "epsilon +Inf"},
		"adam: negative decay":  {optim.Config{Rule: optim.Adam{WeightDecay: -1}}, "weight decay -1"},
		"adamw: NaN decay":      {optim.Config{Rule: optim.AdamW{WeightDecay: nan}}, "adamw with betas"},
		"adamw: infinite decay": {optim.Config{Rule: optim.AdamW{WeightDecay: inf}}, "weight decay +Inf"},
		// Kernels compute in float32, where these are 1 and 0: the first step
		// would be a division of 0 by 0.
		"momentum rounds to 1":    {optim.Config{Rule: optim.SGD{Momentum: 1 - 1e-9}}, "momentum 0.999999999"},
		"adam: beta2 rounds to 1": {optim.Config{Rule: optim.Adam{Beta2: 1 - 1e-9}}, "betas 0.9 and 0.999999999"},
		"adam: eps rounds to 0":   {optim.Config{Rule: optim.Adam{Epsilon: 1e-60}}, "epsilon 1e-60"},
	} {
		t.Run(name, func(t *testing.T) {
			b := ref.New()
			_, err := optim.New(b, tc.config, []*nn.Param{weight(t, b, 1)})
			require.ErrorContains(t, err, tc.want)
		})
	}
}
