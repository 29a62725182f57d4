package sparse

import (
	"math/rand/v2"
	"slices"
)

// RandomPattern returns nnz positions drawn uniformly without replacement from
// all cells of a rows × cols matrix. The same generator state gives the same
// pattern. Memory and time are in proportion to nnz, whatever the number of
// cells.
func RandomPattern(rows, cols, nnz int, rng *rand.Rand) (*Pattern, error) {
	if err := checkNNZ(rows, cols, int64(nnz)); err != nil {
		return nil, err
	}
	cells, err := Sample(int64(rows)*int64(cols), nnz, rng)
	if err != nil {
		return nil, err
	}
	return patternOfCells(rows, cols, cells), nil
}

// Sample draws k different numbers uniformly from 0 to n-1 and returns them in
// ascending order, in memory and expected time of the order of k.
func Sample(n int64, k int, rng *rand.Rand) ([]int64, error) {
	if k < 0 || int64(k) > n {
		return nil, invalid("cannot draw %d different numbers below %d", k, n)
	}
	if int64(k) <= n/2 {
		return rejectionSample(n, k, rng), nil
	}
	// More than half: draw what is left out, which is less than k.
	out := rejectionSample(n, int(n-int64(k)), rng)
	in := make([]int64, 0, k)
	for c := range n {
		if len(out) > 0 && out[0] == c {
			out = out[1:]
			continue
		}
		in = append(in, c)
	}
	return in, nil
}

// rejectionSample draws in rounds and keeps of each round what it has not seen
// before, which leaves every k-subset equally likely. With k ≤ n/2 at least
// half of every draw is new in expectation.
func rejectionSample(n int64, k int, rng *rand.Rand) []int64 {
	chosen := make([]int64, 0, k)
	for len(chosen) < k {
		for missing := k - len(chosen); missing > 0; missing-- {
			chosen = append(chosen, rng.Int64N(n))
		}
		slices.Sort(chosen)
		chosen = slices.Compact(chosen)
	}
	return chosen
}
