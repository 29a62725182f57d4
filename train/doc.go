// Package train runs training: a [Learner] takes a model, an optimizer, a way to
// train masks and data, and goes through the epochs. It measures, validates,
// keeps checkpoints in a run directory, stops before a NaN can be saved, and
// goes on after a crash or an interruption with the very bits that an
// uninterrupted run would have had.
package train
