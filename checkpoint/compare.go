package checkpoint

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Compare returns nil if got has exactly the wanted entries, in any order. If
// not, its error wraps ErrMismatch and lists every difference, one a line, by
// name: entries that are missing, extra, given twice, or of another kind or
// shape.
func Compare(want, got []Entry) error {
	wanted, diffs := index("wanted", want)
	found, twice := index("found", got)
	diffs = append(diffs, twice...)
	names := maps.Clone(wanted)
	maps.Copy(names, found)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		w, isWanted := wanted[name]
		g, isFound := found[name]
		switch {
		case !isFound:
			diffs = append(diffs, fmt.Sprintf("%q: missing, want %s", name, w.describe()))
		case !isWanted:
			diffs = append(diffs, fmt.Sprintf("%q: extra, is %s", name, g.describe()))
		case w.Kind != g.Kind || !slices.Equal(w.Shape, g.Shape):
			diffs = append(diffs, fmt.Sprintf("%q: is %s, want %s", name, g.describe(), w.describe()))
		}
	}
	if len(diffs) == 0 {
		return nil
	}
	return fmt.Errorf("%w, %d differences:\n\t%s", ErrMismatch, len(diffs), strings.Join(diffs, "\n\t"))
}

// index returns the entries by name and a complaint about each name that
// comes again.
func index(list string, entries []Entry) (map[string]Entry, []string) {
	byName := make(map[string]Entry, len(entries))
	var twice []string
	for _, e := range entries {
		if _, ok := byName[e.Name]; ok {
			twice = append(twice, fmt.Sprintf("%q: %s twice", e.Name, list))
		}
		byName[e.Name] = e
	}
	return byName, twice
}

func (e Entry) describe() string { return fmt.Sprintf("%s %v", e.Kind, e.Shape) }
