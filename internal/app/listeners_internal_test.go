package app

import (
	"net"
	"strconv"
	"testing"
)

// TestAskedAddress: who asked for 0.0.0.0 is not told of [::], which looks like another network.
func TestAskedAddress(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{"0.0.0.0": "0.0.0.0", "127.0.0.1": "127.0.0.1", "::": "::"} {
		listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			t.Fatal(err)
		}
		port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
		if got := askedAddress(host, listener); got != net.JoinHostPort(want, port) {
			t.Errorf("asked for %s: %s", host, got)
		}
		_ = listener.Close()
	}
}
