package decode_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/fault"
	"writ/internal/telemetry/decode"
)

// batch is a valid one, but for what the members make of it.
func batch(traceMembers, spans string) string {
	return `{"trace":{"id":"0190a0a0-0000-7000-8000-00000000000a","name":"n","startTime":"2030-05-15T12:30:00Z","status":"ok"` + traceMembers + `},"spans":[` + spans + `]}`
}

func span(kind, members string) string {
	return `{"id":"0190A0A0-0000-7000-8000-00000000000B","kind":"` + kind +
		`","name":"é","startTime":"0001-01-01T00:00:00"` + members + `}`
}

// FuzzParseRequest: a request is refused with a fault about a field, or split
// into a bounded number of batches, each a JSON value on its own.
func FuzzParseRequest(f *testing.F) {
	for _, seed := range []string{
		`{"product":"p","batches":[` + batch("", "") + `]}`,
		`{"batches":[{},null,"x",[[[]]]],"product":"p","sessionId":7,"more":{"orgId":1}}`,
		`{"product":"p","batches":[{"a":1,"a":2},"\ud800"]}`, "{\"product\":\"p\",\"batches\":[\"\xff\"]}",
		`{"product":"p","product":"q","batches":[1]}`, `{"product":"p","batches":[1]} {}`, `{"orgId":null}`, `[`, ``,
		`null`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := decode.ParseRequest(body)
		if err != nil {
			if !fault.Is(err, fault.Invalid) {
				t.Fatalf("err = %v, want an invalid field", err)
			}
			return
		}
		if n := len(r.Batches); n < 1 || n > decode.MaxBatches {
			t.Errorf("%d batches", n)
		}
		if !utf8.ValidString(r.Product) {
			t.Errorf("product %q", r.Product)
		}
		for _, batch := range r.Batches {
			lenient := batch.Clone()
			if err := lenient.Compact(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
				t.Errorf("a batch is no JSON value: %v", err)
			}
		}
	})
}

// FuzzParseBatch: a batch is rejected with a field and a reason, or everything in
// it fits where it is stored.
func FuzzParseBatch(f *testing.F) {
	for _, seed := range []string{
		batch("", ""),
		batch(`,"sessionId":null,"userId":"0190a0a0-0000-7000-8000-00000000000c","agentId":"a","tags":["t\u0000"]`, ""),
		batch(`,"endTime":"2030-05-15T14:30:00.5+02:00","durationMs":1e3`, ""),
		batch(`,"attributes":{"source":"x","input":"a\u0000","output":{"a":[1]}}`, ""),
		batch("", span("generation", `,"attributes":{"model":"gpt-4o","inputTokens":1e308,"costUsd":-0}`)),
		batch("", span("policy_call",
			`,"endTime":"9999-12-31T23:59:59Z","status":"error","attributes":{"policyId":"p","decision":"deny"}`)),
		batch("", span("", `,"parentSpanId":"","attributes":[]`)),
		`{"trace":null,"spans":[{}]}`,
	} {
		f.Add([]byte(seed))
	}
	prices := decode.BuiltInPrices()
	session := jsontext.Value(`"0190a0a0-0000-7000-8000-00000000000d"`)
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := decode.ParseRequest([]byte(`{"product":"p","batches":[` + string(raw) + `]}`))
		if err != nil {
			return // what cannot be split has no batches
		}
		b, bad := decode.ParseBatch(r.Batches[0], session, "p", prices)
		if bad != nil {
			if bad.Field == "" || bad.Reason == "" {
				t.Errorf("rejected without a field or a reason: %+v", bad)
			}
			return
		}
		checkTrace(t, &b.Trace)
		if len(b.Spans) > decode.MaxSpans {
			t.Errorf("%d spans", len(b.Spans))
		}
		for i := range b.Spans {
			checkSpan(t, &b.Spans[i])
		}
	})
}

func checkTrace(t *testing.T, x *decode.Trace) {
	t.Helper()
	checkIDs(t, x.ID, x.SessionID, x.UserID)
	checkName(t, x.Name)
	checkStatus(t, x.Status)
	checkTimes(t, x.Start, x.End, x.DurationMs)
	checkText(t, x.AgentID)
	checkText(t, x.Source)
	checkJSON(t, x.Attributes, "{")
	checkJSON(t, x.Tags, "[")
	for _, preview := range []*string{x.Input, x.Output} {
		if preview != nil && (utf8.RuneCountInString(*preview) > 200 || !storable(*preview)) {
			t.Errorf("preview %q", *preview)
		}
	}
}

func checkSpan(t *testing.T, s *decode.Span) {
	t.Helper()
	checkIDs(t, s.ID, s.ParentID, s.SessionID)
	checkName(t, s.Name)
	checkStatus(t, s.Status)
	checkTimes(t, s.Start, s.End, s.DurationMs)
	checkJSON(t, s.Attributes, "{")
	if s.Kind == "" {
		t.Error("no kind")
	}
	for _, text := range []string{s.Kind, s.Tool, s.Model, s.PolicyID, s.PolicyName, s.Decision, s.RuleID} {
		checkText(t, text)
	}
	for _, n := range []int64{s.Usage.Input, s.Usage.Output, s.Usage.CacheRead, s.Usage.CacheWrite} {
		if n < 0 || n > decode.MaxTokens {
			t.Errorf("%d tokens", n)
		}
	}
	if s.Usage.CostNanos < 0 || s.Usage.CostNanos > decode.MaxCost*1e9 {
		t.Errorf("cost %d", s.Usage.CostNanos)
	}
}

// checkIDs checks one id that must be there and others that may.
func checkIDs(t *testing.T, id string, others ...string) {
	t.Helper()
	if !decode.IsUUID(id) {
		t.Errorf("id %q", id)
	}
	for _, other := range others {
		if other != "" && !decode.IsUUID(other) {
			t.Errorf("id %q", other)
		}
	}
}

func checkName(t *testing.T, name string) {
	t.Helper()
	if n := utf8.RuneCountInString(name); n < 1 || n > decode.MaxName || !storable(name) {
		t.Errorf("name %q", name)
	}
}

func checkStatus(t *testing.T, status string) {
	t.Helper()
	switch status {
	case decode.StatusOK, decode.StatusError, decode.StatusDenied:
	default:
		t.Errorf("status %q", status)
	}
}

// checkTimes checks instants of the years 1 to 9999 and a duration.
func checkTimes(t *testing.T, start int64, end, duration *int64) {
	t.Helper()
	const first, last = -62_135_596_800_000_000, 253_402_300_800_000_000
	for _, at := range []*int64{&start, end} {
		if at != nil && (*at < first || *at >= last) {
			t.Errorf("instant %d", *at)
		}
	}
	if duration != nil && (*duration < 0 || *duration > decode.MaxDuration) {
		t.Errorf("duration %d", *duration)
	}
}

func checkText(t *testing.T, text string) {
	t.Helper()
	if len(text) > decode.MaxText || !storable(text) {
		t.Errorf("text %q", text)
	}
}

// checkJSON checks a text that is answered as JSON.
func checkJSON(t *testing.T, text, begins string) {
	t.Helper()
	if !strings.HasPrefix(text, begins) || !json.Valid([]byte(text)) || !storable(text) {
		t.Errorf("JSON %q", text)
	}
}

// storable reports whether PostgreSQL takes a text.
func storable(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }
