package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/ops/ref"
)

var batches = []int{1, 8, 9, 31, 33, 64, 100, 257}

// backends opens every instruction set that this processor has, and logs why it
// leaves out the others.
func backends(t *testing.T) []*Backend {
	var all []*Backend
	for _, name := range isaNames {
		b, err := Open(Options{ISA: name, Threads: 2})
		if err != nil {
			t.Log("left out: ", err)
			continue
		}
		t.Cleanup(func() { b.Close() })
		all = append(all, b)
	}
	return all
}

// requireReference compares all backends with one run of the reference, which
// takes most of the time.
func requireReference(t *testing.T, s ops.Spec, rng *rand.Rand, all []*Backend) {
	t.Helper()
	in := inputs(t, s, integer, rng)
	want := solve(t, ref.New(), s, in)
	for _, b := range all {
		requireSame(t, want, solve(t, b, s, in), "%s on %s", s.Op(), b.ISA())
	}
}

// TestLargeSparse covers what the conformance ladder is too small for: several
// blocks of rows and many of columns, both edges of the offsets' 16 bits, and
// rows so long or so many that a tile has a single one.
func TestLargeSparse(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, tc := range []struct {
		rows, cols int
		density    float64
		batches    []int
	}{
		{5000, 3000, 0.001, []int{1, 31, 257}},
		{2100, 2100, 0.5, []int{8}}, // two million non-zeros
		{1, 70_000, 0.05, []int{1, 9}},
		{70_000, 1, 0.05, []int{8, 33}},
		{300, 784, 0.1, batches},
		{4097, 130, 0.02, batches},
		{3, 2 * maxColBlock, 0.001, []int{8}}, // two blocks of columns of the largest size
		{maxRowBlock, 200, 0.01, []int{33}},   // one block of rows would do, but two are shared
	} {
		t.Run(fmt.Sprintf("%dx%d", tc.rows, tc.cols), func(t *testing.T) {
			all := backends(t)
			rng := newRNG(uint64(tc.rows))
			p := randomPattern(t, tc.rows, tc.cols, int(tc.density*float64(tc.rows*tc.cols)), rng)
			for _, batch := range tc.batches {
				for _, s := range sparseSpecs(ops.SparseProblem{Pattern: p, Panels: newPanels(t, batch)}) {
					requireReference(t, s, rng, all)
				}
			}
		})
	}
}

// TestLargeDense has products deeper than what is multiplied at once, more rows
// than a task covers, and columns that do not fill a vector or a strip.
func TestLargeDense(t *testing.T) {
	for _, tc := range []struct{ out, in, batch int }{
		{9, 1100, 8}, {9, 1100, 9}, {9, 1100, 31}, {9, 1100, 33}, {1100, 20, 33}, {300, 784, 8}, {97, 65, 257}, {193, 131, 31}, {1, 3000, 64}, {3000, 1, 100},
	} {
		t.Run(fmt.Sprintf("%dx%dx%d", tc.out, tc.in, tc.batch), func(t *testing.T) {
			rng := newRNG(uint64(tc.out))
			for _, s := range denseSpecs(ops.DenseProblem{Out: tc.out, In: tc.in, Panels: newPanels(t, tc.batch)}) {
				requireReference(t, s, rng, backends(t))
			}
		})
	}
}

// TestLargeGrowth has rows enough for the sampled threshold.
func TestLargeGrowth(t *testing.T) {
	for _, tc := range []struct{ rows, cols, batch int }{{300, 784, 1}, {4097, 60, 9}, {1, 70_000, 1}, {70_000, 1, 1}, {241, 130, 33}} {
		t.Run(fmt.Sprintf("%dx%dx%d", tc.rows, tc.cols, tc.batch), func(t *testing.T) {
			rng := newRNG(uint64(tc.rows))
			p := randomPattern(t, tc.rows, tc.cols, tc.rows*tc.cols/20, rng)
			requireGrowth(t, ops.Growth{Pattern: p, Panels: newPanels(t, tc.batch)}, integer, rng, backends(t)...)
		})
	}
}
