package nn

import (
	"fmt"
	"math"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/ops/graph"
)

// ProgramConfig says what to compile.
type ProgramConfig struct {
	Model    Module
	Loss     Loss // CrossEntropy if nil
	Features int  // of a sample
	Batch    int  // samples that one run takes at most
	Training bool // with gradients and dropout
}

// Program is a model compiled for one batch size. Once warm, Load and Run
// allocate nothing. A Program may be used from one goroutine at a time.
type Program struct {
	backend ops.Backend
	panels  ops.Panels
	machine *graph.Machine
	streams []*ops.Stream

	batch, x, labels  *tensor.Dense // batch-major input, its panels, labels
	host              []float32     // room for a padded batch
	slots             []int32
	pack, unpack      ops.Kernel
	packIn, unpackIn  []*tensor.Dense
	loss, output      *G.Node
	outputBatch       *tensor.Dense // batch-major output
	params            []*Param
	gradients         G.Nodes
	features, classes int
}

// Compile builds the graph of a model and what runs it.
func Compile(b ops.Backend, c ProgramConfig) (*Program, error) {
	if c.Model == nil || c.Features < 1 {
		return nil, fmt.Errorf("nn: compiling needs a model and the number of features, got %T and %d", c.Model, c.Features)
	}
	if c.Batch > math.MaxInt32/c.Features {
		return nil, fmt.Errorf("nn: a batch of %d samples of %d features is too large", c.Batch, c.Features)
	}
	panels, err := ops.NewPanels(c.Batch)
	if err != nil {
		return nil, err
	}
	if c.Loss == nil {
		c.Loss = CrossEntropy{}
	}
	p := &Program{backend: b, panels: panels, features: c.Features,
		host: make([]float32, c.Batch*c.Features), slots: make([]int32, panels.Slots())}
	if err := p.buildBorder(); err != nil {
		return nil, err
	}
	g := &Graph{ExprGraph: G.NewGraph(), Backend: b, Panels: panels, Training: c.Training, nodes: map[*Param]*G.Node{}}
	if err := p.buildGraph(g, c); err != nil {
		return nil, err
	}
	p.streams = g.streams
	return p, nil
}

// buildBorder makes the tensors and kernels that turn batch-major input into
// panels.
func (p *Program) buildBorder() (err error) {
	dt := p.backend.Dtype()
	if p.batch, err = p.backend.New(dt, p.panels.Batch, p.features); err != nil {
		return err
	}
	if p.x, err = p.backend.New(dt, p.panels.Shape(p.features)...); err != nil {
		return err
	}
	if p.labels, err = p.backend.New(tensor.Int32, p.panels.LabelShape()...); err != nil {
		return err
	}
	p.pack, err = p.backend.Plan(ops.Pack{Features: p.features, Panels: p.panels})
	p.packIn = []*tensor.Dense{p.batch}
	return err
}

func (p *Program) buildGraph(g *Graph, c ProgramConfig) error {
	x, labels := newInput(g.ExprGraph, "x", p.x), newInput(g.ExprGraph, "labels", p.labels)
	for node, value := range map[*G.Node]*tensor.Dense{x: p.x, labels: p.labels} {
		if err := G.Let(node, value); err != nil {
			return err
		}
	}
	var err error
	if p.output, err = c.Model.Forward(g, x); err != nil {
		return err
	}
	if p.classes, err = g.features("the loss", p.output, -1); err != nil {
		return err
	}
	if p.loss, err = c.Loss.Forward(g, p.output, labels); err != nil {
		return err
	}
	wanted := G.Nodes{p.loss, p.output}
	if c.Training {
		p.params = c.Model.Params()
		nodes := make(G.Nodes, len(p.params))
		for i, param := range p.params {
			if nodes[i] = g.nodes[param]; nodes[i] == nil {
				return fmt.Errorf("nn: the model never uses %s", param.Name)
			}
		}
		if p.gradients, err = G.Grad(p.loss, nodes...); err != nil {
			return fmt.Errorf("nn: differentiating the model: %w", err)
		}
		wanted = append(wanted, p.gradients...)
	}
	if p.machine, err = graph.NewMachine(wanted...); err != nil {
		return err
	}
	if p.outputBatch, err = p.backend.New(p.backend.Dtype(), p.panels.Batch, p.classes); err != nil {
		return err
	}
	p.unpack, err = p.backend.Plan(ops.Unpack{Features: p.classes, Panels: p.panels})
	p.unpackIn = make([]*tensor.Dense, 1)
	return err
}

