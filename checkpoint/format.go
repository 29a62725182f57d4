package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rigel-ml/rigel/checkpoint/safetensors"
)

// version is the newest version of the naming scheme that this package reads,
// and the one that it writes.
const version = 1

// The keys of the metadata; the package comment describes them. The last two
// are prefixes.
const (
	keyVersion  = "rigel.version"
	keyChecksum = "rigel.sha256"
	keyStep     = "rigel.step"
	keyScore    = "rigel.score"
	keyRecord   = "rigel.record."
	keySparse   = "rigel.sparse."
)

var noChecksum = strings.Repeat("0", hex.EncodedLen(sha256.Size))

// WriteTo writes the archive as a safetensors file and returns the bytes
// written. Equal content gives equal bytes.
func (a *Archive) WriteTo(w io.Writer) (int64, error) {
	f := &safetensors.File{Metadata: maps.Clone(a.meta), Tensors: slices.Collect(maps.Values(a.tensors))}
	f.Metadata[keyVersion] = strconv.Itoa(version)
	sum, err := checksum(f)
	if err != nil {
		return 0, err
	}
	f.Metadata[keyChecksum] = sum
	return f.WriteTo(w)
}

// ReadArchive reads the archive that is the first size bytes of r and
// validates all of it.
//
// The error wraps ErrChecksum, ErrVersion, ErrFormat, one of the errors of
// package safetensors, or is the error of r.
func ReadArchive(r io.ReaderAt, size int64) (*Archive, error) {
	f, err := safetensors.Read(r, size)
	if err != nil {
		return nil, err
	}
	if err := verify(f, r); err != nil {
		return nil, err
	}
	if err := checkVersion(f.Metadata[keyVersion]); err != nil {
		return nil, err
	}
	return parse(f)
}

// checksum returns the SHA-256 of the file with zeros in place of the
// checksum.
func checksum(f *safetensors.File) (string, error) {
	meta := maps.Clone(f.Metadata)
	meta[keyChecksum] = noChecksum
	hash := sha256.New()
	if _, err := (&safetensors.File{Metadata: meta, Tensors: f.Tensors}).WriteTo(hash); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// verify checks f, which was read from r, against the checksum that it states.
//
// The checksum is taken over f as this package would write it. That covers
// every byte of the file only if the header on disk is written the same way,
// so that is checked first.
func verify(f *safetensors.File, r io.ReaderAt) error {
	stated, ok := f.Metadata[keyChecksum]
	if !ok {
		return fmt.Errorf("%w: metadata %q is missing", ErrFormat, keyChecksum)
	}
	header, err := f.Header()
	if err != nil {
		return err
	}
	stored := make([]byte, len(header))
	if _, err := r.ReadAt(stored, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !bytes.Equal(stored, header) {
		return fmt.Errorf("%w: the header is not as it was written", ErrChecksum)
	}
	sum, err := checksum(f)
	if err != nil {
		return err
	}
	if sum != stated {
		return fmt.Errorf("%w: %s is %q, content has %q", ErrChecksum, keyChecksum, stated, sum)
	}
	return nil
}

func checkVersion(s string) error {
	v, err := strconv.Atoi(s)
	if err != nil || v < 1 {
		return fmt.Errorf("%w: %s: %q is no version", ErrFormat, keyVersion, s)
	}
	if v > version {
		return fmt.Errorf("%w: %s is %d, this program reads up to %d; use a newer Rigel",
			ErrVersion, keyVersion, v, version)
	}
	return nil
}

// parse turns the content of a file into an archive.
func parse(f *safetensors.File) (*Archive, error) {
	dense := make(map[string]safetensors.Tensor, len(f.Tensors)) // less those of matrices
	for _, t := range f.Tensors {
		dense[t.Name] = t
	}
	a := NewArchive()
	for _, key := range slices.Sorted(maps.Keys(f.Metadata)) {
		text := f.Metadata[key]
		matrixName, isMatrix := strings.CutPrefix(key, keySparse)
		switch {
		case key == keyVersion || key == keyChecksum:
			continue
		case isMatrix:
			if err := a.parseMatrix(matrixName, text, dense); err != nil {
				return nil, err
			}
		case key == keyStep || key == keyScore || strings.HasPrefix(key, keyRecord):
		default:
			return nil, fmt.Errorf("%w: unknown metadata %q", ErrFormat, key)
		}
		a.meta[key] = text
	}
	for name, t := range dense {
		kind, ok := kindOf[t.Dtype]
		if !ok {
			return nil, fmt.Errorf("%w: tensor %q: dtype: %s is not used in archives", ErrFormat, name, t.Dtype)
		}
		if err := a.add(Entry{name, kind, t.Shape}, t); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
	}
	return a, nil
}

// parseMatrix adds a matrix and takes its tensors out of the given ones.
func (a *Archive) parseMatrix(name, text string, tensors map[string]safetensors.Tensor) error {
	var info matrixInfo
	if err := unmarshalStrict([]byte(text), &info); err != nil {
		return fmt.Errorf("%w: %s%s: %w", ErrFormat, keySparse, name, err)
	}
	if info.Format != "csr" {
		return fmt.Errorf("%w: %s%s: format %q, want csr", ErrFormat, keySparse, name, info.Format)
	}
	if len(info.Shape) != 2 {
		return fmt.Errorf("%w: %s%s: shape %v, want [rows, columns]", ErrFormat, keySparse, name, info.Shape)
	}
	e := Entry{name, KindCSR, info.Shape}
	if _, err := matrix(e, tensors); err != nil {
		return err
	}
	var parts []safetensors.Tensor
	for _, suffix := range []string{suffixRowPtr, suffixColIdx, suffixValues} {
		parts = append(parts, tensors[name+suffix])
		delete(tensors, name+suffix)
	}
	if err := a.add(e, parts...); err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return nil
}

func checkName(name string) error {
	if name == "" || !utf8.ValidString(name) {
		return fmt.Errorf("checkpoint: name %q is empty or not UTF-8", name)
	}
	if name == "__metadata__" {
		return fmt.Errorf("checkpoint: name %q is reserved by the file format", name)
	}
	return nil
}
