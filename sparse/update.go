package sparse

import "math"

// Delta tells where each value of an updated pattern came from.
type Delta struct {
	// From has one entry for each position of the new pattern: its position
	// before the update, or -1 where the connection is new.
	From []int32
	// OldNNZ is the number of positions before the update.
	OldNNZ int
	// Dropped and Grown count the connections that left and that arrived. A
	// connection both dropped and grown in one update counts in neither.
	Dropped, Grown int
}

// Move rearranges values of the old pattern into the order of the new one and
// returns them. New connections get the zero value. The result shares no memory
// with values.
func Move[T any](d *Delta, values []T) ([]T, error) {
	if len(values) != d.OldNNZ {
		return nil, invalid("delta moves %d values, got %d", d.OldNNZ, len(values))
	}
	out := make([]T, len(d.From))
	for p, from := range d.From {
		if from >= 0 {
			out[p] = values[from]
		}
	}
	return out, nil
}

// Update removes the positions in drop and then stores the cells in grow, in
// place, and raises the version. drop holds positions of the pattern, grow cell
// numbers (row·cols + column); both strictly ascending. A cell may be dropped
// and grown in the same call: it stays, and its Delta entry points at its old
// position, so that it keeps value and optimizer state.
//
// Where len(drop) == len(grow) no index array changes length. On error the
// pattern is unchanged.
func (p *Pattern) Update(drop []int32, grow []int64) (*Delta, error) {
	if err := p.checkUpdate(drop, grow); err != nil {
		return nil, err
	}
	nnz := p.NNZ() - len(drop) + len(grow)
	d := &Delta{From: make([]int32, 0, nnz), OldNNZ: p.NNZ(), Dropped: len(drop), Grown: len(grow)}
	rowPtr := make([]int32, 1, p.rows+1)
	colIdx := make([]int32, 0, nnz)

	pos := int32(0)
	for i := range p.rows {
		base, end := int64(i)*int64(p.cols), p.rowPtr[i+1]
		for {
			// The next stored cell and the next grown one of this row.
			stored, grown := int64(math.MaxInt64), int64(math.MaxInt64)
			if pos < end {
				stored = base + int64(p.colIdx[pos])
			}
			if len(grow) > 0 && grow[0] < base+int64(p.cols) {
				grown = grow[0]
			}
			if stored == grown && stored == math.MaxInt64 {
				break
			}
			dropped := stored <= grown && len(drop) > 0 && drop[0] == pos
			switch {
			case grown < stored:
				colIdx, d.From = append(colIdx, int32(grown-base)), append(d.From, -1)
				grow = grow[1:]
				continue
			case grown == stored && !dropped:
				return nil, invalid("grown cell (%d, %d) is stored already", i, p.colIdx[pos])
			case grown == stored: // dropped and grown back: it never left
				grow = grow[1:]
				d.Dropped--
				d.Grown--
				fallthrough
			case !dropped:
				colIdx, d.From = append(colIdx, p.colIdx[pos]), append(d.From, pos)
			}
			if dropped {
				drop = drop[1:]
			}
			pos++
		}
		rowPtr = append(rowPtr, int32(len(colIdx)))
	}
	copy(p.rowPtr, rowPtr)
	if len(colIdx) == len(p.colIdx) {
		copy(p.colIdx, colIdx)
	} else {
		p.colIdx = colIdx
	}
	p.version++
	return d, nil
}

func (p *Pattern) checkUpdate(drop []int32, grow []int64) error {
	if !strictlyAscending(drop) || !strictlyAscending(grow) {
		return notCanonical("dropped positions and grown cells must be strictly ascending")
	}
	if n := len(drop); n > 0 && (drop[0] < 0 || int(drop[n-1]) >= p.NNZ()) {
		return invalid("dropped positions %d to %d, want 0 to %d", drop[0], drop[n-1], p.NNZ()-1)
	}
	if n := len(grow); n > 0 && (grow[0] < 0 || grow[n-1] >= p.Cells()) {
		return invalid("grown cells %d to %d, want 0 to %d", grow[0], grow[n-1], p.Cells()-1)
	}
	return checkNNZ(p.rows, p.cols, int64(p.NNZ())-int64(len(drop))+int64(len(grow)))
}

func strictlyAscending[T int32 | int64](s []T) bool {
	for i := 1; i < len(s); i++ {
		if s[i] <= s[i-1] {
			return false
		}
	}
	return true
}

// Set replaces the positions by those of other CSR arrays with the same number
// of rows and of non-zeros, and raises the version. It copies its input. On
// error the pattern is unchanged.
func (p *Pattern) Set(rowPtr, colIdx []int32) error {
	q, err := NewPattern(p.rows, p.cols, rowPtr, colIdx)
	if err != nil {
		return err
	}
	if q.NNZ() != p.NNZ() {
		return invalid("nnz = %d, want %d as before", q.NNZ(), p.NNZ())
	}
	copy(p.rowPtr, rowPtr)
	copy(p.colIdx, colIdx)
	p.version++
	return nil
}
