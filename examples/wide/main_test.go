package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rigel-ml/rigel/internal/sysinfo"
)

// A tenth of the width: 10^8 places, of which the dense gradient alone would
// take 400 MB.
func TestWideTrainsInLittleMemory(t *testing.T) {
	require.NoError(t, run(10_000, 0.999, 3))
	if peak := sysinfo.PeakRSS(); peak > 0 {
		require.Less(t, peak, int64(300e6))
	}
}
