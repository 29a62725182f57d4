// Package mnist carries the MNIST database of handwritten digits inside the
// program: 60,000 training and 10,000 test images of 28 × 28 gray pixels in ten
// classes. It adds 11 MB to a program that imports it, and to no other.
//
// MNIST is by Yann LeCun and Corinna Cortes, who hold its copyright and offer it
// under the Creative Commons Attribution-Share Alike 3.0 license
// (https://creativecommons.org/licenses/by-sa/3.0/). A program that embeds it
// must say so; ATTRIBUTION.md, beside the data, has the details.
package mnist

import (
	"embed"

	"github.com/rigel-ml/rigel/datasets"
)

// Mean and Std are the usual normalization constants, measured over the pixels
// of the training set after division by 255.
const (
	Mean float32 = 0.1307
	Std  float32 = 0.3081
)

//go:embed *-ubyte.gz
var files embed.FS

// Load unpacks MNIST: uint8 samples of shape {28, 28}, ten classes, normalized
// by [Mean] and [Std] when read. Each call unpacks afresh, which takes some
// tenths of a second and 55 MB that the sets then hold; keep the sets, they are
// immutable and can be shared. An error means that the program file is damaged.
func Load() (train, test *datasets.Set, err error) {
	train, test, err = datasets.OpenIDXFS(files, "mnist")
	if err != nil {
		return nil, nil, err
	}
	norm := datasets.Norm{Mean: []float32{Mean}, Std: []float32{Std}}
	if train, err = train.WithNorm(norm); err != nil {
		return nil, nil, err
	}
	if test, err = test.WithNorm(norm); err != nil {
		return nil, nil, err
	}
	return train, test, nil
}
