//go:build unix

package sysinfo

import (
	"runtime"
	"syscall"
)

// PeakRSS returns the largest resident set size of this process so far, in
// bytes, and 0 where the system does not tell.
func PeakRSS() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(u.Maxrss) // bytes there, kibibytes elsewhere
	}
	return int64(u.Maxrss) * 1024
}
