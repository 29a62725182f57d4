package sparse

// derived is something made from a pattern, and the version it was made from.
type derived struct {
	value   any
	version uint64
}

// Derived returns what build makes of the pattern at its present version. It is
// made on first use and kept with the pattern until an update, when build is
// called again with the old value, whose memory it may reuse. The key tells apart
// what different packages derive: a value of a type of their own.
//
// Calls may come from several goroutines, but build must not call Derived.
func Derived[T any](p *Pattern, key any, build func(old T) T) T {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.derived[key]
	if d != nil && d.version == p.version {
		return d.value.(T)
	}
	var old T
	if d == nil {
		d = &derived{}
		if p.derived == nil {
			p.derived = map[any]*derived{}
		}
		p.derived[key] = d
	} else {
		old = d.value.(T)
	}
	made := build(old)
	d.value, d.version = made, p.version
	return made
}
