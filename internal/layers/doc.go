// Package layers proves by its tests that imports follow the table of layers in
// docs/architecture.md, and that the README's program is one that compiles.
package layers
