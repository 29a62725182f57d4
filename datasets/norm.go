package datasets

import (
	"fmt"
	"math"
	"slices"
)

// Norm is the normalization y = (x - Mean) / Std, computed in float32 in that
// order. Bytes are first divided by 255, so x lies in [0, 1] and the constants
// published for image sets apply as they are.
//
// Both fields have one element, for all features alike, or one element for each
// feature. The zero Norm changes nothing.
type Norm struct {
	Mean []float32 `json:"mean,omitempty"`
	Std  []float32 `json:"std,omitempty"`
}

// Norm returns a copy of the set's normalization.
func (s *Set) Norm() Norm {
	return Norm{Mean: slices.Clone(s.norm.Mean), Std: slices.Clone(s.norm.Std)}
}

// WithNorm returns a view of the set with normalization n in place of its own.
// It fails when n has neither 0, 1 nor Features elements in both fields, when a
// mean is not finite, or when a standard deviation is not finite and positive.
//
// Give the test set the normalization of the training set: one computed from
// the test set would tell the model about data it must not have seen.
func (s *Set) WithNorm(n Norm) (*Set, error) {
	if err := n.check(s.features); err != nil {
		return nil, fmt.Errorf("datasets: set %q: %w", s.name, err)
	}
	v := *s
	v.norm = Norm{Mean: slices.Clone(n.Mean), Std: slices.Clone(n.Std)}
	if v.bytes != nil {
		v.table = byteTable(v.norm)
	}
	return &v, nil
}

// ComputeNorm measures the mean and the (population) standard deviation of all
// features of all samples together, as is usual for images. It looks at the
// samples before normalization and does not change the set. A standard
// deviation of 0 is returned as 1, which keeps a constant a constant.
func (s *Set) ComputeNorm() Norm {
	if s.Len() == 0 { // the zero Set
		return Norm{}
	}
	means, variances := s.moments()
	var mean, variance float64
	for _, m := range means {
		mean += m
	}
	n := float64(len(means))
	mean /= n
	for j, m := range means {
		variance += variances[j] + (m-mean)*(m-mean)
	}
	return Norm{Mean: []float32{float32(mean)}, Std: []float32{stdOf(variance / n)}}
}

// ComputeFeatureNorm is [Set.ComputeNorm] for each feature by itself, as is
// usual for tables whose columns have different units.
func (s *Set) ComputeFeatureNorm() Norm {
	if s.Len() == 0 { // the zero Set
		return Norm{}
	}
	means, variances := s.moments()
	n := Norm{Mean: make([]float32, s.features), Std: make([]float32, s.features)}
	for j := range means {
		n.Mean[j] = float32(means[j])
		n.Std[j] = stdOf(variances[j])
	}
	return n
}

// moments returns the mean and the population variance of each feature before
// normalization. It takes two passes: one pass with sums of squares cancels
// badly when the mean is large beside the deviation.
func (s *Set) moments() (means, variances []float64) {
	raw := *s
	raw.norm = Norm{}
	if raw.bytes != nil {
		raw.table = byteTable(raw.norm)
	}
	means = make([]float64, s.features)
	variances = make([]float64, s.features)
	x := make([]float32, s.features)
	n := float64(s.Len())

	for i := range s.Len() {
		raw.fill(x, raw.row(i))
		for j, v := range x {
			means[j] += float64(v)
		}
	}
	for j := range means {
		means[j] /= n
	}
	for i := range s.Len() {
		raw.fill(x, raw.row(i))
		for j, v := range x {
			d := float64(v) - means[j]
			variances[j] += d * d
		}
	}
	for j := range variances {
		variances[j] /= n
	}
	return means, variances
}

// stdOf returns the square root of variance, or 1 where float32 has no
// positive value for it.
func stdOf(variance float64) float32 {
	if std := float32(math.Sqrt(variance)); std > 0 {
		return std
	}
	return 1
}

func (n Norm) check(features int) error {
	if len(n.Mean) != len(n.Std) {
		return fmt.Errorf("norm: %d means but %d standard deviations", len(n.Mean), len(n.Std))
	}
	if l := len(n.Mean); l > 1 && l != features {
		return fmt.Errorf("norm: %d means; want 0, 1 or %d, the number of features", l, features)
	}
	for i := range n.Mean {
		if !finite(n.Mean[i]) {
			return fmt.Errorf("norm: mean[%d] is %v; it must be finite", i, n.Mean[i])
		}
		if !finite(n.Std[i]) || n.Std[i] <= 0 {
			return fmt.Errorf("norm: std[%d] is %v; it must be finite and positive", i, n.Std[i])
		}
	}
	return nil
}

func (n Norm) perFeature() bool { return len(n.Mean) > 1 }

// apply normalizes x, one sample, in place.
func (n Norm) apply(x []float32) {
	switch {
	case n.perFeature():
		mean, std := n.Mean[:len(x)], n.Std[:len(x)]
		for j, v := range x {
			x[j] = (v - mean[j]) / std[j]
		}
	case len(n.Mean) == 1:
		mean, std := n.Mean[0], n.Std[0]
		for j, v := range x {
			x[j] = (v - mean) / std
		}
	}
}

// byteTable holds what each byte becomes: one load in place of a conversion
// and two divisions. A norm that differs between features is not in the table.
func byteTable(n Norm) *[256]float32 {
	var t [256]float32
	for v := range t {
		t[v] = float32(v) / 255
	}
	if !n.perFeature() {
		n.apply(t[:])
	}
	return &t
}

// lookup sets dst[i] = t[src[i]]; dst is at least as long as src.
func lookup(dst []float32, src []uint8, t *[256]float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = t[v]
	}
}
