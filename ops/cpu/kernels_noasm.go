//go:build !amd64 || purego

package cpu

func detectISA() isa { return generic }

func kernelsOf(isa) *kernels { return &genericKernels }
