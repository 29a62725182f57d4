package datasets

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
)

// DefaultBatch is the batch size of a zero [LoaderConfig].
const DefaultBatch = 64

// LoaderConfig says how a [Loader] cuts a set into batches.
type LoaderConfig struct {
	// Batch is the number of samples in a batch; zero means DefaultBatch.
	Batch int
	// Shuffle visits the samples of each epoch in an order of its own.
	Shuffle bool
	// Seed picks the orders; the order of an epoch depends on the seed, the
	// epoch and the number of samples, on nothing else.
	Seed uint64
	// DropLast leaves out the samples that remain at the end of an epoch when
	// they do not fill a batch. By default they make a short batch.
	DropLast bool
}

// Batch is what [Loader.Next] fills. The caller owns it and its slices; Next
// sizes them on first use and then writes over them.
type Batch struct {
	// X is row-major, batch × features, normalized. Rows from N on are zero.
	X []float32
	// Labels has one class a row. Those from N on are -1.
	Labels []int32
	// N is the number of rows in use, below the batch size only for the short
	// batch at the end of an epoch.
	N int
}

// Loader serves a set in mini-batches, epoch by epoch, without end. It is not
// safe for concurrent use; any number of loaders may share a set.
type Loader struct {
	set   *Set
	state State
	order []int32 // samples in the order of this epoch; nil unless shuffled
}

// NewLoader returns a loader at the start of epoch 0. It fails when the set is
// nil or empty, when the batch size is negative or a batch would hold 2^31
// values or more, or when DropLast would leave an epoch without any batch.
func NewLoader(s *Set, cfg LoaderConfig) (*Loader, error) {
	if s == nil || s.Len() == 0 {
		return nil, errors.New("datasets: loader: the set is empty")
	}
	if cfg.Batch == 0 {
		cfg.Batch = DefaultBatch
	}
	if limit := math.MaxInt32 / s.features; cfg.Batch < 0 || cfg.Batch > limit {
		return nil, fmt.Errorf("datasets: loader of %q: batch is %d; want between 1 and %d for samples of %d features",
			s.name, cfg.Batch, limit, s.features)
	}
	if cfg.DropLast && cfg.Batch > s.Len() {
		return nil, fmt.Errorf("datasets: loader of %q: a batch of %d with DropLast drops all %d samples",
			s.name, cfg.Batch, s.Len())
	}
	l := &Loader{set: s, state: State{
		Samples:  s.Len(),
		Batch:    cfg.Batch,
		Shuffle:  cfg.Shuffle,
		Seed:     cfg.Seed,
		DropLast: cfg.DropLast,
		LabelSum: labelSum(s),
	}}
	if cfg.Shuffle {
		l.order = make([]int32, s.Len())
	}
	l.shuffle()
	return l, nil
}

// Next fills b with the next batch of the epoch and returns true. At the end of
// the epoch it returns false instead and leaves b alone; the call after that
// serves the first batch of the next epoch. So a for loop over Next is one epoch.
//
// b may be a zero Batch; once it has the size of this loader's batches, Next
// does not allocate. A nil b skips the batch.
func (l *Loader) Next(b *Batch) bool {
	n := min(l.state.Batch, l.state.Samples-l.state.Position)
	if n == 0 || l.state.DropLast && n < l.state.Batch {
		l.state.Epoch++
		l.state.Position = 0
		l.shuffle()
		return false
	}
	if b != nil {
		l.fill(b, n)
	}
	l.state.Position += n
	return true
}

// Batches returns the number of batches in an epoch, the short one included.
func (l *Loader) Batches() int {
	if l.set == nil { // the zero Loader
		return 0
	}
	n := l.state.Samples / l.state.Batch
	if !l.state.DropLast && l.state.Samples%l.state.Batch > 0 {
		n++
	}
	return n
}

// fill writes the n samples from the current position on to b, and pads it.
func (l *Loader) fill(b *Batch, n int) {
	batch, features := l.state.Batch, l.set.features
	b.X = slices.Grow(b.X[:0], batch*features)[:batch*features]
	b.Labels = slices.Grow(b.Labels[:0], batch)[:batch]
	b.N = n
	for k := range n {
		i := l.state.Position + k
		if l.order != nil {
			i = int(l.order[i])
		}
		row := l.set.row(i)
		l.set.fill(b.X[k*features:(k+1)*features], row)
		b.Labels[k] = l.set.labels[row]
	}
	clear(b.X[n*features:])
	for k := n; k < batch; k++ {
		b.Labels[k] = -1
	}
}

// shuffle puts the samples in the order of the current epoch.
func (l *Loader) shuffle() {
	if l.order != nil {
		permute(l.order, l.state.Seed, uint64(l.state.Epoch))
	}
}

// labelSum is a checksum of the labels of s in order.
func labelSum(s *Set) uint32 {
	var sum uint32
	var buf [4]byte
	for i := range s.Len() {
		binary.LittleEndian.PutUint32(buf[:], uint32(s.labels[s.row(i)]))
		sum = crc32.Update(sum, crc32.IEEETable, buf[:])
	}
	return sum
}
