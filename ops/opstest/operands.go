package opstest

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/ops"
)

// operands are the tensors of one run of a kernel on one backend.
type operands struct {
	out *tensor.Dense
	in  []*tensor.Dense
	// guards are the zones around each operand, where the host can see them.
	guards [][]float32
}

// values are host copies of what goes into the operands.
type values struct {
	out []float32
	in  [][]float32
	ids [][]int32 // labels, nil for an operand of numbers
}

// fill draws one number. Special draws NaN, infinities and zeros of both signs
// now and then.
type fill func(rng *rand.Rand) float32

func normal(rng *rand.Rand) float32 { return float32(rng.NormFloat64()) }

func special(rng *rand.Rand) float32 {
	odd := []float32{0, float32(math.Copysign(0, -1)), float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}
	if rng.IntN(50) == 0 {
		return odd[rng.IntN(len(odd))]
	}
	return normal(rng)
}

// draw returns inputs for a signature. What a kernel must overwrite starts as
// NaN.
func draw(sig ops.Signature, f fill, seed uint64) values {
	rng := rand.New(rand.NewPCG(seed, 1))
	number := func(o ops.Operand) []float32 {
		s := make([]float32, o.Len())
		for i := range s {
			s[i] = f(rng)
			if o.Name == "second moment" { // a mean of squares
				s[i] *= s[i]
			}
		}
		return s
	}
	v := values{in: make([][]float32, len(sig.In)), ids: make([][]int32, len(sig.In))}
	for i, o := range sig.In {
		if o.Labels == 0 {
			v.in[i] = number(o)
			continue
		}
		v.ids[i] = make([]int32, o.Len())
		for j := range v.ids[i] {
			v.ids[i][j] = rng.Int32N(int32(o.Labels)+1) - 1 // Ignore among them
		}
	}
	v.out = number(sig.Out)
	if !sig.Out.InOut {
		for i := range v.out {
			v.out[i] = float32(math.NaN())
		}
	}
	return v
}

// place puts values on a backend.
func place(t testing.TB, b ops.Backend, sig ops.Signature, v values) operands {
	t.Helper()
	var p operands
	number := func(o ops.Operand, host []float32) *tensor.Dense {
		d := p.alloc(t, b, o)
		require.NoError(t, ops.SetValues(b, o.Pattern, d, host))
		return d
	}
	for i, o := range sig.In {
		if o.Labels == 0 {
			p.in = append(p.in, number(o, v.in[i]))
			continue
		}
		d, err := o.New(b)
		require.NoError(t, err)
		require.NoError(t, b.UploadInt32(d, v.ids[i]))
		p.in = append(p.in, d)
	}
	p.out = number(sig.Out, v.out)
	return p
}

const (
	guard  = 61 // odd, so that no operand is aligned to a vector
	canary = float32(-12345.5)
)

// alloc returns a tensor for the operand, inside a larger buffer of canaries
// where the backend works on the host's memory.
func (p *operands) alloc(t testing.TB, b ops.Backend, o ops.Operand) *tensor.Dense {
	if !b.AllocAccessible() || b.Dtype() != tensor.Float32 {
		d, err := o.New(b)
		require.NoError(t, err)
		return d
	}
	n := o.Len()
	buf := make([]float32, n+2*guard)
	for i := range buf {
		buf[i] = canary
	}
	p.guards = append(p.guards, buf[:guard], buf[guard+n:])
	shape := o.Shape
	if len(shape) == 0 {
		shape = tensor.Shape{1}
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(buf[guard:guard+n:guard+n]))
}

func (p *operands) checkGuards(t testing.TB) {
	t.Helper()
	for _, zone := range p.guards {
		for i, v := range zone {
			require.Equal(t, canary, v, "a kernel wrote outside its operand (guard element %d)", i)
		}
	}
}

// written returns what the kernel may have changed, output first.
func (p *operands) written(t testing.TB, b ops.Backend, sig ops.Signature) [][]float32 {
	t.Helper()
	get := func(o ops.Operand, d *tensor.Dense) []float32 {
		host := make([]float32, d.DataSize())
		require.NoError(t, ops.Values(b, o.Pattern, host, d))
		return host
	}
	w := [][]float32{get(sig.Out, p.out)}
	for i, o := range sig.In {
		if o.InOut {
			w = append(w, get(o, p.in[i]))
		}
	}
	return w
}
