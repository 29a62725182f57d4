package cpu_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rigel-ml/rigel/ops/cpu"
)

var update = flag.Bool("update", false, "rewrite docs/kernels.md")

// TestDocs holds docs/kernels.md to the kernel table.
func TestDocs(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Kernels

The kernel table of ops/cpu, written by ` + "`make docs`" + `; a test holds it to the code. A name is read from the left: operation, storage format,
dtype, tile (p: a panel, v: a plain vector), instruction set. Each row has a float64 twin in ops/ref, is run against it over a
ladder of shapes by ops/opstest, and is timed by ` + "`make bench`" + `.

| Kernel | Operation | Format | Dtype | Tile | ISA |
|---|---|---|---|---|---|
`)
	for _, v := range cpu.Kernels() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", v.Name, v.Op, v.Format, v.Dtype, v.Tile, v.ISA)
	}
	const path = "../../docs/kernels.md"
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o644))
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, b.String(), string(got), "run `make docs`")
}
