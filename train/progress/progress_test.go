package progress_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rigel-ml/rigel/train"
	"github.com/rigel-ml/rigel/train/progress"
)

func TestLines(t *testing.T) {
	var out strings.Builder
	o := progress.Lines(&out)
	o.Begin(train.Begin{Epochs: 10, StepsPerEpoch: 5, Step: 15})
	o.Step(train.Step{Step: 16, Loss: 1})
	o.Epoch(train.Epoch{Epoch: 4, TrainLoss: 0.25, TrainAccuracy: 0.9, ValidLoss: 0.5, ValidAccuracy: 0.8,
		Sparsity: 0.9, Churn: 0.1, LR: 0.1, SamplesPerSecond: 1000, Seconds: 2})
	o.Epoch(train.Epoch{Epoch: 5})
	o.Warn("disk is full")
	o.End()
	assert.Equal(t, strings.Join([]string{
		"resumed after step 15 of 50",
		"epoch  4/10  train 0.2500 acc 90.00 %  test 0.5000 acc 80.00 %  sparsity 90.00 %  churn 10.0 %  lr 0.1  1000 samples/s  2.0 s",
		"epoch  5/10  train 0.0000 acc 0.00 %  sparsity 0.00 %  churn 0.0 %  lr 0  0 samples/s  0.0 s",
		"warning: disk is full",
		"",
	}, "\n"), out.String())
}
