package datasets

import (
	"errors"
	"fmt"
	"strings"
)

// State is where a [Loader] stands, for a checkpoint. Epoch and Position are the
// place; the other fields are there so that [Loader.Restore] can refuse a loader
// that would go on differently.
type State struct {
	// Epoch counts from 0.
	Epoch int `json:"epoch"`
	// Position is the number of samples already served in this epoch.
	Position int `json:"position"`

	Samples  int    `json:"samples"`
	Batch    int    `json:"batch"`
	Shuffle  bool   `json:"shuffle"`
	Seed     uint64 `json:"seed"`
	DropLast bool   `json:"drop_last"`
	// LabelSum is the CRC-32 of the labels in the order of the set: it tells
	// apart sets of equal size, such as MNIST and Fashion-MNIST, and two orders
	// of one set.
	LabelSum uint32 `json:"label_sum"`
}

// State returns the position before the next batch.
func (l *Loader) State() State { return l.state }

// Restore moves the loader to the position st, from which on it serves the same
// batches, bit for bit, as the loader that st was taken from. It fails, naming
// every difference and leaving the loader where it was, when st is of another
// set or of other settings, or is not a position between batches.
func (l *Loader) Restore(st State) error {
	if l.set == nil {
		return errors.New("datasets: restore: the loader was not made by NewLoader")
	}
	var faults []string
	differ := func(field string, state, loader any) {
		if state != loader {
			faults = append(faults, fmt.Sprintf("%s is %v in the state but %v in this loader", field, state, loader))
		}
	}
	differ("samples", st.Samples, l.state.Samples)
	differ("batch", st.Batch, l.state.Batch)
	differ("shuffle", st.Shuffle, l.state.Shuffle)
	differ("seed", st.Seed, l.state.Seed)
	differ("drop_last", st.DropLast, l.state.DropLast)
	differ("label_sum", st.LabelSum, l.state.LabelSum)
	if st.Epoch < 0 {
		faults = append(faults, fmt.Sprintf("epoch is %d; it counts from 0", st.Epoch))
	}
	if !l.atBoundary(st.Position) {
		faults = append(faults, fmt.Sprintf("position %d is not between two batches of %d in %d samples",
			st.Position, l.state.Batch, l.state.Samples))
	}
	if len(faults) > 0 {
		return fmt.Errorf("datasets: restore a loader of %q: %s", l.set.name, strings.Join(faults, "; "))
	}
	l.state = st
	l.shuffle()
	return nil
}

// atBoundary reports whether an epoch of this loader passes through position.
func (l *Loader) atBoundary(position int) bool {
	if position < 0 || position > l.state.Samples {
		return false
	}
	return position%l.state.Batch == 0 || position == l.state.Samples && !l.state.DropLast
}
