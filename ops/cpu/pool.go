package cpu

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// task is work in numbered pieces that may run in any order.
type task interface {
	do(i, worker int)
}

// pool shares the pieces of a task among a fixed set of goroutines. The caller
// of run is worker 0; the others join a round while it is open.
//
// A training step is a few dozen tasks of some tens of microseconds, about as
// long as it takes to wake a sleeping thread. So a helper that has nothing to do
// looks for the next round for a while before it sleeps, and the caller waits for
// those who joined alone: one who wakes late finds the round closed. Nobody
// yields while looking: a goroutine that yields may come back on the processor of
// the one it waits for, and stay there.
type pool struct {
	workers int
	spins   int // how often to look
	helpers []*helper
	once    sync.Once
	ended   atomic.Bool

	// The task at hand, written before its round opens.
	t    task
	n    int64
	next atomic.Int64 // piece to take

	round atomic.Uint64 // number, whether it is closed, how many joined
	left  atomic.Int64  // how many of those have finished

	waiting atomic.Bool // the caller sleeps until they have
	done    chan struct{}
}

// A round in one word, so that joining and closing exclude each other.
const (
	joinedMask = 1<<16 - 1
	closed     = 1 << 16
	roundUnit  = 1 << 17
)

// helper is a worker with a goroutine of its own.
type helper struct {
	asleep atomic.Bool
	wake   chan struct{}
}

// manySpins take about 50 µs.
const manySpins = 1 << 17

func newPool(workers int) *pool {
	p := &pool{workers: min(workers, joinedMask), spins: manySpins, done: make(chan struct{}, 1)}
	p.round.Store(closed)
	if workers > runtime.GOMAXPROCS(0) {
		p.spins = 0 // who looks keeps others from working
	}
	for i := range p.workers - 1 {
		h := &helper{wake: make(chan struct{}, 1)}
		p.helpers = append(p.helpers, h)
		go p.work(i+1, h)
	}
	return p
}

// run does the n pieces of t and returns when all are done. A task of one
// piece, or a pool of one worker, stays on the calling goroutine.
func (p *pool) run(n int, t task) {
	if n <= 1 || len(p.helpers) == 0 {
		for i := range n {
			t.do(i, 0)
		}
		return
	}
	p.t, p.n = t, int64(n)
	p.next.Store(0)
	p.left.Store(0)
	p.open()
	p.drain(0)
	p.finish()
	p.t = nil
}

// open starts a round and wakes who sleeps.
func (p *pool) open() {
	p.round.Store((p.round.Load()/roundUnit + 1) * roundUnit)
	for _, h := range p.helpers {
		if h.asleep.CompareAndSwap(true, false) {
			h.wake <- struct{}{}
		}
	}
}

// drain takes pieces until none is left.
func (p *pool) drain(worker int) {
	for {
		i := p.next.Add(1) - 1
		if i >= p.n {
			return
		}
		p.t.do(int(i), worker)
	}
}

// finish closes the round and returns when those who joined have finished. Like
// them it looks for a while before it sleeps: where other programs want the
// processors, the helper that is waited for may need this one.
func (p *pool) finish() {
	joined := int64(p.round.Or(closed) & joinedMask)
	for range p.spins {
		if p.left.Load() == joined {
			return
		}
	}
	for p.left.Load() != joined {
		p.waiting.Store(true)
		if p.left.Load() == joined && p.waiting.CompareAndSwap(true, false) {
			return // the last helper finished while the caller went to sleep
		}
		<-p.done // by any helper: look again
	}
}

func (p *pool) work(worker int, h *helper) {
	for seen := uint64(0); ; {
		seen = p.await(seen, h)
		if p.ended.Load() {
			return
		}
		if !p.join(seen) {
			continue
		}
		p.drain(worker)
		p.left.Add(1)
		if p.waiting.CompareAndSwap(true, false) {
			p.done <- struct{}{}
		}
	}
}

// join reports whether the round of this number was open and now has one more
// worker.
func (p *pool) join(number uint64) bool {
	for {
		r := p.round.Load()
		if r/roundUnit != number || r&closed != 0 {
			return false
		}
		if p.round.CompareAndSwap(r, r+1) {
			return true
		}
	}
}

// await returns the number of a round that follows the one seen last.
func (p *pool) await(seen uint64, h *helper) uint64 {
	for range p.spins {
		if now := p.round.Load() / roundUnit; now != seen {
			return now
		}
	}
	h.asleep.Store(true)
	if now := p.round.Load() / roundUnit; now != seen && h.asleep.CompareAndSwap(true, false) {
		return now // the round opened while this helper went to sleep
	}
	<-h.wake
	return p.round.Load() / roundUnit
}

// close ends the helpers.
func (p *pool) close() {
	p.once.Do(func() {
		p.ended.Store(true)
		p.open()
	})
}
