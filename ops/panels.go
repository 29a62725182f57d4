package ops

import (
	"fmt"

	"gorgonia.org/tensor"
)

// Panels is the layout of activations inside a model: the batch is cut into
// Count panels of Width samples, and a tensor of F features has the shape
// (Count, F, Width). One feature of one panel is Width contiguous numbers, so a
// kernel that walks the non-zeros of a weight row reads whole lines of X.
//
// The last panel is padded with zeros up to Width. Padding carries the label
// Ignore, which the loss gives no weight, so its gradients are zero and nothing
// downstream needs to know of it.
type Panels struct {
	Batch int // samples, at least 1
	Width int // samples a panel: 8, 16, 32 or 64
	Count int // panels, so that Count × Width ≥ Batch
}

// Ignore is the label of a sample that does not count.
const Ignore = -1

// NewPanels returns the layout for batches of up to batch samples: panels of
// 64, or one narrower panel when fewer samples fit in it.
func NewPanels(batch int) (Panels, error) {
	if batch < 1 {
		return Panels{}, fmt.Errorf("%w: batch = %d, want at least 1", ErrSpec, batch)
	}
	width := 8
	for width < 64 && width < batch {
		width *= 2
	}
	return Panels{Batch: batch, Width: width, Count: (batch + width - 1) / width}, nil
}

// Shape returns the shape of a panel tensor with so many features.
func (p Panels) Shape(features int) tensor.Shape {
	return tensor.Shape{p.Count, features, p.Width}
}

// LabelShape returns the shape of the labels, one for each slot of a panel.
func (p Panels) LabelShape() tensor.Shape { return tensor.Shape{p.Count, p.Width} }

// Slots returns Count × Width, the samples that fit including padding.
func (p Panels) Slots() int { return p.Count * p.Width }

func (p Panels) check() error {
	ok := p.Width == 8 || p.Width == 16 || p.Width == 32 || p.Width == 64
	if !ok || p.Batch < 1 || p.Count < 1 || p.Slots() < p.Batch {
		return fmt.Errorf("%w: panels %d × %d for a batch of %d", ErrSpec, p.Count, p.Width, p.Batch)
	}
	return nil
}
