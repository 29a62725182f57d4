package rigl

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/rigel-ml/rigel/sparse"
)

// Method is what is dropped and what is grown. A method without Drop and Grow
// leaves the masks as they were drawn.
type Method struct {
	Name string
	Drop Drop
	Grow Grow
}

// Static keeps the initial mask.
func Static() Method { return Method{Name: "static"} }

// SET drops the smallest weights and grows connections at random (Mocanu et
// al., Nature Communications 2018).
func SET() Method { return Method{Name: "set", Drop: SmallestMagnitude, Grow: AtRandom} }

// RigL drops the smallest weights and grows where the gradient is largest (Evci
// et al., ICML 2020).
func RigL() Method { return Method{Name: "rigl", Drop: SmallestMagnitude, Grow: LargestGradient} }

// Methods returns the methods by name.
func Methods() map[string]Method {
	m := map[string]Method{}
	for _, method := range []Method{Static(), SET(), RigL()} {
		m[method.Name] = method
	}
	return m
}

// moves reports whether the method changes masks at all.
func (m Method) moves() bool { return m.Drop != nil && m.Grow != nil }

func (m Method) check() error {
	if (m.Drop == nil) != (m.Grow == nil) {
		return fmt.Errorf("rigl: method %q drops or grows but does not do both, and so would not keep its budget", m.Name)
	}
	return nil
}

// Drop chooses k of a layer's connections to drop: their positions in the
// weights w, ascending.
type Drop func(w []float32, k int) []int32

// Grow chooses k cells of a layer (row·in + column, ascending) to grow among
// all that are not kept: those without a connection, and those at the positions
// being dropped, which may so come back.
type Grow func(l *Layer, k int, dropped []int32, rng *rand.Rand) ([]int64, error)

// SmallestMagnitude drops the weights nearest to zero. Of equals the earlier
// position goes first; a NaN goes last.
func SmallestMagnitude(w []float32, k int) []int32 {
	dropped := make([]int32, 0, k)
	if k == 0 {
		return dropped
	}
	limit := kthMagnitude(w, k)
	below := 0
	for _, v := range w {
		if magnitude(v) < limit {
			below++
		}
	}
	ties := k - below // of those equal to the k-th, so many go
	for i, v := range w {
		switch m := magnitude(v); {
		case m < limit:
			dropped = append(dropped, int32(i))
		case m == limit && ties > 0:
			dropped = append(dropped, int32(i))
			ties--
		}
	}
	return dropped
}

// magnitude orders absolute values: without the sign, the bits of floats are
// ordered as the numbers are, and those of every NaN lie above those of infinity.
func magnitude(v float32) uint32 {
	const sign, firstNaN = 1 << 31, 0x7f800001
	return min(math.Float32bits(v)&^sign, firstNaN)
}

// kthMagnitude returns the k-th smallest magnitude, from 1, by counting 8 bits at
// a time, the highest first.
func kthMagnitude(w []float32, k int) uint32 {
	var prefix, known uint32
	for shift := 24; shift >= 0; shift -= 8 {
		var count [256]int
		for _, v := range w {
			if m := magnitude(v); m&known == prefix {
				count[m>>shift&0xff]++
			}
		}
		digit := 0
		for ; k > count[digit]; digit++ {
			k -= count[digit]
		}
		prefix |= uint32(digit) << shift
		known |= 0xff << shift
	}
	return prefix
}

// LargestGradient grows where |dY Xᵀ| of the present batch is largest.
func LargestGradient(l *Layer, k int, dropped []int32, _ *rand.Rand) ([]int64, error) {
	return l.LargestGradients(k, dropped)
}

// AtRandom grows uniformly at random.
func AtRandom(l *Layer, k int, dropped []int32, rng *rand.Rand) ([]int64, error) {
	p := l.Param.Pattern
	free := p.Cells() - int64(p.NNZ()-len(dropped))
	ranks, err := sparse.Sample(free, k, rng)
	if err != nil {
		return nil, err
	}
	return unranked(p, dropped, ranks), nil
}

// unranked turns ranks among the cells that are not kept into cell numbers. All
// are ascending, so one walk over the kept cells does: between two of them, a
// free cell of rank r is the number r plus the kept cells passed so far.
func unranked(p *sparse.Pattern, dropped []int32, ranks []int64) []int64 {
	cells := make([]int64, 0, len(ranks))
	passed := int64(0)
	emit := func(below int64) { // those that lie before the kept cell
		for len(ranks) > 0 && ranks[0]+passed < below {
			cells = append(cells, ranks[0]+passed)
			ranks = ranks[1:]
		}
	}
	for pos, kept := range p.AppendCells(nil) {
		if len(dropped) > 0 && int(dropped[0]) == pos {
			dropped = dropped[1:]
			continue
		}
		emit(kept)
		passed++
	}
	emit(p.Cells())
	return cells
}
