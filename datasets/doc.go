// Package datasets holds classification data and serves it in mini-batches.
//
// A [Set] keeps its samples as they were stored, one byte a pixel where the
// source has bytes, and turns them into normalized float32 only while a batch
// is filled. Sets come from IDX files ([OpenIDXDir]: MNIST, Fashion-MNIST,
// KMNIST and their kin), from CSV tables ([OpenCSV]), from memory ([FromBytes],
// [FromFloats]), or from package datasets/mnist, which carries MNIST inside the
// program. A Set is immutable: every method that changes something returns a
// view, which shares the samples of the set it came from.
//
// A [Loader] walks a set in shuffled mini-batches. Its position is a small
// [State] that encodes to JSON; a loader restored from it yields the same
// batches, bit for bit, as one that was never interrupted.
//
// The usual loop:
//
//	loader, err := datasets.NewLoader(train, datasets.LoaderConfig{Batch: 64, Shuffle: true, Seed: 1})
//	...
//	var b datasets.Batch
//	for epoch := range epochs {
//		for loader.Next(&b) {
//			step(b.X, b.Labels, b.N)
//		}
//	}
package datasets
