package ops

// Stream is a source of random numbers that has no state to advance: number i
// of step t is a function of the key, t and i. Threads may draw in any order,
// a backward pass can draw again what the forward pass drew, and a checkpoint
// has only the step to store.
type Stream struct {
	Key  uint64
	Step uint64
}

// Uniform returns number i of the present step, in [0, 1) with 24 bits.
func (s *Stream) Uniform(i uint64) float32 {
	return float32(mix(mix(s.Key^mix(s.Step))+i)>>40) * 0x1p-24
}

// mix is the finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014),
// after one step of its additive generator.
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
