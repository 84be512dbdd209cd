package servers_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"writ/client"
	"writ/internal/database"
	"writ/internal/testserver"
)

// TestTelemetryOfServers counts decisions by tool and hour, and takes errors and durations from spans, under every
// name that a harness gives to the tool.
func TestTelemetryOfServers(t *testing.T) {
	t.Parallel()
	eachOrg(t, func(t *testing.T, o *testserver.Org) {
		ctx := t.Context()
		o.ActivePolicy(o.Owner, o.ID, "version: v1\nname: some\nrules:\n"+
			"  - {id: read, effect: allow, tools: [\"files.read\"]}\n  - {id: rest, effect: deny, tools: [\"files.write\"]}\n")
		if _, err := o.Owner.RegisterMCPServer(ctx, o.ID, client.NewMCPServer{Name: "files"}); err != nil {
			t.Fatal(err)
		}
		key := o.AgentKey(o.Owner, o.ID).APIKey
		for range 3 {
			decide(t, o, key, "files", "read")
		}
		decide(t, o, key, "files", "write")
		decide(t, o, key, "other", "read")
		sendSpans(t, o, key)
		var read, write client.MCPToolTelemetry
		testserver.Soon(t, "the calls and spans are counted", func() bool {
			found, err := o.Owner.MCPTelemetry(ctx, o.ID, "files", 7)
			if err != nil || len(found.Tools) != 2 {
				t.Logf("%+v, %v", found, err)
				return false
			}
			read, write = found.Tools[0], found.Tools[1]
			return read.Calls == 3 && read.Denials == 0 && write.Denials == 1 && read.Spans == 20
		})
		if read.Errors != 2 || *read.P50Ms != 100 || *read.P95Ms != 190 {
			t.Errorf("%d errors, p50 %v, p95 %v", read.Errors, *read.P50Ms, *read.P95Ms)
		}
		if write.Spans != 1 || *write.P50Ms != 7 || *write.P95Ms != 7 || write.Errors != 0 {
			t.Errorf("%+v", write)
		}
		if len(read.Hours) != 1 || read.Hours[0].Calls != 3 || read.Hours[0].At.Minute() != 0 {
			t.Errorf("by hour: %+v", read.Hours)
		}
		if _, err := o.Owner.MCPTelemetry(ctx, o.ID, "files", 31); client.StatusOf(err) != 422 &&
			client.StatusOf(err) != 400 {
			t.Errorf("31 days: %v", err)
		}
	})
}

// sendSpans reports twenty calls of a tool that took 10, 20, … 200 ms, two of which failed, in an order and under names
// as they come; one of another tool; and one of a tool of that name that is no server's of ours.
func sendSpans(t *testing.T, o *testserver.Org, key string) {
	t.Helper()
	now := o.Database.Now().Format(time.RFC3339Nano)
	span := func(tool string, ms int, status string) m {
		return m{
			"id": database.NewID(), "kind": "tool", "name": "call", "startTime": now,
			"durationMs": ms, "status": status, "attributes": m{"toolName": tool},
		}
	}
	var spans []m
	for i := range 20 {
		status := "ok"
		if i%10 == 9 {
			status = "error"
		}
		name := []string{"read", "mcp__files__read", "files.read", "files__read"}[i%4]
		spans = append(spans, span(name, 10*(i+1), status))
	}
	slices.Reverse(spans)
	spans = append(spans, span("mcp__files__write", 7, "ok"), span("mcp__other__read", 99999, "error"))
	batch, err := json.Marshal(m{
		"trace": m{"id": database.NewID(), "name": "n", "startTime": now, "status": "ok"}, "spans": spans,
	})
	if err != nil {
		t.Fatal(err)
	}
	answer := o.Request(t, "POST", "/observability/spans",
		testserver.JSON(t, m{"product": "p", "batches": []json.RawMessage{batch}}), "X-Api-Key", key)
	var said client.Ingested
	if err := json.Unmarshal(answer.Body, &said); err != nil || said.Accepted != 1 {
		t.Fatalf("%d %s", answer.Status, answer.Body)
	}
}
