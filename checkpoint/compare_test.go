package checkpoint

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// FAULTS 25: one error lists every difference.
func TestCompare(t *testing.T) {
	want := []Entry{
		{"bias", KindFloat32, []int{10}},
		{"weight", KindCSR, []int{10, 20}},
		{"head", KindCSR, []int{5, 10}},
		{"gone", KindFloat32, []int{1}},
		{"scale", KindFloat32, nil},
	}
	got := []Entry{
		{"scale", KindFloat32, []int{}},
		{"weight", KindCSR, []int{20, 10}},
		{"bias", KindFloat32, []int{10}},
		{"head", KindFloat32, []int{5, 10}},
		{"added", KindInt64, []int{2}},
	}
	require.NoError(t, Compare(want, want))
	require.NoError(t, Compare(nil, []Entry{}))
	err := Compare(want, got)
	require.ErrorIs(t, err, ErrMismatch)
	assert.EqualError(t, err, ErrMismatch.Error()+`, 4 differences:
	"added": extra, is int64 [2]
	"gone": missing, want float32 [1]
	"head": is float32 [5 10], want csr [5 10]
	"weight": is csr [20 10], want csr [10 20]`)

	err = Compare([]Entry{want[0], want[0]}, []Entry{got[2], got[2]})
	require.ErrorIs(t, err, ErrMismatch)
	assert.ErrorContains(t, err, `"bias": wanted twice`)
	assert.ErrorContains(t, err, `"bias": found twice`)
}
