package nn

import (
	"fmt"
	"slices"
	"strconv"

	G "gorgonia.org/gorgonia"
)

// SequentialConfig describes modules that feed each other in turn. The n-th
// one's parameters are named "n.weight" and so on, unless it is Named.
type SequentialConfig []Config

// Named gives a module of a sequence a name instead of its number.
func Named(name string, c Config) Config { return named{name, c} }

type named struct {
	name string
	Config
}

// Sequential runs its modules in turn.
type Sequential struct {
	Modules []Module
}

// Init makes each module in its own scope.
func (c SequentialConfig) Init(in *Init) (Module, error) {
	if len(c) == 0 {
		return nil, fmt.Errorf("nn: an empty sequence")
	}
	s := &Sequential{}
	for i, config := range c {
		name := strconv.Itoa(i)
		if n, ok := config.(named); ok {
			name, config = n.name, n.Config
		}
		if config == nil {
			return nil, fmt.Errorf("nn: %s is nil", in.Name(name))
		}
		m, err := config.Init(in.Scope(name))
		if err != nil {
			return nil, err
		}
		s.Modules = append(s.Modules, m)
	}
	return s, nil
}

// Forward adds each module to the output of the one before.
func (s *Sequential) Forward(g *Graph, x *G.Node) (*G.Node, error) {
	for _, m := range s.Modules {
		var err error
		if x, err = m.Forward(g, x); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// Params returns the parameters of all modules in order, once each: modules may
// share them.
func (s *Sequential) Params() []*Param {
	var all []*Param
	for _, m := range s.Modules {
		for _, p := range m.Params() {
			if !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	return all
}
