package datasets

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// SetConfig describes the samples handed to [FromBytes] and [FromFloats].
type SetConfig struct {
	// Name is used in messages only.
	Name string
	// Shape of one sample, for example {28, 28}; its product is the number of
	// features. Empty means one flat row of len(x)/len(labels) features.
	Shape []int
	// Classes is the number of classes; every label lies in [0, Classes).
	// Zero means the largest label plus one.
	Classes int
}

// Set is a labeled classification set of Len samples, each a row of Features
// values, held as uint8 or as float32. There is at least one sample and one
// feature, every label lies in [0, Classes), and every stored value is finite.
//
// A Set is immutable and safe for concurrent use.
type Set struct {
	name     string
	shape    []int
	features int
	classes  int

	// Sample r occupies [r·features, (r+1)·features) of whichever of the two
	// stores is in use.
	bytes  []uint8
	floats []float32
	labels []int32

	// index maps a view's sample to its stored row; nil means they are equal.
	index []int32

	norm Norm
	// table is what each byte becomes under norm where that is the same for
	// every feature, and v/255 otherwise. It is nil for a float32 set.
	table *[256]float32
}

// FromBytes makes a set of uint8 samples: x is row-major, len(labels) ×
// features. A byte v is read as v/255 before any normalization. The set keeps
// both slices, which the caller must not change afterwards.
//
// It fails when there is no sample, when x does not divide into len(labels)
// samples of the configured shape, or when a label is outside [0, Classes).
func FromBytes(cfg SetConfig, x []uint8, labels []int32) (*Set, error) {
	s, err := newSet(cfg, len(x), labels)
	if err != nil {
		return nil, err
	}
	s.bytes = x
	s.table = byteTable(s.norm)
	return s, nil
}

// FromFloats is [FromBytes] for float32 samples, which are read as they are.
// It also fails when a value is NaN or infinite.
func FromFloats(cfg SetConfig, x []float32, labels []int32) (*Set, error) {
	s, err := newSet(cfg, len(x), labels)
	if err != nil {
		return nil, err
	}
	for i, v := range x {
		if !finite(v) {
			return nil, fmt.Errorf("datasets: set %q: sample %d, feature %d is %v; values must be finite",
				cfg.Name, i/s.features, i%s.features, v)
		}
	}
	s.floats = x
	return s, nil
}

// newSet checks everything about a set but its values, of which there are n.
func newSet(cfg SetConfig, n int, labels []int32) (*Set, error) {
	s := &Set{name: cfg.Name, shape: slices.Clone(cfg.Shape), classes: cfg.Classes, labels: labels}
	if err := s.check(n); err != nil {
		return nil, fmt.Errorf("datasets: set %q: %w", cfg.Name, err)
	}
	return s, nil
}

func (s *Set) check(n int) error {
	samples := len(s.labels)
	if samples == 0 {
		return errors.New("labels: the set has no samples")
	}
	if samples > math.MaxInt32 {
		return fmt.Errorf("labels: %d samples are more than the %d a set can hold", samples, math.MaxInt32)
	}
	if len(s.shape) == 0 {
		s.shape = []int{n / samples}
	}
	s.features = 1
	for i, d := range s.shape {
		if d < 1 || d > math.MaxInt32/s.features {
			return fmt.Errorf("shape %v: dimension %d is %d; a sample has between 1 and %d features", s.shape, i, d, math.MaxInt32)
		}
		s.features *= d
	}
	if n%s.features != 0 || n/s.features != samples {
		return fmt.Errorf("%d values do not make %d samples of shape %v (%d features)", n, samples, s.shape, s.features)
	}

	if s.classes < 0 {
		return fmt.Errorf("classes is %d; want a positive number, or 0 for the largest label plus one", s.classes)
	}
	limit := s.classes
	if limit == 0 {
		limit = math.MaxInt32
	}
	for i, l := range s.labels {
		if l < 0 || int(l) >= limit {
			return fmt.Errorf("label of sample %d is %d, outside [0, %d)", i, l, limit)
		}
	}
	if s.classes == 0 {
		s.classes = int(slices.Max(s.labels)) + 1
	}
	return nil
}

// Name returns the name the set was given.
func (s *Set) Name() string { return s.name }

// Len returns the number of samples.
func (s *Set) Len() int {
	if s.index != nil {
		return len(s.index)
	}
	return len(s.labels)
}

// Features returns the number of values in a sample, the product of its shape.
func (s *Set) Features() int { return s.features }

// Shape returns a copy of the shape of one sample, for example {28, 28}.
func (s *Set) Shape() []int { return slices.Clone(s.shape) }

// Classes returns the number of classes. A view may hold no sample of some.
func (s *Set) Classes() int { return s.classes }

// Sample copies the normalized features of sample i into dst, of length
// Features, and returns the label. It fails, leaving dst alone, when i is not
// in [0, Len) or dst has another length.
func (s *Set) Sample(i int, dst []float32) (label int32, err error) {
	if i < 0 || i >= s.Len() {
		return 0, fmt.Errorf("datasets: set %q: sample %d is outside [0, %d)", s.name, i, s.Len())
	}
	if len(dst) != s.features {
		return 0, fmt.Errorf("datasets: set %q: dst has length %d, but a sample has %d features", s.name, len(dst), s.features)
	}
	row := s.row(i)
	s.fill(dst, row)
	return s.labels[row], nil
}

// row returns where sample i of this view is stored.
func (s *Set) row(i int) int {
	if s.index != nil {
		return int(s.index[i])
	}
	return i
}

// fill writes the normalized features of a stored row to dst, whose length is
// s.features.
func (s *Set) fill(dst []float32, row int) {
	lo, hi := row*s.features, (row+1)*s.features
	if s.bytes == nil {
		copy(dst, s.floats[lo:hi])
		s.norm.apply(dst)
		return
	}
	lookup(dst, s.bytes[lo:hi], s.table)
	if s.norm.perFeature() {
		s.norm.apply(dst)
	}
}

// finite reports whether v is neither NaN nor infinite.
func finite(v float32) bool { return v-v == 0 }
