// Package layers proves by its test that imports follow the table of layers in
// docs/architecture.md.
package layers
