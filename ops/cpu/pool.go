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
// of run is worker 0.
//
// A training step is a few dozen tasks of some tens of microseconds, about as
// long as it takes to wake a sleeping thread. So a worker that has nothing to do
// looks for the next task for a while before it sleeps. It does not yield while it
// looks: a goroutine that yields may come back on the processor of the one it
// waits for, and stay there.
type pool struct {
	workers int
	spins   int // how often to look
	helpers []*helper
	once    sync.Once
	closed  atomic.Bool

	// The task at hand, written before round moves.
	t       task
	n       int64
	round   atomic.Uint32
	next    atomic.Int64 // piece to take
	pending atomic.Int32 // helpers that have not finished the round

	waiting atomic.Bool // the caller sleeps until they have
	done    chan struct{}
}

// helper is a worker with a goroutine of its own.
type helper struct {
	asleep atomic.Bool
	wake   chan struct{}
}

// manySpins take about 50 µs.
const manySpins = 1 << 17

func newPool(workers int) *pool {
	p := &pool{workers: workers, spins: manySpins, done: make(chan struct{}, 1)}
	if workers > runtime.GOMAXPROCS(0) {
		p.spins = 0 // who looks keeps others from working
	}
	for i := range workers - 1 {
		h := &helper{wake: make(chan struct{}, 1)}
		p.helpers = append(p.helpers, h)
		go p.work(i+1, h)
	}
	return p
}

func (p *pool) work(worker int, h *helper) {
	for round := uint32(0); ; {
		round = p.await(round, h)
		if p.closed.Load() {
			return
		}
		p.drain(worker)
		if p.pending.Add(-1) == 0 && p.waiting.CompareAndSwap(true, false) {
			p.done <- struct{}{}
		}
	}
}

// await returns the number of the round that follows.
func (p *pool) await(round uint32, h *helper) uint32 {
	for range p.spins {
		if now := p.round.Load(); now != round {
			return now
		}
	}
	h.asleep.Store(true)
	if now := p.round.Load(); now != round && h.asleep.CompareAndSwap(true, false) {
		return now // the round began while this helper went to sleep
	}
	<-h.wake
	return p.round.Load()
}

// begin starts a round and wakes who sleeps.
func (p *pool) begin() {
	p.round.Add(1)
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
	p.pending.Store(int32(len(p.helpers)))
	p.begin()
	p.drain(0)
	p.finish()
	p.t = nil
}

// finish returns when the helpers have finished the round. Like them it looks for
// a while before it sleeps: where other programs want the processors, the
// helper that is waited for may need this one.
func (p *pool) finish() {
	for range p.spins {
		if p.pending.Load() == 0 {
			return
		}
	}
	p.waiting.Store(true)
	if p.pending.Load() == 0 && p.waiting.CompareAndSwap(true, false) {
		return // the last helper finished while the caller went to sleep
	}
	<-p.done
}

func (p *pool) close() {
	p.once.Do(func() {
		p.closed.Store(true)
		p.begin()
	})
}
