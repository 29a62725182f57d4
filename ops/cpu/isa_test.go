package cpu

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	xcpu "golang.org/x/sys/cpu"

	"github.com/rigel-ml/rigel/ops"
)

// pretend makes the processor one without AVX-512, or without any vectors, for
// the length of a test.
func pretend(t *testing.T, avx2 bool) {
	had := xcpu.X86
	t.Cleanup(func() { xcpu.X86 = had })
	xcpu.X86.HasAVX512F = false
	xcpu.X86.HasAVX2 = xcpu.X86.HasAVX2 && avx2
}

func TestOpenWithEachInstructionSet(t *testing.T) {
	onEachISA(t, 2, func(t *testing.T, b *Backend) {
		assert.Contains(t, t.Name(), b.ISA())
		assert.Equal(t, b.ISA() == "generic", b.kernels == &genericKernels)
		s := ops.ReLU{Features: 3, Panels: newPanels(t, 1)}
		solve(t, b, s, inputs(t, s, integer, newRNG(1)))
	})
}

func TestOpen(t *testing.T) {
	best, err := Open(Options{})
	require.NoError(t, err)
	defer best.Close()
	assert.Equal(t, detectISA().String(), best.ISA())
	assert.Positive(t, best.Threads())

	for name, tc := range map[string]struct {
		options Options
		want    string
	}{
		"unknown":          {Options{ISA: "sse9"}, `"sse9"`},
		"in other letters": {Options{ISA: "AVX2"}, "generic, avx2, avx512"},
		"negative threads": {Options{Threads: -1}, "-1 threads"},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := Open(tc.options)
			require.ErrorContains(t, err, tc.want)
			assert.Nil(t, b)
		})
	}
}

func TestOpenOnALesserProcessor(t *testing.T) {
	for _, tc := range []struct {
		avx2       bool
		lacks, has string
	}{{true, "avx512", "the best that this processor and program have is "}, {false, "avx2", "generic"}} {
		t.Run("without "+tc.lacks, func(t *testing.T) {
			pretend(t, tc.avx2)
			_, err := Open(Options{ISA: tc.lacks})
			require.ErrorContains(t, err, tc.lacks)
			require.ErrorContains(t, err, tc.has)
			b, err := Open(Options{})
			require.NoError(t, err)
			defer b.Close()
			assert.NotEqual(t, tc.lacks, b.ISA())
		})
	}
}

// TestEnvironment: New has no error to return, so what it plans has.
func TestEnvironment(t *testing.T) {
	panels := newPanels(t, 1)
	for name, tc := range map[string]struct {
		value   string
		isa     string // of the backend
		message string // of its errors, if it has any
	}{
		"not set":     {"", "", ""},
		"generic":     {"generic", "generic", ""},
		"unknown":     {"mmx", "generic", `"mmx"`},
		"unavailable": {"avx512", "generic", "avx512"},
	} {
		t.Run(name, func(t *testing.T) {
			pretend(t, true)
			t.Setenv(Env, tc.value)
			if tc.isa == "" {
				tc.isa = detectISA().String()
			}
			b := New()
			defer b.Close()
			assert.Equal(t, tc.isa, b.ISA())
			_, planErr := b.Plan(ops.ReLU{Features: 1, Panels: panels})
			_, growthErr := b.PlanGrowth(ops.Growth{Pattern: patternOf(t, 0, 2, 2, 0.5, newRNG(1)), Panels: panels})
			for _, err := range []error{planErr, growthErr} {
				if tc.message == "" {
					require.NoError(t, err)
					continue
				}
				require.ErrorContains(t, err, Env)
				require.ErrorContains(t, err, tc.message)
			}
			_, err := b.Plan(ops.ReLU{Features: -1, Panels: panels})
			require.ErrorIs(t, err, ops.ErrSpec, "a problem that makes no sense comes first")
		})
	}
}
