package train

import (
	"fmt"
	"time"

	"github.com/rigel-ml/rigel/nn"
)

// step trains on the batch at hand.
func (l *Learner) step() error {
	n, classes := l.batch.N, l.program.Classes()
	if err := l.program.Load(l.batch.X[:n*l.config.Train.Features()], l.batch.Labels[:n]); err != nil {
		return err
	}
	if err := l.program.Run(uint64(l.progress.Step)); err != nil {
		return err
	}
	for i := range l.gradients {
		var err error
		if l.gradients[i], err = l.program.Gradient(i); err != nil {
			return err
		}
	}
	norm, err := l.optimizer.Norm(l.gradients)
	if err != nil {
		return err
	}
	s := Step{Event: "step", Step: l.progress.Step + 1, Epoch: l.progress.Epoch + 1, Loss: l.program.Loss(),
		LR: l.config.LR.LR(l.progress.Step), GradNorm: norm}
	if !finite(s.Loss) || !finite(norm) {
		return fmt.Errorf("step %d: %w: loss %v, gradient norm %v; a smaller learning rate or clipping may help",
			s.Step, ErrNotFinite, s.Loss, norm)
	}
	if err := l.program.Output(l.output); err != nil {
		return err
	}
	if l.masks.Due(l.progress.Step) {
		err = l.updateMasks(s)
	} else {
		err = l.optimizer.Step(l.gradients, s.LR)
	}
	if err != nil {
		return err
	}
	r := &l.progress.Running
	r.Loss += s.Loss * float64(n)
	r.Samples += n
	r.Correct += correct(l.output, l.batch.Labels[:n], classes)
	l.progress.Step++
	if l.progress.Step%l.config.LogEvery == 0 {
		if err := l.log(s); err != nil {
			return err
		}
	}
	l.config.Observer.Step(s)
	return nil
}

func (l *Learner) updateMasks(s Step) error {
	began := time.Now()
	reports, err := l.masks.Update(s.Step - 1)
	if err != nil {
		return err
	}
	u := Update{Event: "update", Step: s.Step, Fraction: l.config.Masks.Schedule.DropFraction(s.Step - 1)}
	nnz, replaced := 0, 0
	for _, r := range reports {
		u.Layers = append(u.Layers, UpdateLayer{Name: r.Name, NNZ: r.NNZ, Replaced: r.Dropped})
		nnz += r.NNZ
		replaced += r.Dropped
	}
	u.Churn = float64(replaced) / float64(max(nnz, 1))
	u.Seconds = time.Since(began).Seconds()
	l.progress.Running.Updates++
	l.progress.Running.Churn += u.Churn
	if err := l.log(u); err != nil {
		return err
	}
	l.config.Observer.Update(u)
	return nil
}

// summary makes the metrics of a finished epoch from its sums.
func (l *Learner) summary() Epoch {
	r := l.progress.Running
	e := Epoch{Event: "epoch", Step: l.progress.Step, Epoch: l.progress.Epoch, Sparsity: nn.Sparsity(l.model.Params()),
		LR: l.config.LR.LR(max(l.progress.Step-1, 0)), OptimizerBytes: l.optimizer.Bytes()}
	for _, p := range l.model.Params() {
		e.WeightBytes += int64(4 * p.NNZ())
		if p.IsWeight() {
			e.NNZ += p.NNZ()
			e.Layers = append(e.Layers, EpochLayer{p.Name, p.NNZ(), 1 - float64(p.NNZ())/float64(p.Size())})
		}
		if p.Pattern != nil {
			e.WeightBytes += int64(4 * (len(p.Pattern.RowPtr()) + len(p.Pattern.ColIdx())))
		}
	}
	e.TrainLoss = r.Loss / float64(max(r.Samples, 1))
	e.TrainAccuracy = float64(r.Correct) / float64(max(r.Samples, 1))
	e.Churn = r.Churn / float64(max(r.Updates, 1))
	return e
}
