package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// silent is a session whose program reads everything and answers nothing, and its client.
func silent(t *testing.T) (client, program mcp.Connection, s *session) {
	t.Helper()
	s = &session{b: New(Options{Command: []string{"silent"}}), fromClient: newUnanswered()}
	s.idle = time.AfterFunc(time.Hour, s.end)
	connect := func() (ours, theirs mcp.Connection) {
		a, b := mcp.NewInMemoryTransports()
		ours, err := a.Connect(t.Context())
		theirs, other := b.Connect(t.Context())
		if err := errors.Join(err, other); err != nil {
			t.Fatal(err)
		}
		return ours, theirs
	}
	s.down, client = connect()
	s.up, program = connect()
	s.b.ending.Add(2)
	go s.pass(t.Context(), s.down, s.up)
	go s.pass(t.Context(), s.up, s.down)
	t.Cleanup(func() { s.end(); s.b.ending.Wait() })
	return client, program, s
}

func id(t *testing.T, of any) jsonrpc.ID {
	t.Helper()
	id, err := jsonrpc.MakeID(of)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func send(t *testing.T, client mcp.Connection, m jsonrpc.Message) {
	t.Helper()
	if err := client.Write(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}

func reads[M jsonrpc.Message](t *testing.T, from mcp.Connection) M {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	read, err := from.Read(ctx)
	m, ok := read.(M)
	if err != nil || !ok {
		t.Fatalf("read a %T, %v", read, err)
	}
	return m
}

// TestWhatIsNotAnsweredIsBounded: a program that answers nothing, and a client that cancels or goes on asking, leave no
// more behind than the limit.
func TestWhatIsNotAnsweredIsBounded(t *testing.T) {
	t.Parallel()
	client, program, s := silent(t)
	kept := func() int {
		s.fromClient.mu.Lock()
		defer s.fromClient.mu.Unlock()
		return len(s.fromClient.ids)
	}
	passes := func(of any) {
		t.Helper()
		send(t, client, &jsonrpc.Request{ID: id(t, of), Method: "ping"})
		if m := reads[*jsonrpc.Request](t, program); m.ID != id(t, of) {
			t.Fatalf("the program reads %v, want %v", m.ID, of)
		}
	}
	cancels := func(of any) {
		t.Helper()
		params, err := json.Marshal(map[string]any{"requestId": of})
		if err != nil {
			t.Fatal(err)
		}
		send(t, client, &jsonrpc.Request{Method: "notifications/cancelled", Params: params})
		reads[*jsonrpc.Request](t, program) // it may want to stop
	}
	refuses := func(of any, why string) {
		t.Helper()
		send(t, client, &jsonrpc.Request{ID: id(t, of), Method: "ping"})
		m := reads[*jsonrpc.Response](t, client)
		if m.ID != id(t, of) || m.Error == nil || !strings.Contains(m.Error.Error(), why) {
			t.Fatalf("the client reads %+v", m)
		}
	}
	for i := range 3 {
		passes(float64(i))
		cancels(float64(i))
		passes("a")
		cancels("a")
		cancels(map[string]any{"no": "id"})
	}
	if n := kept(); n != 0 {
		t.Errorf("%d requests are kept that were cancelled", n)
	}
	for i := range maxUnanswered {
		passes(float64(i))
	}
	refuses("more", "has not answered 1000 requests")
	refuses(strings.Repeat("x", maxIDLength+1), "the id of the request has more than")
	send(t, program, &jsonrpc.Response{ID: id(t, 7.0), Result: json.RawMessage(`{}`)})
	reads[*jsonrpc.Response](t, client)
	passes("one that was answered makes room")
	cancels(8.0)
	passes("one that was cancelled too")
	if n := kept(); n != maxUnanswered {
		t.Errorf("%d requests are kept", n)
	}
}
