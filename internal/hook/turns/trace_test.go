package turns

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/hook/bounded"
	"writ/internal/hook/state"
	"writ/internal/hook/transcript"
	"writ/internal/telemetry/decode"
)

var begun = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// ended is a turn with a call that ran, one that was denied, and one that nobody decided about.
func ended() finished {
	at := func(second int) time.Time { return begun.Add(time.Duration(second) * time.Second) }
	return finished{
		session: "0a1b2c3d-0000-4000-8000-000000000001",
		agent:   "gemini-cli",
		turn: state.Turn{
			Number: 3, TraceID: "0a1b2c3d-0000-4000-8000-0000000000ff", StartedAt: begun, Input: "fix the tests",
		},
		events: []state.Event{
			{
				Kind:       state.DecisionEvent,
				Begun:      begun,
				At:         at(1),
				Tool:       "read_file",
				DecisionID: "d1",
				Verdict:    state.Allow,
				Runs:       true,
			},
			{
				Kind:       state.DecisionEvent,
				At:         at(2),
				Tool:       "web_fetch",
				DecisionID: "d2",
				Verdict:    "deny",
				Reason:     "no",
				Rule:       "r",
			},
			{
				Kind:       state.OutcomeEvent,
				At:         at(3),
				Tool:       "read_file",
				DecisionID: "d1",
				Input:      `{"path":"a"}`,
				Output:     "text",
			},
			{Kind: state.AlarmEvent, At: at(4), Tool: "write_file", Reason: "nobody decided"},
		},
		usage: transcript.Turn{Requests: []transcript.Request{
			{
				Model:  "gemini-2.5-pro",
				At:     at(2),
				Input:  60,
				Output: 10,
				Cached: 30,
			},
			{Model: "gemini-2.5-pro", At: at(3), Input: 40, Output: 10},
		}},
	}
}

// stored is a batch as the server reads it.
func stored(t *testing.T, batch json.RawMessage) decode.Batch {
	t.Helper()
	b, bad := decode.ParseBatch(jsontext.Value(batch), nil, Product, decode.BuiltInPrices())
	if bad != nil {
		t.Fatalf("the server refuses %s: %v", batch, bad)
	}
	return b
}

func TestTraceOfATurn(t *testing.T) {
	t.Parallel()
	f := ended()
	batches := traces(f)
	if len(batches) != 1 {
		t.Fatalf("%d batches, want 1", len(batches))
	}
	b := stored(t, batches[0])
	if b.Trace.ID != f.turn.TraceID || b.Trace.SessionID != f.session || *b.Trace.Input != "fix the tests" ||
		*b.Trace.Output != "1 calls ran, 1 did not" || b.Trace.Status != "error" || *b.Trace.DurationMs != 4000 {
		t.Errorf("%+v", b.Trace)
	}
	if b.Trace.Usage.Input != 100 || b.Trace.Usage.Output != 20 || b.Trace.Usage.CacheRead != 30 ||
		b.Trace.Usage.CostNanos == 0 {
		t.Errorf("%+v", b.Trace.Usage)
	}
	var got []string
	for _, s := range b.Spans {
		got = append(got, fmt.Sprintf("%s %s %s %s", s.Kind, s.Name, s.Status, s.Tool))
		if s.PolicyID != "" {
			t.Errorf("%s names a policy: it would be counted twice", s.Name)
		}
	}
	want := []string{
		"span tool.read_file ok read_file", "policy_call hook.allow ok read_file",
		"span tool.web_fetch denied web_fetch", "policy_call hook.deny denied web_fetch",
		"span tool.write_file error write_file", "generation model ok ", "generation model ok ",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestTheLastTraceOfASession: its last part ends the session, and the turn is no longer for it.
func TestTheLastTraceOfASession(t *testing.T) {
	t.Parallel()
	f := ended()
	f.ended = begun.Add(time.Hour)
	for range 100 {
		f.events = append(f.events, state.Event{Kind: state.DecisionEvent, At: begun, Tool: "t", Verdict: "deny"})
	}
	batches := traces(f)
	if len(batches) != 2 {
		t.Fatalf("%d batches, want 2", len(batches))
	}
	for i, batch := range batches {
		b := stored(t, batch)
		last := b.Spans[len(b.Spans)-1]
		ends := last.Kind == "event" && last.Name == "session.end" && last.Status == "ok"
		if ends != (i == 1) || *b.Trace.DurationMs > 4000 {
			t.Errorf("part %d: %+v, %+v", i, last, b.Trace)
		}
	}
}

// TestTracesAreTheSameAgain: what is sent twice counts once, because its ids follow from the turn.
func TestTracesAreTheSameAgain(t *testing.T) {
	t.Parallel()
	one, two := traces(ended()), traces(ended())
	if string(one[0]) != string(two[0]) {
		t.Errorf("%s\n%s", one[0], two[0])
	}
	if id := newID(); !decode.IsUUID(id) || id == newID() {
		t.Errorf("%q is no new UUID", id)
	}
}

// TestLongTurns: a turn of many calls becomes several traces, each of which fits into a request.
func TestLongTurns(t *testing.T) {
	t.Parallel()
	f := ended()
	f.session, f.events = "no-uuid", nil
	for i := range 250 {
		f.events = append(f.events,
			state.Event{
				Kind:       state.DecisionEvent,
				At:         begun,
				Tool:       "t",
				DecisionID: fmt.Sprint(i),
				Verdict:    state.Allow,
				Runs:       true,
			},
			state.Event{
				Kind: state.OutcomeEvent, At: begun, Tool: "t", DecisionID: fmt.Sprint(i),
				Input: strings.Repeat("<", bounded.Shown), Output: strings.Repeat("\x01", bounded.Shown/4),
			})
	}
	batches := traces(f)
	spans, ids := 0, map[string]bool{}
	for _, batch := range batches {
		if len(batch) > 960<<10 {
			t.Errorf("a batch has %d bytes", len(batch))
		}
		b := stored(t, batch)
		spans, ids[b.Trace.ID] = spans+len(b.Spans), true
		if b.Trace.SessionID != "" {
			t.Errorf("session %q", b.Trace.SessionID)
		}
	}
	if len(batches) != 3 || len(ids) != 3 || spans != 502 {
		t.Errorf("%d batches with %d ids and %d spans, want 3, 3 and 502", len(batches), len(ids), spans)
	}
}
