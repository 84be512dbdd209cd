package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/database"
	"writ/internal/testserver"
)

// deaf is a client that takes little of an answer before it is read.
func deaf(c *client.Client) *client.Client {
	dialer := &net.Dialer{}
	quiet := *c
	quiet.HTTP = &http.Client{Transport: &http.Transport{DialContext: func(
		ctx context.Context, network, address string,
	) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetReadBuffer(256 << 10) // so that less has to be sent
		}
		return conn, err
	}}}
	return &quiet
}

// TestASlowReaderIsLetGo, ingest does not notice, and nothing is lost to the reader.
func TestASlowReaderIsLetGo(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		s.API.SetPatience(100 * time.Millisecond)
		owner := s.Person("owner")
		org := s.Organization(owner, "Observed")
		agent := s.Public.WithKey(s.KeyFor(owner.ID, org).Secret.Reveal())
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		slow, err := deaf(owner.Client).Tail(ctx, org, client.TailFilter{}, "")
		if err != nil {
			t.Fatal(err)
		}
		defer slow.Close()
		const requests, perRequest = 12, 500
		long := strings.Repeat("long ", 40)
		for range requests { // more than any buffer holds
			sendLongTraces(t, agent, perRequest, long)
		}
		testserver.Soon(t, "the server lets the reader go", func() bool { return s.API.OpenTails() == 0 })
		seen, after := map[string]bool{}, ""
		for err == nil {
			var e client.Event
			if e, err = slow.Next(); err == nil {
				takeTrace(t, seen, e)
				after = slow.LastID()
			}
		}
		if got := len(seen); got == requests*perRequest || errors.Is(err, io.EOF) {
			t.Fatalf("it was not cut off: %d told, %v", got, err)
		}
		s.API.SetPatience(time.Minute)
		rest, err := owner.Tail(ctx, org, client.TailFilter{}, after)
		if err != nil {
			t.Fatalf("open a tail: %v", err)
		}
		defer rest.Close()
		for len(seen) < requests*perRequest {
			e, err := rest.Next()
			if err != nil {
				t.Fatalf("%d of %d traces came: %v", len(seen), requests*perRequest, err)
			}
			takeTrace(t, seen, e)
		}
	})
}

// sendLongTraces ingests so many traces with long texts.
func sendLongTraces(t *testing.T, agent *client.Client, traces int, long string) {
	t.Helper()
	batches := make([]json.RawMessage, traces)
	for i := range batches {
		batches[i] = json.RawMessage(fmt.Sprintf(
			`{"trace":{"id":%q,"name":%q,"startTime":%q,"status":"ok","attributes":{"input":%q,"output":%q}}}`,
			database.NewID(), long, time.Now().UTC().Add(-time.Minute).Format(time.RFC3339Nano), long, long))
	}
	got, err := agent.Ingest(t.Context(), client.Spans{Product: "suite", Batches: batches})
	if err != nil || got.Accepted != traces {
		t.Fatalf("ingest: %+v, %v", got, err)
	}
}

// takeTrace notes the trace that an event tells of, if it tells of one.
func takeTrace(t *testing.T, seen map[string]bool, e client.Event) {
	t.Helper()
	var event client.TailEvent
	if err := json.Unmarshal(e.Data, &event); err != nil {
		t.Fatalf("%s: %v", e.Data, err)
	}
	if event.Trace != nil {
		seen[event.Trace.ID] = true
	}
}
