package cli

import (
	"fmt"
	"net"
)

// Listen listens where a flag --listen says. Of a port alone, the usual slip, net says that the port is missing.
func Listen(address string) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, Misuse("--listen: must be host:port, such as 127.0.0.1:9000, and not %q", address)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s (--listen names another): %w", address, err)
	}
	return listener, nil
}
