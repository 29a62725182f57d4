package cpu

import (
	"testing"

	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/ops/opstest"
)

// sharing is a backend that shares among its threads also what one thread would
// do by itself: the problems of the suite are small.
type sharing struct{ *Backend }

func (b sharing) Plan(s ops.Spec) (ops.Kernel, error) {
	k, err := b.Backend.Plan(s)
	if err != nil {
		return nil, err
	}
	k.(*kernel).alone = false
	return k, nil
}

// newSharing returns one with the instruction set that the environment names, or
// the best.
func newSharing(t testing.TB, threads int) sharing {
	b := NewThreads(threads)
	t.Cleanup(func() { b.Close() })
	return sharing{b}
}

// TestConformance runs on the instruction set that the environment names; CI
// names each.
func TestConformance(t *testing.T) {
	t.Run("one thread", func(t *testing.T) { opstest.Conformance(t, newSharing(t, 1).Backend) })
	t.Run("three threads", func(t *testing.T) { opstest.Conformance(t, newSharing(t, 3)) })
}

func TestSameBitsOnAnyNumberOfThreads(t *testing.T) {
	for _, threads := range []int{2, 5} {
		opstest.SameBits(t, newSharing(t, 1), newSharing(t, threads))
	}
}

func TestRunDoesNotAllocate(t *testing.T) {
	opstest.NoAllocs(t, newSharing(t, 2).Backend)
	opstest.NoAllocs(t, newSharing(t, 2))
}
