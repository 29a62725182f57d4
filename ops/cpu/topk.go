package cpu

import (
	"math"
	"slices"
)

// A key orders scores: a larger magnitude has the larger key, and a NaN, which
// is below every number, has key 0. Without their sign, the bits of numbers are
// ordered as the numbers are.
func keyOf(v float32) uint32 {
	b := math.Float32bits(v) &^ signBit
	if b > infinity {
		return 0
	}
	return b + 1
}

const infinity = 0x7f800000

// scoreOf returns the bits of the least magnitude that has the key, for a
// comparison that NaN may pass as well.
func scoreOf(key uint32) uint32 {
	if key == 0 {
		return 0
	}
	return key - 1
}

// topK holds the k best candidates offered, and some that may yet lose. The
// better of two has the larger key, or the smaller cell of equal keys.
type topK struct {
	k         int
	keys      []uint32
	cells     []int64
	threshold uint32 // keys below it cannot be among the best
	ties      []int64
}

func (t *topK) reset(k int, threshold uint32) {
	t.k, t.threshold = k, threshold
	t.keys, t.cells = slices.Grow(t.keys[:0], k+k/4), slices.Grow(t.cells[:0], k+k/4)
}

func (t *topK) offer(key uint32, cell int64) {
	if key < t.threshold {
		return
	}
	t.keys, t.cells = append(t.keys, key), append(t.cells, cell)
	if len(t.keys) >= 2*t.k+4096 {
		t.shrink()
	}
}

// shrink leaves the k best and raises the threshold to the worst of them.
func (t *topK) shrink() {
	if len(t.keys) <= t.k {
		return
	}
	q := t.kth()
	above := 0
	t.ties = t.ties[:0]
	for i, key := range t.keys {
		if key > q {
			above++
		} else if key == q {
			t.ties = append(t.ties, t.cells[i])
		}
	}
	// Of those equal to the k-th, the smallest cells stay.
	slices.Sort(t.ties)
	last := t.ties[t.k-above-1]
	n := 0
	for i, key := range t.keys {
		if key > q || key == q && t.cells[i] <= last {
			t.keys[n], t.cells[n] = key, t.cells[i]
			n++
		}
	}
	t.keys, t.cells, t.threshold = t.keys[:n], t.cells[:n], q
}

// kth returns the k-th largest key, by histograms of 11 bits, the highest
// first.
func (t *topK) kth() uint32 {
	left := t.k
	var prefix, mask uint32
	for _, shift := range []int{21, 10, 0} {
		width := 11
		if shift == 0 {
			width = 10
		}
		var count [1 << 11]int
		for _, key := range t.keys {
			if key&mask == prefix {
				count[key>>shift&(1<<width-1)]++
			}
		}
		digit := 1<<width - 1
		for ; left > count[digit]; digit-- {
			left -= count[digit]
		}
		prefix |= uint32(digit) << shift
		mask |= (1<<width - 1) << shift
	}
	return prefix
}
