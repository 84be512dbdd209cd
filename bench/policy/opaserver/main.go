// Opaserver is OPA's own server, as "opa run --server" starts it, with what is
// measured and nothing else: no decision log, no check for newer versions.
//
//	opaserver -address 127.0.0.1:8181 policy.rego
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/open-policy-agent/opa/v1/runtime"
)

func main() {
	address := flag.String("address", "127.0.0.1:8181", "`address` to listen on")
	flag.Parse()
	if err := serve(*address, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "opaserver:", err)
		os.Exit(1)
	}
}

func serve(address string, files []string) error {
	ctx := context.Background()
	p := runtime.NewParams()
	p.Addrs, p.Paths = &[]string{address}, files
	p.Output = io.Discard
	p.Logging = runtime.LoggingConfig{Level: "error"}
	p.GracefulShutdownPeriod = 1
	server, err := runtime.NewRuntime(ctx, p)
	if err != nil {
		return fmt.Errorf("make the server: %w", err)
	}
	return server.Serve(ctx)
}
