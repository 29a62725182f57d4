package nn

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"

	"gorgonia.org/tensor"

	"github.com/rigel-ml/rigel/ops"
	"github.com/rigel-ml/rigel/sparse"
)

// Param is a trainable tensor with a name that stays the same from run to run,
// such as "fc1.weight". A sparse one holds one value for each position of its
// Pattern, in the order of the backend (see ops.Values); so do its gradient and
// its optimizer state.
type Param struct {
	Name    string
	Shape   []int           // of the tensor as a person thinks of it: (out, in) or (out)
	Pattern *sparse.Pattern // nil for a dense parameter
	Value   *tensor.Dense   // (nnz) for a sparse parameter, else of Shape
	// Decays is false for biases, which weight decay leaves alone.
	Decays bool
}

// Size returns the number of weights that a dense parameter of this shape has.
func (p *Param) Size() int64 {
	n := int64(1)
	for _, d := range p.Shape {
		n *= int64(d)
	}
	return n
}

// NNZ returns the number of weights that are stored.
func (p *Param) NNZ() int { return p.Value.DataSize() }

// IsWeight reports whether the parameter is a matrix, which counts for the
// sparsity of a model, rather than a bias.
func (p *Param) IsWeight() bool { return len(p.Shape) == 2 }

// Load replaces values, and of a sparse parameter the pattern, by those of a
// file. rowPtr and colIdx are nil for a dense parameter. The number of
// non-zeros must be what it was, since graphs are built for it.
// On error the parameter is unchanged.
func (p *Param) Load(b ops.Backend, rowPtr, colIdx []int32, values []float32) error {
	if p.Pattern == nil && (rowPtr != nil || colIdx != nil) {
		return fmt.Errorf("%s: a pattern for a dense parameter", p.Name)
	}
	// Checked before the pattern changes, so that both change or neither does.
	if err := ops.CheckTransfer(p.Value, b.Dtype(), len(values)); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	if p.Pattern != nil {
		if err := p.Pattern.Set(rowPtr, colIdx); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	if err := ops.SetValues(b, p.Pattern, p.Value, values); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	return nil
}

// Sparsity returns the share of weights, over all matrices, that are not
// stored.
func Sparsity(params []*Param) float64 {
	var size, nnz int64
	for _, p := range params {
		if p.IsWeight() {
			size += p.Size()
			nnz += int64(p.NNZ())
		}
	}
	if size == 0 {
		return 0
	}
	return 1 - float64(nnz)/float64(size)
}

// Hash returns the SHA-256, in hex, over names, shapes, patterns and the bits
// of the values, in the order given. Equal hashes mean equal models.
func Hash(b ops.Backend, params []*Param) (string, error) {
	h := sha256.New()
	var buf []byte
	for _, p := range params {
		buf = fmt.Appendf(buf[:0], "%q %v %t\n", p.Name, p.Shape, p.Pattern != nil)
		if p.Pattern != nil {
			for _, idx := range [][]int32{p.Pattern.RowPtr(), p.Pattern.ColIdx()} {
				for _, v := range idx {
					buf = binary.LittleEndian.AppendUint32(buf, uint32(v))
				}
			}
		}
		values := make([]float32, p.NNZ())
		if err := ops.Values(b, p.Pattern, values, p.Value); err != nil {
			return "", fmt.Errorf("%s: %w", p.Name, err)
		}
		for _, v := range values {
			buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(v))
		}
		h.Write(buf)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
