package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
)

// currentKey is the document that writd answers with. The floor encodes it for
// every request, as any JSON handler does.
type currentKey struct {
	ID             string   `json:"id"`
	OrganizationID *string  `json:"organizationId"`
	OwnerID        string   `json:"ownerId"`
	Environment    string   `json:"environment"`
	Product        string   `json:"product"`
	Scopes         []string `json:"scopes"`
}

// startFloor runs this program once more, as the floor, so that it shares no
// process with the load and its processor time can be told.
func startFloor(ctx context.Context, document []byte) (*process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	server, _, err := startProcess(ctx, func(port int) command {
		return command{program: program, arguments: []string{"-floor", strconv.Itoa(port)}, input: bytes.NewReader(document)}
	})
	return server, err
}

// serveFloor answers every request with the document on its standard input: net/http and
// encoding/json, and nothing that a service needs.
func serveFloor(o options) error {
	document, err := io.ReadAll(os.Stdin)
	if err != nil {
		return fmt.Errorf("read the document: %w", err)
	}
	var key currentKey
	if err := json.Unmarshal(document, &key); err != nil {
		return fmt.Errorf("read the document: %w", err)
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		body, err := json.Marshal(key)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body) // a client that is gone cannot be told
	})
	return http.ListenAndServe(net.JoinHostPort("127.0.0.1", strconv.Itoa(o.floorPort)), handler)
}
