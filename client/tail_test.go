package client_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"writ/client"
)

// TestAnEventIsBounded: a server that never ends an event does not fill the memory of
// its reader.
func TestAnEventIsBounded(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		line := "data: " + strings.Repeat("x", 1<<20) + "\n"
		for range 16 {
			fmt.Fprint(w, line)
		}
		fmt.Fprint(w, "event: trace\n\n")
	}))
	t.Cleanup(server.Close)
	events, err := (&client.Client{BaseURL: server.URL}).Tail(t.Context(), "org", client.TailFilter{}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	if e, err := events.Next(); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("%d bytes, %v", len(e.Data), err)
	}
}
