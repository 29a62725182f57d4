// Package checkpoint keeps what a training run must not lose. It knows names,
// arrays and records; it knows nothing of modules, optimizers or graphs.
//
// An [Archive] is the content of one checkpoint and is stored as one
// safetensors file, so that any safetensors reader can open it. A [Dir] is the
// directory of one run.
//
// # Names in the file
//
// A dense tensor is stored under its own name. A sparse matrix in CSR form
// named "layers.0.weight" is stored, by PyTorch's names for the parts of a CSR
// tensor, as
//
//	layers.0.weight.crow_indices   I32 [rows+1]
//	layers.0.weight.col_indices    I32 [nnz]
//	layers.0.weight.values         F32 [nnz]
//
// and the metadata entry
//
//	rigel.sparse.layers.0.weight   {"format":"csr","shape":[300,784]}
//
// Columns ascend strictly within a row. The other metadata entries are
//
//	rigel.version                  version of this scheme, "1"
//	rigel.sha256                   checksum, 64 lowercase hex digits
//	rigel.record.<name>            a record, as JSON
//	rigel.step, rigel.score        in files that Dir.Save wrote
//
// The checksum is the SHA-256 of the whole file, header included, with the
// digits of the checksum replaced by zeros. Files are canonical: a file whose
// header is not, byte for byte, what this package would write is damaged. So
// any flipped bit anywhere is found.
//
// # Run directory
//
//	run.json                                what the run is; written once
//	metrics.jsonl                           one JSON object a line
//	checkpoints/step-000000100.safetensors  the last few, and the best
//	lock                                    held while a process writes
//
// run.json, checkpoints and a rewritten metrics.jsonl are written to a
// temporary file that is synced, then renamed, so that a crash at any moment
// leaves the old or the new file whole. Each checkpoint holds its own score;
// there is no separate pointer to the best one that could disagree with what
// is there.
//
// To resume a run: [Open] it, load [Dir.Latest], tell the user about its
// warnings, and [Dir.Rewind] to the step that was loaded.
package checkpoint

import "errors"

var (
	// ErrNotFound is wrapped when an archive has no entry of a name.
	ErrNotFound = errors.New("checkpoint: not in the archive")

	// ErrDuplicate is wrapped when a name is put into an archive twice.
	ErrDuplicate = errors.New("checkpoint: name is taken")

	// ErrFormat is wrapped by errors about a file that is sound safetensors
	// but no archive: wrong metadata, parts of a matrix that do not fit.
	ErrFormat = errors.New("checkpoint: not a valid archive")

	// ErrChecksum is wrapped when the content of a file does not have the
	// checksum that it states.
	ErrChecksum = errors.New("checkpoint: checksum does not match, the file is damaged")

	// ErrVersion is wrapped when a file was written by a newer Rigel.
	ErrVersion = errors.New("checkpoint: unknown format version")

	// ErrMismatch is wrapped by the error of Compare.
	ErrMismatch = errors.New("checkpoint: entries do not match")

	// ErrExists is wrapped when Create finds a run in the directory.
	ErrExists = errors.New("checkpoint: directory already holds a run; resume it or choose another directory")

	// ErrNoRun is wrapped when Open finds no run in the directory.
	ErrNoRun = errors.New("checkpoint: directory holds no run")

	// ErrLocked is wrapped when another process, or another Dir of this one,
	// writes to the directory.
	ErrLocked = errors.New("checkpoint: directory is in use by another writer")

	// ErrReadOnly is wrapped when a Dir that does not hold the lock is asked
	// to write: it was closed, or opened with OpenReadOnly.
	ErrReadOnly = errors.New("checkpoint: directory is not open for writing")

	// ErrNoCheckpoint is wrapped when there is no checkpoint to load.
	ErrNoCheckpoint = errors.New("checkpoint: no checkpoint to load")
)
