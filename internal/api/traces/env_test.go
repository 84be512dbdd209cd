package traces_test

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"writ/client"
	"writ/internal/database"
	"writ/internal/testserver"
)

// Most tests of this package state the specification of observability (sections
// 2.2 to 2.5, 3, 4.1, 7 and 8), and what was settled where it is silent, rule by
// rule: each rule has a test or subtest whose name is the rule.

// m is a JSON object.
type m = map[string]any

// with is an object with some members replaced, or left out where they are absent.
func with(base, changes m) m {
	result := maps.Clone(base)
	maps.Copy(result, changes)
	maps.DeleteFunc(result, func(_ string, value any) bool { return value == absent })
	return result
}

// observed is an organization whose agent sends telemetry that its owner reads.
type observed struct {
	*testserver.Server
	t     *testing.T
	owner *testserver.Person
	org   string
	agent *client.Client
}

// rules gives each rule an organization of its own, on one server a database.
func rules(
	t *testing.T, body func(s *testserver.Server, rule func(sentence string, test func(t *testing.T, o *observed))),
	settings ...string,
) {
	t.Helper()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		// half past: no hour turns within a test
		s.Advance(s.Now().Truncate(time.Hour).Add(90 * time.Minute).Sub(s.Now()))
		owner, signedIn := s.Person("owner"), s.Offset.Load()
		body(s, func(sentence string, test func(t *testing.T, o *observed)) {
			if s.Offset.Load() != signedIn { // a rule moved the clock, perhaps past the token's life
				owner, signedIn = s.SignIn(owner.Email), s.Offset.Load()
			}
			t.Run(sentence, func(t *testing.T) { test(t, observe(t, s, owner)) })
		})
	}, settings...)
}

func observe(t *testing.T, s *testserver.Server, owner *testserver.Person) *observed {
	t.Helper()
	org := s.Organization(owner, "Observed")
	return &observed{
		Server: s,
		t:      t,
		owner:  owner,
		org:    org,
		agent:  s.Public.WithKey(s.KeyFor(owner.ID, org).Secret.Reveal()),
	}
}

// trace is a valid trace that began a minute ago, with some members replaced.
func (o *observed) trace(changes m) m {
	return with(m{"id": database.NewID(), "name": "iap.plan", "startTime": o.Ago(time.Minute), "status": "ok"}, changes)
}

// span is a valid span that began a minute ago, with some members replaced.
func (o *observed) span(kind string, changes m) m {
	return with(m{"id": database.NewID(), "kind": kind, "name": "step", "startTime": o.Ago(time.Minute)}, changes)
}

// generation is a model call.
func (o *observed) generation(model string, input, output int, changes m) m {
	return o.span("generation", m{
		"attributes": with(m{"model": model, "inputTokens": input, "outputTokens": output}, changes),
	})
}

// policyCall is a decision that took some milliseconds.
func (o *observed) policyCall(policyID, decision string, changes m) m {
	attributes := m{"policyId": policyID, "policyName": "Policy " + policyID, "decision": decision}
	return o.span("policy_call", with(m{"durationMs": 10, "attributes": attributes}, changes))
}

func batch(trace m, spans ...m) m { return with(m{"trace": trace, "spans": spans}, nil) }

// sent encodes batches; a string is JSON already.
func sent(t *testing.T, batches ...any) []json.RawMessage {
	t.Helper()
	encoded := make([]json.RawMessage, len(batches))
	for i, b := range batches {
		if text, ok := b.(string); ok {
			encoded[i] = json.RawMessage(text)
			continue
		}
		var err error
		if encoded[i], err = json.Marshal(b); err != nil {
			t.Fatal(err)
		}
	}
	return encoded
}

// rawBatches are batches as the area takes them.
func rawBatches(t *testing.T, batches []any) (raw []jsontext.Value) {
	t.Helper()
	for _, b := range sent(t, batches...) {
		raw = append(raw, jsontext.Value(b))
	}
	return raw
}

// send ingests batches and wants the request understood.
func (o *observed) send(batches ...any) client.Ingested {
	o.t.Helper()
	got, err := o.agent.Ingest(o.t.Context(), client.Spans{Product: "suite", Batches: sent(o.t, batches...)})
	if err != nil {
		o.t.Fatalf("ingest: %v", err)
	}
	if got.Accepted+got.Rejected+got.Duplicate != len(batches) || len(got.TraceIDs) != got.Accepted ||
		len(got.Rejections) != got.Rejected {
		o.t.Fatalf("the counts do not add up to %d batches: %+v", len(batches), got)
	}
	return got
}

