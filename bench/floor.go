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

// floors are the least that writd's work can cost, each a server of its own.
// One gets on its standard input what it needs to begin.
var floors = map[string]func(input []byte) (http.Handler, error){
	"answer": answerFloor,
	"decode": decodeFloor,
	"echo":   echoFloor,
	"insert": insertFloor,
	"mcp":    mcpFloor,
	"relay":  relayFloor,
}

// startFloor runs this program once more, as a floor, so that it shares no
// process with the load, and its CPU time can be read.
func startFloor(ctx context.Context, name string, input []byte) (*process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	server, _, err := startProcess(ctx, func(port int) command {
		return command{
			program:   program,
			arguments: []string{"-floor", name, "-port", strconv.Itoa(port)},
			input:     bytes.NewReader(input),
		}
	})
	return server, err
}

func serveFloor(o options) error {
	floor, known := floors[o.floor]
	if !known {
		return fmt.Errorf("there is no floor %q", o.floor)
	}
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		return fmt.Errorf("read what the floor needs: %w", err)
	}
	handler, err := floor(input)
	if err != nil {
		return fmt.Errorf("floor %s: %w", o.floor, err)
	}
	return http.ListenAndServe(net.JoinHostPort("127.0.0.1", strconv.Itoa(o.port)), handler)
}

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

// answerFloor answers every request with a document: net/http and encoding/json,
// and nothing that a service needs.
func answerFloor(document []byte) (http.Handler, error) {
	var key currentKey
	if err := json.Unmarshal(document, &key); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w, key) }), nil
}

func answer(w http.ResponseWriter, document any) {
	body, err := json.Marshal(document)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // a client that is gone cannot be told
}
