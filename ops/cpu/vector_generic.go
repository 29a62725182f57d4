package cpu

import "math"

// Elementwise kernels in portable Go. The assembly runs them on what does not
// fill a vector.

func reluGeneric(y, x []float32) {
	for i, v := range x {
		if v <= 0 { // false for NaN, which passes through
			v = 0
		}
		y[i] = v
	}
}

func reluGradGeneric(dx, y, dy []float32) {
	for i, v := range y {
		g := dy[i]
		if !(v > 0) {
			g = 0
		}
		dx[i] = g
	}
}

func addGeneric(y, a, b []float32) {
	for i, v := range a {
		y[i] = v + b[i]
	}
}

func addConstGeneric(y, x []float32, c *float32) {
	for i, v := range x {
		y[i] = v + *c
	}
}

func sgdGeneric(w, g []float32, c *sgdConsts) {
	for i, weight := range w {
		w[i] = weight - c.lr*(c.gradScale*g[i]+c.l2*weight)
	}
}

func momentumGeneric(w, g, v []float32, c *momentumConsts) {
	for i, weight := range w {
		v[i] = c.momentum*v[i] + (c.gradScale*g[i] + c.l2*weight)
		w[i] = weight - c.lr*v[i]
	}
}

func nesterovGeneric(w, g, v []float32, c *momentumConsts) {
	for i, weight := range w {
		grad := c.gradScale*g[i] + c.l2*weight
		v[i] = c.momentum*v[i] + grad
		w[i] = weight - c.lr*(grad+c.momentum*v[i])
	}
}

func adamGeneric(w, g, m, v []float32, c *adamConsts) {
	for i, weight := range w {
		w[i] = weight - c.step(c.gradScale*g[i]+c.decay*weight, &m[i], &v[i])
	}
}

func adamwGeneric(w, g, m, v []float32, c *adamConsts) {
	for i, weight := range w {
		w[i] = weight*c.decay - c.step(c.gradScale*g[i], &m[i], &v[i])
	}
}

// step updates the moments of one weight and returns how far it moves.
func (c *adamConsts) step(grad float32, m, v *float32) float32 {
	*m = c.beta1**m + c.oneMinusBeta1*grad
	*v = c.beta2**v + c.oneMinusBeta2*grad*grad
	return c.lr * *m / (float32(math.Sqrt(float64(*v*c.correction))) + c.epsilon)
}

func atLeastGeneric(masks []uint64, x []float32, threshold uint32) {
	for j := range masks {
		var m uint64
		for i, v := range x[64*j : 64*j+64] {
			if math.Float32bits(v)&^signBit >= threshold {
				m |= 1 << i
			}
		}
		masks[j] = m
	}
}

const signBit = 1 << 31

func transposeGeneric(dst []float32, dstStride int, src []float32, srcStride, rows, cols int) {
	for r := range rows {
		for c, v := range src[r*srcStride : r*srcStride+cols] {
			dst[c*dstStride+r] = v
		}
	}
}
