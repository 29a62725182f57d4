package datasets

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// idxFile matches the names under which sets are published, such as
// train-images-idx3-ubyte.gz, t10k-labels.idx1-ubyte and
// emnist-letters-test-images-idx3-ubyte.gz.
var idxFile = regexp.MustCompile(`^(?:.+-)?(train|t10k|test)-(images[-.]idx3|labels[-.]idx1)-ubyte(?:\.gz)?$`)

// OpenIDXDir reads an image set from a directory that holds its four IDX files
// under their usual names:
//
//	train-images-idx3-ubyte   t10k-images-idx3-ubyte
//	train-labels-idx1-ubyte   t10k-labels-idx1-ubyte
//
// Each may be plain or end in .gz, have a dot before idx, have "test" for
// "t10k", and have a prefix that ends in a dash, so the files of Fashion-MNIST,
// KMNIST and one split of EMNIST are found as they were downloaded. Where a
// file is there both plain and gzipped the plain one is read.
//
// The samples are uint8 of shape {rows, columns}, without normalization beyond
// x/255: see [Set.ComputeNorm]. Both sets have as many classes as the largest
// label of either needs; they are named for the directory.
//
// It fails when a file is missing, ambiguous or not strictly valid, when images
// and labels differ in number, when there are none, or when training and test
// images differ in shape. The error names the file and the field.
func OpenIDXDir(dir string) (train, test *Set, err error) {
	name := filepath.Base(dir)
	if abs, err := filepath.Abs(dir); err == nil {
		name = filepath.Base(abs) // "." has no name of its own
	}
	return openIDX(os.DirFS(dir), name, dir)
}

// OpenIDXFS is [OpenIDXDir] for the root of a file system, such as embedded
// files. name is the name of the set.
func OpenIDXFS(fsys fs.FS, name string) (train, test *Set, err error) {
	return openIDX(fsys, name, name)
}

// openIDX reads the set from the root of fsys; where is what errors call that.
func openIDX(fsys fs.FS, name, where string) (train, test *Set, err error) {
	fail := func(err error) (*Set, *Set, error) {
		return nil, nil, fmt.Errorf("datasets: %s: %w", where, err)
	}
	files, err := findIDX(fsys)
	if err != nil {
		return fail(err)
	}
	trainX, trainY, err := readPair(fsys, files["train images"], files["train labels"])
	if err != nil {
		return fail(err)
	}
	testX, testY, err := readPair(fsys, files["test images"], files["test labels"])
	if err != nil {
		return fail(err)
	}
	shape := trainX.Dims[1:]
	if !slices.Equal(shape, testX.Dims[1:]) {
		return fail(fmt.Errorf("%s: dims: images of shape %v, but those of %s are %v",
			files["test images"], testX.Dims[1:], files["train images"], shape))
	}
	// A byte is below 256, so this is at most 256 classes.
	classes := int(max(slices.Max(trainY), slices.Max(testY))) + 1

	train, err = FromBytes(SetConfig{Name: name + "-train", Shape: shape, Classes: classes}, trainX.Data, trainY)
	if err != nil {
		return fail(err)
	}
	test, err = FromBytes(SetConfig{Name: name + "-test", Shape: shape, Classes: classes}, testX.Data, testY)
	if err != nil {
		return fail(err)
	}
	return train, test, nil
}

// findIDX returns the four files of a set by their roles, "train images" and
// the like.
func findIDX(fsys fs.FS) (map[string]string, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if pathErr := (*fs.PathError)(nil); errors.As(err, &pathErr) {
		err = pathErr.Err // the path is ".", which nobody wrote
	}
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, e := range entries { // sorted, so a plain file comes before its .gz
		m := idxFile.FindStringSubmatch(e.Name())
		if m == nil || e.IsDir() {
			continue
		}
		part, kind := strings.Replace(m[1], "t10k", "test", 1), m[2][:len("images")]
		role := part + " " + kind
		switch first, found := files[role]; {
		case !found:
			files[role] = e.Name()
		case e.Name() != first+".gz":
			return nil, fmt.Errorf("%s and %s could both be the %s; keep each set in its own directory", first, e.Name(), role)
		}
	}
	var missing []string
	for _, role := range []string{"train images", "train labels", "test images", "test labels"} {
		if files[role] == "" {
			missing = append(missing, role)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("no file with the %s; the names are {train,t10k}-images-idx3-ubyte and "+
			"{train,t10k}-labels-idx1-ubyte, plain or with .gz: %w", strings.Join(missing, ", "), fs.ErrNotExist)
	}
	return files, nil
}

// readPair reads images and their labels, of which there are equally many, at
// least one.
func readPair(fsys fs.FS, imageFile, labelFile string) (images *IDX, labels []int32, err error) {
	images, err = readIDXFile(fsys, imageFile, 3)
	if err != nil {
		return nil, nil, err
	}
	bytes, err := readIDXFile(fsys, labelFile, 1)
	if err != nil {
		return nil, nil, err
	}
	if len(images.Data) == 0 {
		return nil, nil, fmt.Errorf("%s: dims: %v hold no images", imageFile, images.Dims)
	}
	if n := images.Dims[0]; n != len(bytes.Data) {
		return nil, nil, fmt.Errorf("%s: dims: %d labels for the %d images of %s", labelFile, len(bytes.Data), n, imageFile)
	}
	labels = make([]int32, len(bytes.Data))
	for i, l := range bytes.Data {
		labels[i] = int32(l)
	}
	return images, labels, nil
}

// readIDXFile reads one file and checks its number of dimensions.
func readIDXFile(fsys fs.FS, file string, rank int) (x *IDX, err error) {
	f, err := fsys.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	x, err = readIDX(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(x.Dims) != rank {
		return nil, fmt.Errorf("%s: dims: %v has %d dimensions; want %d", file, x.Dims, len(x.Dims), rank)
	}
	return x, nil
}
