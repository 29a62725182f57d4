package cpu

import (
	"sync"
	"sync/atomic"
)

// task is work in numbered pieces that may run in any order.
type task interface {
	do(i, worker int)
}

// pool shares the pieces of a task among a fixed set of goroutines. The caller
// of run is worker 0.
type pool struct {
	workers int
	wake    []chan struct{} // one for each worker but the caller
	once    sync.Once

	// The task at hand, written before the workers wake.
	t    task
	n    int64
	next atomic.Int64
	done sync.WaitGroup
}

func newPool(workers int) *pool {
	p := &pool{workers: workers, wake: make([]chan struct{}, workers-1)}
	for i := range p.wake {
		p.wake[i] = make(chan struct{}, 1)
		go p.work(i+1, p.wake[i])
	}
	return p
}

func (p *pool) work(worker int, wake <-chan struct{}) {
	for range wake {
		p.drain(worker)
		p.done.Done()
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
	helpers := min(p.workers, n) - 1
	if helpers < 1 {
		for i := range n {
			t.do(i, 0)
		}
		return
	}
	p.t, p.n = t, int64(n)
	p.next.Store(0)
	p.done.Add(helpers)
	for _, wake := range p.wake[:helpers] {
		wake <- struct{}{}
	}
	p.drain(0)
	p.done.Wait()
	p.t = nil
}

func (p *pool) close() {
	p.once.Do(func() {
		for _, wake := range p.wake {
			close(wake)
		}
	})
}
