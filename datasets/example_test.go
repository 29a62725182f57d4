package datasets_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/rigel-ml/rigel/datasets"
	"github.com/rigel-ml/rigel/datasets/mnist"
)

// Load MNIST, keep the last 5,000 training images for validation, and walk one
// epoch of the rest.
func Example() {
	train, _, err := mnist.Load()
	if err != nil {
		log.Fatal(err)
	}
	train, val, err := train.Split(5_000)
	if err != nil {
		log.Fatal(err)
	}
	loader, err := datasets.NewLoader(train, datasets.LoaderConfig{Batch: 128, Shuffle: true, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}

	var b datasets.Batch
	batches, samples := 0, 0
	for loader.Next(&b) {
		// Train on b.X (128 × 784, row-major) and b.Labels; b.N rows are in use.
		batches++
		samples += b.N
	}
	fmt.Println(train.Len(), "to train,", val.Len(), "to validate,", train.Shape(), "each")
	fmt.Println(batches, "batches,", samples, "samples, the last batch has", b.N)
	// Output:
	// 55000 to train, 5000 to validate, [28 28] each
	// 430 batches, 55000 samples, the last batch has 88
}

// Read a table whose last column names the class, and bring its columns to mean
// 0 and standard deviation 1.
func ExampleReadCSV() {
	const table = `length,width,kind
5.1,3.5,setosa
7.0,3.2,versicolor
6.3,3.3,virginica
4.9,3.0,setosa
`
	set, err := datasets.ReadCSV(strings.NewReader(table), datasets.CSVConfig{
		Header:     true,
		LabelName:  "kind",
		ClassNames: []string{"setosa", "versicolor", "virginica"},
	})
	if err != nil {
		log.Fatal(err)
	}
	set, err = set.WithNorm(set.ComputeFeatureNorm())
	if err != nil {
		log.Fatal(err)
	}
	x := make([]float32, set.Features())
	label, err := set.Sample(1, x)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d samples, sample 1 is %.2f of class %d\n", set.Len(), x, label)
	// Output: 4 samples, sample 1 is [1.36 -0.28] of class 1
}

// A loader stopped in mid-epoch goes on where it was.
func ExampleLoader_Restore() {
	set, err := datasets.FromFloats(datasets.SetConfig{}, []float32{0, 1, 2, 3, 4, 5}, []int32{0, 1, 2, 3, 4, 5})
	if err != nil {
		log.Fatal(err)
	}
	cfg := datasets.LoaderConfig{Batch: 2, Shuffle: true, Seed: 1}
	loader, err := datasets.NewLoader(set, cfg)
	if err != nil {
		log.Fatal(err)
	}
	loader.Next(nil)        // one step of training
	saved := loader.State() // goes into the checkpoint, as JSON

	resumed, err := datasets.NewLoader(set, cfg)
	if err != nil {
		log.Fatal(err)
	}
	if err := resumed.Restore(saved); err != nil {
		log.Fatal(err)
	}
	var a, b datasets.Batch
	loader.Next(&a)
	resumed.Next(&b)
	fmt.Println(a.X[0] == b.X[0] && a.X[1] == b.X[1], "at position", saved.Position)
	// Output: true at position 2
}
