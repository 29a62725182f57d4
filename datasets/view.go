package datasets

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
)

// Take returns a view of the first n samples. It fails unless 1 <= n <= Len.
func (s *Set) Take(n int) (*Set, error) {
	if n < 1 || n > s.Len() {
		return nil, fmt.Errorf("datasets: set %q: cannot take %d of %d samples", s.name, n, s.Len())
	}
	return s.slice(0, n), nil
}

// Split carves a validation set off the end: val views the last n samples and
// train the others, both in their order in s. It fails unless 1 <= n < Len.
//
// A table that is sorted by class must be shuffled first, or val holds the last
// class alone: s.Shuffled(seed).Split(n).
func (s *Set) Split(n int) (train, val *Set, err error) {
	if n < 1 || n >= s.Len() {
		return nil, nil, fmt.Errorf("datasets: set %q: cannot split %d samples off %d; both parts need at least one", s.name, n, s.Len())
	}
	cut := s.Len() - n
	return s.slice(0, cut), s.slice(cut, s.Len()), nil
}

// Subset returns a view of the samples at indices, in that order; an index may
// be repeated. The caller keeps indices. It fails when there are none, or when
// one is outside [0, Len).
func (s *Set) Subset(indices []int) (*Set, error) {
	if len(indices) == 0 || len(indices) > math.MaxInt32 {
		return nil, fmt.Errorf("datasets: set %q: subset of %d indices; want between 1 and %d", s.name, len(indices), math.MaxInt32)
	}
	v := *s
	v.index = make([]int32, len(indices))
	for k, i := range indices {
		if i < 0 || i >= s.Len() {
			return nil, fmt.Errorf("datasets: set %q: subset index %d is sample %d, outside [0, %d)", s.name, k, i, s.Len())
		}
		v.index[k] = int32(s.row(i))
	}
	return &v, nil
}

// Shuffled returns a view of all samples in an order that depends on the seed
// and the number of samples alone. A [Loader] shuffles by itself; this is for
// cutting a set that is sorted.
func (s *Set) Shuffled(seed uint64) *Set {
	v := *s
	v.index = make([]int32, s.Len())
	// Loaders use their epoch as the stream, so none will repeat this order.
	permute(v.index, seed, math.MaxUint64)
	for k, i := range v.index {
		v.index[k] = int32(s.row(int(i)))
	}
	return &v
}

// slice returns a view of the samples [lo, hi), which the caller has checked.
func (s *Set) slice(lo, hi int) *Set {
	v := *s
	switch {
	case s.index != nil:
		v.index = s.index[lo:hi]
	case s.bytes != nil:
		v.bytes = s.bytes[lo*s.features : hi*s.features]
		v.labels = s.labels[lo:hi]
	default:
		v.floats = s.floats[lo*s.features : hi*s.features]
		v.labels = s.labels[lo:hi]
	}
	return &v
}

// permute fills p with a permutation of [0, len(p)) that is a function of
// (seed, stream, len(p)) alone, for all time: interrupted runs rely on it.
//
// Hence a Fisher-Yates shuffle spelled out here, over a generator whose
// algorithm is named, rather than rand.Shuffle. Taking the high word of a
// product favors some outcomes by less than 1 in 2^32.
func permute(p []int32, seed, stream uint64) {
	for i := range p {
		p[i] = int32(i)
	}
	var pcg rand.PCG
	pcg.Seed(seed, stream)
	for i := len(p) - 1; i > 0; i-- {
		j, _ := bits.Mul64(pcg.Uint64(), uint64(i)+1)
		p[i], p[j] = p[j], p[i]
	}
}
