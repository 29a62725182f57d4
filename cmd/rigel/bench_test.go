package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rigel-ml/rigel/bench/problems"
)

func TestBench(t *testing.T) {
	for _, op := range problems.Names() {
		var out bytes.Buffer
		args := "-op " + op + " -m 40 -k 30 -n 20 -sparsity 0.7 -reps 2 -json"
		require.NoError(t, bench(strings.Fields(args), &out), op)
		var m measurement
		require.NoError(t, json.Unmarshal(out.Bytes(), &m), out.String())
		assert.Equal(t, op, m.Op)
		assert.Equal(t, 40, m.M)
		assert.Positive(t, m.NNZ)
		assert.Positive(t, m.MS)
		assert.Positive(t, m.GFLOPS)
		assert.GreaterOrEqual(t, m.MedianMS, m.MS)
	}
}

func TestBenchRefuses(t *testing.T) {
	for _, args := range []string{
		"-op sparse", "-m 0", "-k -1", "-n x", "-sparsity 1", "-sparsity NaN", "-threads 0", "-reps 0", "-kernel sse", "-op step -layers 3", "-op step -layers 3,x", "extra", "-unknown",
	} {
		var usage usageError
		require.ErrorAs(t, bench(strings.Fields(args), &bytes.Buffer{}), &usage, args)
	}
}
