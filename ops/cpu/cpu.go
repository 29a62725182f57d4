// Package cpu is the backend for the processor: float32 kernels over panels,
// shared out over a pool of goroutines.
//
// Work is cut by the problem (panels, blocks of rows), never by the number of
// threads, and every sum is added up in one fixed order, so the same inputs
// give the same bits on any number of threads.
package cpu

import (
	"fmt"
	"os"
	"runtime"

	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/sparse"
)

// Backend runs kernels in float32 on the processor.
type Backend struct {
	tensor.StdEng
	pool    *pool
	isa     isa
	kernels *kernels
	err     error // why nothing can be planned
}

var _ ops.Backend = (*Backend)(nil)

// New returns a backend with one thread for each processor that Go may use
// (GOMAXPROCS).
func New() *Backend { return NewThreads(runtime.GOMAXPROCS(0)) }

// NewThreads returns a backend with so many threads, and at least one. It uses
// the best instruction set of the processor, or the one that the environment
// variable Env names; if that cannot be had, every Plan says so.
func NewThreads(n int) *Backend {
	set, err := chosenISA(os.Getenv(Env))
	return newBackend(n, set, err)
}

// Options say how a backend is made.
type Options struct {
	Threads int    // GOMAXPROCS if 0
	ISA     string // avx512, avx2 or generic; the best of the processor if empty
}

// Open returns a backend with these options, or an error if the processor does
// not have the instruction set.
func Open(o Options) (*Backend, error) {
	if o.Threads < 0 {
		return nil, fmt.Errorf("cpu: %d threads", o.Threads)
	}
	if o.Threads == 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	set, err := chosenISA(o.ISA)
	if err != nil {
		return nil, err
	}
	return newBackend(o.Threads, set, nil), nil
}

func newBackend(threads int, set isa, err error) *Backend {
	b := &Backend{pool: newPool(max(threads, 1)), isa: set, kernels: kernelsOf(set), err: err}
	// The workers hold the pool, not the backend, so a backend that nobody
	// holds any more releases them.
	runtime.AddCleanup(b, (*pool).close, b.pool)
	return b
}

// ISA names the instruction set in use: generic, avx2 or avx512.
func (b *Backend) ISA() string { return b.isa.String() }

// Close ends the backend's worker goroutines. Kernels planned on it must not
// run afterwards. Closing twice is fine.
func (b *Backend) Close() error {
	b.pool.close()
	return nil
}

// Threads returns how many threads share the work.
func (b *Backend) Threads() int { return b.pool.workers }

// Device returns "cpu".
func (*Backend) Device() string { return "cpu" }

// Dtype returns tensor.Float32.
func (*Backend) Dtype() tensor.Dtype { return tensor.Float32 }

// New returns a zeroed tensor in ordinary memory.
func (b *Backend) New(dt tensor.Dtype, shape ...int) (*tensor.Dense, error) {
	if dt != tensor.Float32 && dt != tensor.Int32 {
		return nil, fmt.Errorf("%w: dtype %v on %s", ops.ErrNotImplemented, dt, b.Device())
	}
	return tensor.New(tensor.Of(dt), tensor.WithShape(shape...)), nil
}

// Order is that of the tiled form, in which the kernels read the values.
func (b *Backend) Order(p *sparse.Pattern) []int32 {
	order := make([]int32, p.NNZ())
	forwardForm(p).walk(p.RowPtr(), func(k int, pos int32) { order[k] = pos })
	return order
}

// Upload copies src into dst.
func (b *Backend) Upload(dst *tensor.Dense, src []float32) error {
	if err := ops.CheckTransfer(dst, tensor.Float32, len(src)); err != nil {
		return err
	}
	copy(dst.Float32s(), src)
	return nil
}

// UploadInt32 copies src into dst.
func (b *Backend) UploadInt32(dst *tensor.Dense, src []int32) error {
	if err := ops.CheckTransfer(dst, tensor.Int32, len(src)); err != nil {
		return err
	}
	copy(dst.Int32s(), src)
	return nil
}

// Download copies src into dst.
func (b *Backend) Download(dst []float32, src *tensor.Dense) error {
	if err := ops.CheckTransfer(src, tensor.Float32, len(dst)); err != nil {
		return err
	}
	copy(dst, src.Float32s())
	return nil
}

// computation is one planned kernel. Its tasks are independent of each other
// and may run in any order on any worker.
type computation interface {
	// bind takes the checked operands of the next run and returns how many
	// tasks it has. It may prepare scratch memory, on one goroutine. It fails
	// only for contents that make no sense, such as a label out of range.
	bind(out *tensor.Dense, in []*tensor.Dense) (tasks int, err error)
	// do runs task i on the worker of this number.
	do(i, worker int)
	// finish runs once, after all tasks, for what must be added up in order.
	finish()
}

// independent is embedded by computations whose tasks leave nothing to finish.
type independent struct{}

func (independent) finish() {}

// kernel makes an ops.Kernel of a computation.
type kernel struct {
	b   *Backend
	op  ops.Op
	sig ops.Signature
	c   computation
	// alone is set where the work is over before another thread would have
	// begun.
	alone bool
}

// Run checks the operands and computes.
func (k *kernel) Run(out *tensor.Dense, in []*tensor.Dense) error {
	if err := k.sig.Check(k.b, k.op, out, in); err != nil {
		return err
	}
	n, err := k.c.bind(out, in)
	if err != nil {
		return err
	}
	if k.alone {
		for i := range n {
			k.c.do(i, 0)
		}
	} else {
		k.b.pool.run(n, k.c)
	}
	k.c.finish()
	return nil
}
