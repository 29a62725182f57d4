// Command rigel measures kernels. Run it without arguments for help.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
)

const help = `rigel works with sparse neural networks.

  rigel bench     time a kernel or a training step; rigel bench -h lists the flags
`

func main() {
	if len(os.Args) < 2 {
		fmt.Print(help)
		return
	}
	var err error
	switch command := os.Args[1]; command {
	case "bench":
		err = bench(os.Args[2:], os.Stdout)
	case "help", "-h", "-help", "--help":
		fmt.Print(help)
	default:
		err = usageError{fmt.Errorf("unknown command %q; there is bench", command)}
	}
	var usage usageError
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case errors.As(err, &usage):
		fmt.Fprintln(os.Stderr, "rigel:", err)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "rigel:", err)
		os.Exit(1)
	}
}

// usageError is an error about the arguments.
type usageError struct{ error }
