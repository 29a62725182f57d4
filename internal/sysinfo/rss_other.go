//go:build !unix

package sysinfo

// PeakRSS returns 0: the system does not tell.
func PeakRSS() int64 { return 0 }
