package outbound_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"writ/internal/outbound"
)

// target is a web server on this machine that counts who reaches it.
type target struct {
	*httptest.Server
	reached atomic.Int64
	port    string
}

func newTarget(t *testing.T, answer http.HandlerFunc) *target {
	t.Helper()
	target := &target{}
	target.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		target.reached.Add(1)
		answer(w, r)
	}))
	t.Cleanup(target.Close)
	_, target.port, _ = net.SplitHostPort(target.Listener.Addr().String())
	return target
}

func fine(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }

func permits(t *testing.T, texts ...string) []outbound.Permit {
	t.Helper()
	var list []outbound.Permit
	for _, text := range texts {
		permit, err := outbound.ParsePermit(text)
		if err != nil {
			t.Fatalf("ParsePermit(%q): %v", text, err)
		}
		list = append(list, permit)
	}
	return list
}

func newClient(t *testing.T, o outbound.Options) *outbound.Client {
	t.Helper()
	client := outbound.New(o)
	t.Cleanup(client.Close)
	return client
}
