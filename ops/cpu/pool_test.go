package cpu

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// tally counts how often each piece was done, and by whom. The counts by worker
// are not atomic: the race detector would see two goroutines with one number.
type tally struct {
	pieces  []atomic.Int32
	workers []int
}

func newTally(pieces, workers int) *tally {
	return &tally{make([]atomic.Int32, pieces), make([]int, workers)}
}

func (c *tally) do(i, worker int) {
	c.pieces[i].Add(1)
	c.workers[worker]++
}

// requireOnce runs n pieces and wants each done once.
func requireOnce(t *testing.T, p *pool, n int) {
	t.Helper()
	c := newTally(n, p.workers)
	p.run(n, c)
	done := 0
	for i := range c.pieces {
		require.EqualValues(t, 1, c.pieces[i].Load(), "piece %d of %d", i, n)
	}
	for _, w := range c.workers {
		done += w
	}
	require.Equal(t, n, done)
}

func rounds(t *testing.T, p *pool, n int, seed uint64) {
	rng := newRNG(seed)
	for range n {
		requireOnce(t, p, rng.IntN(1001))
	}
}

// awaitSleep waits until all helpers of a pool sleep.
func awaitSleep(t *testing.T, p *pool) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, h := range p.helpers {
			if !h.asleep.Load() {
				return false
			}
		}
		return true
	}, time.Minute, time.Millisecond)
}

func TestPoolDoesEachPieceOnce(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for _, workers := range []int{1, 2, 3, 7} {
		t.Run(fmt.Sprint("workers=", workers), func(t *testing.T) {
			p := newPool(workers)
			defer p.close()
			for _, n := range []int{0, 1, 2, 1000} {
				requireOnce(t, p, n)
			}
			rounds(t, p, 200, uint64(workers))
		})
	}
}

func TestPoolWakesWhoSleeps(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	p := newPool(3)
	defer p.close()
	for range 20 {
		awaitSleep(t, p)
		requireOnce(t, p, 50)
		requireOnce(t, p, 50) // while they are awake
	}
}

// meeting is a task whose pieces wait for each other, so that it ends only if so
// many workers take part.
type meeting struct{ wait sync.WaitGroup }

func (m *meeting) do(_, _ int) {
	m.wait.Done()
	m.wait.Wait()
}

func TestPoolSharesWithEveryHelper(t *testing.T) {
	p := newPool(4)
	defer p.close()
	for i := range 20 {
		if i%2 == 0 {
			awaitSleep(t, p)
		}
		var m meeting
		m.wait.Add(p.workers)
		p.run(p.workers, &m)
	}
}

// lateWake has a helper wake the caller while it works: as one does that finished
// the round before, and got to see that the caller sleeps only in this one.
type lateWake struct {
	meeting
	p        *pool
	finished atomic.Bool
}

func (l *lateWake) do(i, worker int) {
	l.meeting.do(i, worker)
	if worker == 0 {
		return
	}
	for !l.p.waiting.CompareAndSwap(true, false) {
		runtime.Gosched()
	}
	l.p.done <- struct{}{}
	time.Sleep(10 * time.Millisecond) // long enough for the caller to leave, if it would
	l.finished.Store(true)
}

func TestPoolWaitsForTheRoundAtHand(t *testing.T) {
	p := newPool(2)
	defer p.close()
	l := lateWake{p: p}
	l.wait.Add(p.workers)
	p.run(p.workers, &l)
	require.True(t, l.finished.Load(), "run returned before its pieces were done")
	requireOnce(t, p, 100)
}

func TestPoolsSideBySide(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	var all sync.WaitGroup
	for seed := range uint64(4) {
		all.Go(func() {
			p := newPool(3)
			defer p.close()
			rounds(t, p, 50, seed)
		})
	}
	all.Wait()
}

func TestPoolCloses(t *testing.T) {
	for name, before := range map[string]func(t *testing.T, p *pool){
		"at once":          func(*testing.T, *pool) {},
		"while looking":    func(t *testing.T, p *pool) { requireOnce(t, p, 10) },
		"while asleep":     awaitSleep,
		"after some sleep": func(t *testing.T, p *pool) { awaitSleep(t, p); requireOnce(t, p, 10) },
	} {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			for range 20 {
				p := newPool(4)
				before(t, p)
				p.close()
				assert.NotPanics(t, p.close, "closing twice is fine")
			}
		})
	}
}

// TestForgottenBackendEndsItsWorkers: the documentation of New promises no
// Close.
func TestForgottenBackendEndsItsWorkers(t *testing.T) {
	current := goleak.IgnoreCurrent()
	NewThreads(4)
	require.Eventually(t, func() bool {
		runtime.GC()
		return goleak.Find(current) == nil
	}, time.Minute, time.Millisecond)
}
