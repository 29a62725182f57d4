package train

// Observer sees a run as it goes. Its methods are called on the goroutine that
// trains and hold it up while they run.
type Observer interface {
	Begin(Begin)
	Step(Step)
	Update(Update)
	Epoch(Epoch)
	Warn(message string)
	// End is called once, however the run ended.
	End()
}

// Silent is an Observer that does nothing. Embed it to observe only some events.
type Silent struct{}

// Begin does nothing.
func (Silent) Begin(Begin) {}

// Step does nothing.
func (Silent) Step(Step) {}

// Update does nothing.
func (Silent) Update(Update) {}

// Epoch does nothing.
func (Silent) Epoch(Epoch) {}

// Warn does nothing.
func (Silent) Warn(string) {}

// End does nothing.
func (Silent) End() {}

// Begin tells what lies ahead.
type Begin struct {
	Epochs, StepsPerEpoch int
	Step                  int // steps taken before, in a resumed run
}

// The events below are also the lines of metrics.jsonl. Event tells them apart.

// Step is a step of training.
type Step struct {
	Event    string  `json:"event"` // "step"
	Step     int     `json:"step"`  // from 1
	Epoch    int     `json:"epoch"` // from 1
	Loss     float64 `json:"loss"`
	LR       float64 `json:"lr"`
	GradNorm float64 `json:"grad_norm"`
}

// Update is a mask update, which took the place of an optimizer step.
type Update struct {
	Event    string        `json:"event"` // "update"
	Step     int           `json:"step"`
	Fraction float64       `json:"fraction"` // of connections dropped and grown, back at once included
	Churn    float64       `json:"churn"`    // share of connections that were replaced
	Layers   []UpdateLayer `json:"layers"`
	Seconds  float64       `json:"seconds"`
}

// UpdateLayer is a mask update of one layer.
type UpdateLayer struct {
	Name     string `json:"name"`
	NNZ      int    `json:"nnz"`
	Replaced int    `json:"replaced"`
}

// Epoch is a whole pass over the data.
type Epoch struct {
	Event            string       `json:"event"` // "epoch"
	Step             int          `json:"step"`
	Epoch            int          `json:"epoch"` // from 1
	TrainLoss        float64      `json:"train_loss"`
	TrainAccuracy    float64      `json:"train_accuracy"`          // of the model as it was at each step
	ValidLoss        float64      `json:"valid_loss,omitzero"`     // 0 without validation data
	ValidAccuracy    float64      `json:"valid_accuracy,omitzero"` // likewise
	LR               float64      `json:"lr"`                      // of the last step
	Sparsity         float64      `json:"sparsity"`                // of all weights
	Layers           []EpochLayer `json:"layers"`                  // the weights, without biases
	NNZ              int          `json:"nnz"`                     // weights stored
	Churn            float64      `json:"churn"`                   // mean over the mask updates of this epoch
	SamplesPerSecond float64      `json:"samples_per_second"`      // training alone
	Seconds          float64      `json:"seconds"`                 // with validation
	Best             bool         `json:"best,omitzero"`           // no epoch before had as good a ValidAccuracy
	StepsPerSecond   float64      `json:"steps_per_second"`        // training alone
	OptimizerBytes   int64        `json:"optimizer_bytes"`         // of state
	WeightBytes      int64        `json:"weight_bytes"`            // of values and indices
}

// EpochLayer is the weight of one layer at the end of an epoch.
type EpochLayer struct {
	Name     string  `json:"name"`
	NNZ      int     `json:"nnz"`
	Sparsity float64 `json:"sparsity"`
}