// store ingests batches and wants all of them accepted.
func (o *observed) store(batches ...any) {
	o.t.Helper()
	if got := o.send(batches...); got.Accepted != len(batches) {
		o.t.Fatalf("%d of %d batches accepted: %+v", got.Accepted, len(batches), got.Rejections)
	}
}

// stored ingests a trace and gives it as it is read.
func (o *observed) stored(trace m, spans ...m) *client.TraceDetail {
	o.t.Helper()
	o.store(batch(trace, spans...))
	return o.read(trace["id"].(string))
}

func (o *observed) read(traceID string) *client.TraceDetail {
	o.t.Helper()
	got, err := o.owner.Trace(o.t.Context(), o.org, traceID)
	if err != nil || got == nil {
		o.t.Fatalf("read trace %s: %v, %v", traceID, got, err)
	}
	return got
}

func (o *observed) session(id string) *client.TelemetrySession {
	o.t.Helper()
	got, err := o.owner.TelemetrySession(o.t.Context(), o.org, id)
	if err != nil || got == nil {
		o.t.Fatalf("read session %s: %v, %v", id, got, err)
	}
	return got
}

func (o *observed) summary(days int) client.Summary {
	o.t.Helper()
	got, err := o.owner.Summary(o.t.Context(), o.org, days)
	if err != nil {
		o.t.Fatalf("summary: %v", err)
	}
	return got
}

func (o *observed) tokens(groupBy string) []client.UsageItem {
	o.t.Helper()
	got, err := o.owner.Client.Tokens(o.t.Context(), o.org, groupBy, 0)
	if err != nil {
		o.t.Fatalf("tokens by %s: %v", groupBy, err)
	}
	return got.Items
}

func (o *observed) policy(id string, days int) client.PolicyStats {
	o.t.Helper()
	got, err := o.owner.PolicyStats(o.t.Context(), o.org, id, days)
	if err != nil {
		o.t.Fatalf("policy %s: %v", id, err)
	}
	return got
}

// listed are the ids of a page of traces.
func (o *observed) listed(f client.TraceFilter) []string {
	o.t.Helper()
	page, err := o.owner.Traces(o.t.Context(), o.org, f)
	if err != nil {
		o.t.Fatalf("list traces: %v", err)
	}
	ids := []string{}
	for _, trace := range page.Items {
		ids = append(ids, trace.ID)
	}
	return ids
}

// post sends a request as it is written.
func (o *observed) post(body string, headers ...string) testserver.Answer {
	o.t.Helper()
	return o.Request(o.t, "POST", "/observability/spans", body, append(headers, testserver.Credentials(o.agent)...)...)
}

// path is that of a read.
func (o *observed) path(rest string) string {
	return "/organization/" + o.org + "/observability" + rest
}

// get reads as the owner, for what the client hides.
func (o *observed) get(rest string) testserver.Answer {
	o.t.Helper()
	return o.Request(o.t, "GET", o.path(rest), "", testserver.Credentials(o.owner.Client)...)
}

// refuse wants a read refused as invalid, with a message that names something.
func (o *observed) refuse(rest, named string) {
	o.t.Helper()
	answer := o.get(rest)
	if fields := answer.ErrorFields(o.t, http.StatusBadRequest); len(fields) > 0 && !slices.Contains(fields, named) ||
		len(fields) == 0 && !strings.Contains(string(answer.Body), named) {
		o.t.Errorf("GET %s complains of %q, want %s: %s", rest, fields, named, answer.Body)
	}
}

// later moves the server's clock, and signs in again.
func (o *observed) later(d time.Duration) {
	o.t.Helper()
	o.Advance(d)
	o.owner = o.SignIn(o.owner.Email)
}

// messageOf is what the server said of an error.
func messageOf(err error) string {
	if e, ok := errors.AsType[*client.Error](err); ok {
		return e.Message
	}
	return ""
}

// pointer is the address of a value.
func pointer[T any](value T) *T { return &value }

// absent leaves a field out.
var absent any = &struct{ left int }{}
