package layers

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReadmeShowsTheQuickstart holds the program of the README to the one that
// compiles.
func TestReadmeShowsTheQuickstart(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	program, err := os.ReadFile("../../examples/quickstart/main.go")
	require.NoError(t, err)
	_, body, _ := strings.Cut(string(program), "\npackage main")
	assert.Contains(t, string(readme), "```go\npackage main"+body+"```")
}
