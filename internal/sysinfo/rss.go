// Package sysinfo reads what the operating system knows of this process.
package sysinfo
