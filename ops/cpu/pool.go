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
// looks for the next task for a while before it sleeps.
type pool struct {
	workers int
	helpers []*helper
	once    sync.Once
	closed  atomic.Bool

	// The task at hand, written before round moves.
	t       task
	n       int64
	round   atomic.Uint32
	next    atomic.Int64 // piece to take
	pending atomic.Int32 // helpers that have not finished the round
}

// helper is a worker with a goroutine of its own.
type helper struct {
	asleep atomic.Bool
	wake   chan struct{}
}

// spins is how often a worker looks before it sleeps: some 50 µs.
const spins = 1 << 15

func newPool(workers int) *pool {
	p := &pool{workers: workers}
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
		p.pending.Add(-1)
	}
}

// await returns the number of the round that follows.
func (p *pool) await(round uint32, h *helper) uint32 {
	for i := range spins {
		if now := p.round.Load(); now != round {
			return now
		}
		if i%1024 == 1023 {
			runtime.Gosched()
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
	for i := 0; p.pending.Load() > 0; i++ {
		if i%256 == 255 {
			runtime.Gosched()
		}
	}
	p.t = nil
}

func (p *pool) close() {
	p.once.Do(func() {
		p.closed.Store(true)
		p.begin()
	})
}
