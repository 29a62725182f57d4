package train

// StepOf takes one step, of the next epoch where one ends.
func StepOf(l *Learner) error {
	for !l.loader.Next(&l.batch) {
	}
	return l.step()
}
