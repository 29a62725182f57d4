package train

import (
	"errors"
	"fmt"

	"github.com/rigel-ml/rigel/datasets"
	"github.com/rigel-ml/rigel/nn"
	"github.com/rigel-ml/rigel/ops"
)

// evalBatch is how many samples an evaluation takes at a time.
const evalBatch = 256

// Evaluate returns the mean loss and the accuracy of a model on a set, with
// dropout off. A nil loss is nn.CrossEntropy.
func Evaluate(b ops.Backend, m nn.Module, loss nn.Loss, s *datasets.Set) (meanLoss, accuracy float64, err error) {
	e, err := newEvaluator(b, m, loss, s)
	if err != nil {
		return 0, 0, err
	}
	return e.run()
}

// evaluator keeps the compiled model from one evaluation to the next.
type evaluator struct {
	program *nn.Program
	loader  *datasets.Loader
	batch   datasets.Batch
	output  []float32
	set     *datasets.Set
}

func newEvaluator(b ops.Backend, m nn.Module, loss nn.Loss, s *datasets.Set) (*evaluator, error) {
	if b == nil || s == nil {
		return nil, errors.New("train: evaluating needs a backend and a set")
	}
	n := min(evalBatch, s.Len())
	p, err := nn.Compile(b, nn.ProgramConfig{Model: m, Loss: loss, Features: s.Features(), Batch: n})
	if err != nil {
		return nil, err
	}
	if p.Classes() < s.Classes() {
		return nil, fmt.Errorf("train: the model has %d outputs, the data %d classes", p.Classes(), s.Classes())
	}
	l, err := datasets.NewLoader(s, datasets.LoaderConfig{Batch: n})
	return &evaluator{program: p, loader: l, output: make([]float32, n*p.Classes()), set: s}, err
}

func (e *evaluator) run() (loss, accuracy float64, err error) {
	hits, samples := 0, 0
	for e.loader.Next(&e.batch) {
		n := e.batch.N
		if err := e.program.Load(e.batch.X[:n*e.set.Features()], e.batch.Labels[:n]); err != nil {
			return 0, 0, err
		}
		if err := e.program.Run(0); err != nil {
			return 0, 0, err
		}
		if err := e.program.Output(e.output); err != nil {
			return 0, 0, err
		}
		loss += e.program.Loss() * float64(n)
		hits += correct(e.output, e.batch.Labels[:n], e.program.Classes())
		samples += n
	}
	return loss / float64(samples), float64(hits) / float64(samples), nil
}

// correct counts the samples whose largest output is that of the label. Of
// equal outputs the first counts.
func correct(output []float32, labels []int32, classes int) int {
	n := 0
	for i, label := range labels {
		row, best := output[i*classes:(i+1)*classes], 0
		for c, v := range row {
			if v > row[best] {
				best = c
			}
		}
		if int32(best) == label {
			n++
		}
	}
	return n
}
