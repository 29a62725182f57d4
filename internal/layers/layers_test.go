package layers

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/rigel-ml/rigel/"

// table reads the layers from the documentation: a number for each package.
func table(t *testing.T) map[string]int {
	doc, err := os.ReadFile("../../docs/architecture.md")
	require.NoError(t, err)
	layers := map[string]int{}
	for _, row := range regexp.MustCompile("(?m)^\\| (\\d+) \\| `([^`]+)` \\|").FindAllStringSubmatch(string(doc), -1) {
		n, err := strconv.Atoi(row[1])
		require.NoError(t, err)
		layers[row[2]] = n
	}
	require.NotEmpty(t, layers)
	return layers
}

// home returns the row that a package belongs to: itself or the nearest folder
// above it.
func home(layers map[string]int, pkg string) (row string, ok bool) {
	for row = pkg; row != ""; {
		if _, ok := layers[row]; ok {
			return row, true
		}
		cut := strings.LastIndexByte(row, '/')
		row = row[:max(cut, 0)]
	}
	return "", false
}

func TestImportsPointDownwards(t *testing.T) {
	layers := table(t)
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "../../...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())

	used := map[string]bool{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
		name := strings.TrimPrefix(p.ImportPath, module)
		row, ok := home(layers, name)
		if !assert.True(t, ok, "%s is in no layer of docs/architecture.md", name) {
			continue
		}
		used[row] = true
		for _, path := range p.Imports {
			imported, inside := strings.CutPrefix(path, module)
			if !inside {
				continue
			}
			target, ok := home(layers, imported)
			assert.True(t, ok && (target == row || layers[target] < layers[row]),
				"%s (layer %d) must not import %s (layer %d)", name, layers[row], imported, layers[target])
		}
	}
	for row := range layers {
		assert.True(t, used[row], "docs/architecture.md lists %s, which does not exist", row)
	}
}