// Batch returns how many samples one run takes at most.
func (p *Program) Batch() int { return p.panels.Batch }

// Classes returns the number of features of the model's output.
func (p *Program) Classes() int { return p.classes }

// Load puts a batch in place: x is batch-major, one row of features for each
// label. Fewer samples than Batch are fine; a label of ops.Ignore does not
// count.
func (p *Program) Load(x []float32, labels []int32) error {
	n := len(labels)
	if n > p.panels.Batch || len(x) != n*p.features {
		return fmt.Errorf("nn: %d numbers and %d labels for up to %d samples of %d features", len(x), n, p.panels.Batch, p.features)
	}
	clear(p.host[copy(p.host, x):])
	if err := p.backend.Upload(p.batch, p.host); err != nil {
		return err
	}
	for i := range p.slots {
		p.slots[i] = ops.Ignore
	}
	copy(p.slots, labels)
	if err := p.backend.UploadInt32(p.labels, p.slots); err != nil {
		return err
	}
	return p.pack.Run(p.x, p.packIn)
}

// Run computes the loss, and in training the gradients. Dropout draws the
// numbers of this step.
func (p *Program) Run(step uint64) error {
	for _, s := range p.streams {
		s.Step = step
	}
	return p.machine.RunAll()
}

// Loss returns the loss of the last run.
func (p *Program) Loss() float64 {
	switch v := p.loss.Value().(type) {
	case *G.F32:
		return float64(*v)
	case *G.F64:
		return float64(*v)
	}
	return 0 // before the first run
}

// Output copies the model's output of the last run, batch-major (Batch,
// Classes), into dst.
func (p *Program) Output(dst []float32) error {
	out, ok := p.output.Value().(*tensor.Dense)
	if !ok {
		return fmt.Errorf("nn: no output before the first run")
	}
	p.unpackIn[0] = out
	if err := p.unpack.Run(p.outputBatch, p.unpackIn); err != nil {
		return err
	}
	return p.backend.Download(dst, p.outputBatch)
}

// Params returns the parameters that have gradients, in order.
func (p *Program) Params() []*Param { return p.params }

// Gradient returns the gradient of parameter i of Params after the last run. It
// has the shape of the parameter's Value and is overwritten by the next run.
func (p *Program) Gradient(i int) (*tensor.Dense, error) {
	if i < 0 || i >= len(p.gradients) {
		return nil, fmt.Errorf("nn: gradient %d of %d; only a program compiled for training has any", i, len(p.gradients))
	}
	g, ok := p.gradients[i].Value().(*tensor.Dense)
	if !ok {
		return nil, fmt.Errorf("nn: no gradient of %s before the first run", p.params[i].Name)
	}
	return g, nil
}

// GrowthInputs returns what the gradient of sparse parameter i was made of in
// the last run: the gradient dy of the layer's output and its input x, both as
// panels. Their product is the dense gradient.
func (p *Program) GrowthInputs(i int) (g ops.Growth, dy, x *tensor.Dense, err error) {
	if i < 0 || i >= len(p.gradients) {
		return g, nil, nil, fmt.Errorf("nn: gradient %d of %d; only a program compiled for training has any", i, len(p.gradients))
	}
	spec, in, ok := graph.Operands(p.gradients[i])
	s, isSDDMM := spec.(ops.SDDMM)
	if !ok || !isSDDMM {
		return g, nil, nil, fmt.Errorf("nn: %s has no dense gradient to grow from: it is used by several layers, or has not run", p.params[i].Name)
	}
	return ops.Growth(s), in[0], in[1], nil
}
