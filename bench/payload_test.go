package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"
)

// sent is a payload as a server reads it.
type sent struct {
	Batches []struct {
		Trace struct {
			ID, SessionID, StartTime string
		}
		Spans []struct {
			SessionID  string
			Attributes json.RawMessage
		}
	}
}

func decode(t *testing.T, p *payload) sent {
	t.Helper()
	var s sent
	if err := json.Unmarshal(p.text, &s); err != nil {
		t.Fatalf("the payload is not JSON: %v", err)
	}
	return s
}

func TestPayload(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := newPayload(newWorkload(), 25, 7, start, time.Second)
	s := decode(t, p)
	if got, want := len(s.Batches), 25; got != want {
		t.Fatalf("traces = %d, want %d", got, want)
	}
	if got, want := p.spans, 25*7; got != want {
		t.Errorf("spans = %d, want %d", got, want)
	}
	if got, want := len(p.sessions), 3; got != want { // ten, ten and five traces
		t.Errorf("sessions = %d, want %d", got, want)
	}
	if got, want := s.Batches[24].Trace.StartTime, "2026-01-02T03:04:29.000Z"; got != want {
		t.Errorf("start of the last trace = %s, want %s", got, want)
	}
	for _, b := range s.Batches {
		if got, want := len(b.Spans), 7; got != want {
			t.Fatalf("spans of a trace = %d, want %d", got, want)
		}
		for _, span := range b.Spans {
			if got, want := len(span.Attributes), attributeBytes; got != want {
				t.Errorf("attributes have %d bytes, want %d: %s", got, want, span.Attributes)
			}
		}
	}
}

func TestRenewReplacesTracesAndSessions(t *testing.T) {
	t.Parallel()
	p := newPayload(newWorkload(), 25, 3, time.Now(), time.Second)
	before, size := decode(t, p), len(p.text)
	p.renew()
	after := decode(t, p)
	if got := len(p.text); got != size {
		t.Errorf("the payload has %d bytes after, %d before", got, size)
	}
	for n, b := range after.Batches {
		if b.Trace.ID == before.Batches[n].Trace.ID || b.Trace.SessionID == before.Batches[n].Trace.SessionID {
			t.Errorf("trace %d kept its id or its session", n)
		}
		if got, want := b.Trace.SessionID,
			after.Batches[n/tracesPerSession*tracesPerSession].Trace.SessionID; got != want {
			t.Errorf("trace %d is in session %s, want %s", n, got, want)
		}
		for _, span := range b.Spans {
			if span.SessionID != b.Trace.SessionID {
				t.Errorf("a span of trace %d is in session %s, want %s", n, span.SessionID, b.Trace.SessionID)
			}
		}
	}
}

func TestWorkloadRepeats(t *testing.T) {
	t.Parallel()
	a, b := newWorkload(), newWorkload()
	for kind := range spanKinds {
		for n := range a.shapes[kind] {
			if *a.shapes[kind][n] != *b.shapes[kind][n] {
				t.Fatalf("shape %d of kind %d differs between two workloads", n, kind)
			}
		}
	}
	if a.users[0] != b.users[0] || a.users[0] == a.users[1] {
		t.Errorf("users are %s and %s in one workload, %s in another", a.users[0], a.users[1], b.users[0])
	}
}

func TestNewID(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	first, second := newID(), newID()
	if !form.MatchString(first) || first == second {
		t.Errorf("ids are %s and %s, want two random UUIDs", first, second)
	}
}

func TestDecodeFloor(t *testing.T) {
	t.Parallel()
	floor, err := decodeFloor(nil)
	if err != nil {
		t.Fatal(err)
	}
	good := newPayload(newWorkload(), 12, 2, time.Now(), time.Second)
	for text, want := range map[string]int{string(good.text): http.StatusOK, "{": http.StatusBadRequest} {
		answer := httptest.NewRecorder()
		floor.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/observability/spans", strings.NewReader(text)))
		if answer.Code != want {
			t.Errorf("status = %d, want %d: %s", answer.Code, want, answer.Body)
		}
		if want == http.StatusOK && strings.TrimSpace(answer.Body.String()) != `{"accepted":12}` {
			t.Errorf("answer = %s, want 12 accepted", answer.Body)
		}
	}
}
