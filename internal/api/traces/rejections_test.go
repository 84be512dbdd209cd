package traces_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/database"
	"writ/internal/testserver"
)

// rejectCase breaks one rule of a valid batch, which has a span of each of three kinds.
type rejectCase struct {
	sentence           string
	trace              m // members of the trace
	span               m // members of the plain span, spans[0]
	generation, policy m // attributes of spans[1] and spans[2]
	field, reason      string
}

func (o *observed) broken(c rejectCase) m {
	return batch(o.trace(c.trace), o.span("span", c.span), o.generation("m", 1, 1, c.generation),
		o.policyCall("p", "allow", m{
			"attributes": with(m{"policyId": "p", "decision": "allow"}, c.policy),
		}))
}

const (
	needsID     = "is required and must be a UUID"
	notAnID     = "must be a UUID"
	needsTime   = "is required and must be an ISO 8601 date and time"
	notATime    = "must be an ISO 8601 date and time"
	badName     = "must be 1-200 characters"
	badStatus   = "must be ok, error or denied"
	wrongType   = "has the wrong type"
	badNumber   = "must be a whole number from 0 to 1000000000000"
	badCost     = "must be a number from 0 to 1000000000"
	holdsNUL    = "must not contain the character U+0000"
	tooLongText = "must have at most 500 bytes"
)

// brokenTraces are the rules of a trace (2.2, 4.1 rule 5).
func brokenTraces() (cases []rejectCase) {
	add := func(sentence, member string, value any, reason string) {
		cases = append(cases, rejectCase{
			sentence: sentence, trace: m{member: value}, field: "trace." + member, reason: reason,
		})
	}
	add("A trace needs an id", "id", absent, needsID)
	add("A trace's id is not null", "id", nil, needsID)
	add("A trace's id is a UUID", "id", "42", notAnID)
	add("A UUID has dashes", "id", strings.ReplaceAll(database.NewID(), "-", ""), notAnID)
	add("A UUID has no braces", "id", "{"+database.NewID()+"}", notAnID)
	add("A UUID has no further line", "id", database.NewID()+"\n", notAnID)
	add("An id is a string", "id", 42, wrongType)
	add("A trace needs a name", "name", absent, badName)
	add("A name is not empty", "name", "", badName)
	add("A name has at most 200 characters", "name", strings.Repeat("ä", 201), badName)
	add("A name is a string", "name", []string{"x"}, wrongType)
	add("A name holds no NUL", "name", "a\x00b", holdsNUL)
	add("A trace needs a start", "startTime", absent, needsTime)
	add("A trace needs a status", "status", absent, badStatus)
	add("A trace's status is ok, error or denied", "status", "OK", badStatus)
	add("A session id is a UUID", "sessionId", "mine", notAnID)
	add("An empty session id is no UUID", "sessionId", "", notAnID)
	add("A session id is a string", "sessionId", 7, notAnID)
	add("A user id is a UUID", "userId", "alice", notAnID)
	add("An empty user id is no UUID", "userId", "", notAnID)
	add("An agent id holds no NUL", "agentId", "\x00", holdsNUL)
	add("An agent id has a bound", "agentId", strings.Repeat("a", 501), tooLongText)
	add("Attributes are an object", "attributes", []int{1}, "must be an object")
	add("Tags are an array", "tags", "a", wrongType)
	return append(cases, rejectCase{
		sentence: "Tags are strings", trace: m{"tags": []any{"a", 1}}, field: "trace.tags[1]", reason: wrongType,
	})
}

// brokenSpans are the rules of a span (2.3, 4.1 rule 5).
func brokenSpans() (cases []rejectCase) {
	add := func(sentence, member string, value any, reason string) {
		cases = append(cases, rejectCase{
			sentence: sentence, span: m{member: value}, field: "spans[0]." + member, reason: reason,
		})
	}
	add("A span needs an id", "id", absent, needsID)
	add("A span's id is a UUID", "id", "1", notAnID)
	add("A parent span id is a UUID", "parentSpanId", "root", notAnID)
	add("An empty parent span id is no UUID", "parentSpanId", "", notAnID)
	add("A span's session id is a UUID", "sessionId", "s", notAnID)
	add("A span needs a kind", "kind", absent, "is required")
	add("A kind is not empty", "kind", "", "is required")
	add("A kind has a bound", "kind", strings.Repeat("k", 501), tooLongText)
	add("A span needs a name", "name", absent, badName)
	add("A span's name has at most 200 characters", "name", strings.Repeat("n", 201), badName)
	add("A span needs a start", "startTime", nil, needsTime)
	add("A span's status is ok, error or denied", "status", "warn", badStatus)
	add("A span's attributes are an object", "attributes", "x", "must be an object")
	return cases
}

// brokenTimes are texts that are no date and time, and numbers that are no duration.
func brokenTimes() (cases []rejectCase) {
	for _, text := range []string{
		"", "now", "2030-01-01", "10:00:00Z", "2030-02-30T00:00:00Z", "2030-13-01T00:00:00Z", "2030-01-01T25:00:00Z",
		"2030-01-01 10:00:00Z",
		"2030-01-01T00:00:00+99:00", "10000-01-01T00:00:00Z", "9999-12-31T23:59:59-01:00", "0000-06-01T00:00:00Z",
		"1893456000", "2030-01-01T00:00:00Z ", "\x00",
	} {
		cases = append(cases,
			rejectCase{
				sentence: fmt.Sprintf("%q is no start", text),
				trace:    m{"startTime": text},
				field:    "trace.startTime",
				reason:   needsTime,
			},
			rejectCase{
				sentence: fmt.Sprintf("%q is no end", text),
				span:     m{"endTime": text},
				field:    "spans[0].endTime",
				reason:   notATime,
			})
	}
	cases = append(cases,
		rejectCase{
			sentence: "A number is no start",
			trace:    m{"startTime": 1893456000},
			field:    "trace.startTime",
			reason:   wrongType,
		},
		rejectCase{
			sentence: "A number is no end", trace: m{"endTime": 1893456000}, field: "trace.endTime", reason: notATime,
		})
	for sentence, value := range map[string]any{
		"A duration is not negative": -1, "A duration is whole": 1.5, "A duration has a bound": 1e12 + 1,
		"A duration of 1e308 is beyond it": 1e308, "A duration is no string": "5",
	} {
		cases = append(cases,
			rejectCase{sentence: sentence, trace: m{"durationMs": value}, field: "trace.durationMs", reason: badNumber},
			rejectCase{
				sentence: sentence + ", of a span too",
				span:     m{"durationMs": value},
				field:    "spans[0].durationMs",
				reason:   badNumber,
			})
	}
	return cases
}

// brokenAttributes are those of generations and of what is grouped by.
func brokenAttributes() (cases []rejectCase) {
	for _, name := range []string{"inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"} {
		for sentence, value := range map[string]any{
			"are not negative": -1, "are whole": 0.5, "have a bound": 1e12 + 1, "of 1e308 are beyond it": 1e308,
			"are no string": "5", "are no object": m{},
		} {
			cases = append(cases, rejectCase{
				sentence:   name + " " + sentence,
				generation: m{name: value},
				field:      "spans[1].attributes." + name,
				reason:     badNumber,
			})
		}
	}
	for sentence, value := range map[string]any{
		"is not negative": -0.01, "has a bound": 1e9 + 1, "of 1e308 is beyond it": 1e308, "is no string": "free",
	} {
		cases = append(cases, rejectCase{
			sentence:   "costUsd " + sentence,
			generation: m{"costUsd": value},
			field:      "spans[1].attributes.costUsd",
			reason:     badCost,
		})
	}
	for _, name := range []string{"policyId", "policyName", "decision", "matchedRuleId", "toolName", "model"} {
		cases = append(cases,
			rejectCase{
				sentence: name + " holds no NUL",
				policy:   m{name: "a\x00"},
				field:    "spans[2].attributes." + name,
				reason:   holdsNUL,
			},
			rejectCase{
				sentence: name + " has a bound",
				policy:   m{name: strings.Repeat("x", 501)},
				field:    "spans[2].attributes." + name,
				reason:   tooLongText,
			})
	}
	return cases
}

// TestIngestRejections breaks each rule beside a batch that keeps them all.
func TestIngestRejections(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		for name, cases := range map[string][]rejectCase{
			"Traces": brokenTraces(), "Spans": brokenSpans(), "Times": brokenTimes(), "Attributes": brokenAttributes(),
		} {
			rule(name, func(t *testing.T, o *observed) {
				for _, c := range cases {
					t.Run(c.sentence, func(t *testing.T) {
						o := &observed{o.Server, t, o.owner, o.org, o.agent}
						got := o.send(batch(o.trace(nil)), o.broken(c))
						if got.Accepted != 1 || got.Rejected != 1 {
							t.Fatalf("%+v", got)
						}
						if diff := cmp.Diff([]client.Rejection{{Index: 1, Field: c.field, Reason: c.reason}},
							got.Rejections); diff != "" {
							t.Errorf("rejections (-want +got):\n%s", diff)
						}
					})
				}
			})
		}
	})
}

// TestIngestReadsBatchesStrictly sends JSON that two readers could take for two
// different things. It harms its own batch and no other (4.1 rule 3).
func TestIngestReadsBatchesStrictly(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		for sentence, c := range map[string]struct{ old, replacement, field string }{
			"A member of a batch twice":    {`"spans":`, `"spans":[],"spans":`, "spans"},
			"A member of a trace twice":    {`"status":"ok"`, `"status":"ok","status":"error"`, "trace.status"},
			"A member twice, once escaped": {`"status":"ok"`, `"status":"ok","st\u0061tus":"ok"`, "trace.status"},
			"A member of attributes twice": {
				`"attributes":{`, `"attributes":{"a":1,"a":1,`, "spans[0].attributes.a",
			},
			"Half a surrogate pair in a name": {`iap.plan`, `\ud800`, "trace.name"},
			"A surrogate pair reversed":       {`iap.plan`, `\udc00\ud800`, "trace.name"},
			"Half a surrogate in attributes": {
				`"attributes":{`, `"attributes":{"a":"\udfff",`, "spans[0].attributes.a",
			},
			"Bytes that are no UTF-8": {`iap.plan`, "\xff", "trace.name"},
			"An overlong encoding":    {`iap.plan`, "\xc0\xaf", "trace.name"},
			"Bytes that are no UTF-8 in a name": {
				`"attributes":{`, "\"attributes\":{\"\xc3\x28\":1,", "spans[0].attributes",
			},
		} {
			rule(sentence, func(t *testing.T, o *observed) {
				good := string(sent(t, batch(o.trace(nil)))[0])
				bad := string(sent(t, batch(o.trace(nil), o.span("span", m{"attributes": m{"x": 1}})))[0])
				if !strings.Contains(bad, c.old) {
					t.Fatalf("%s is not in %s", c.old, bad)
				}
				bad = strings.Replace(bad, c.old, c.replacement, 1)
				answer := o.post(fmt.Sprintf(`{"product":"p","batches":[%s,%s]}`, bad, good))
				body := string(answer.Body)
				if answer.Status != http.StatusOK || !strings.Contains(body, `"accepted":1,"rejected":1`) ||
					!strings.Contains(body, `"index":0,"field":"`+c.field) {
					t.Errorf("%d %s, want a rejection for %s", answer.Status, body, c.field)
				}
			})
		}
		rule("Attributes may be nested deeply", func(t *testing.T, o *observed) {
			const deep = 5000
			nested := strings.Repeat(`[`, deep) + strings.Repeat(`]`, deep)
			raw := string(sent(t, batch(o.trace(m{"attributes": m{"a": "NESTED"}})))[0])
			o.store(strings.Replace(raw, `"NESTED"`, nested, 1))
			if got := o.read(o.listed(client.TraceFilter{})[0]); string(got.Attributes) != `{"a":`+nested+`}` {
				t.Errorf("attributes came back in %d bytes", len(got.Attributes))
			}
		})
		rule("JSON that cannot be split into batches is 400", func(t *testing.T, o *observed) {
			const deep = 100_000
			for name, body := range map[string]string{
				"broken": `{"product":"p","batches":[{"trace":}]}`,
				"too deep": `{"product":"p","batches":[{"trace":` + strings.Repeat("[", deep) +
					strings.Repeat("]", deep) + `}]}`,
				"without an end": `{"product":"p","batches":[` + string(sent(t, batch(o.trace(nil)))[0]),
				"two bodies":     o.one(`"product":"p",`) + `{}`,
			} {
				if answer := o.post(body); answer.Status != http.StatusBadRequest {
					t.Errorf("%s: %d %s", name, answer.Status, answer.Body)
				}
			}
			if n := o.summary(1).TotalTraces; n != 0 {
				t.Errorf("%d traces are stored", n)
			}
		})
	})
}

// TestIngestKeepsWhatItTakes reads back what is unusual and allowed.
func TestIngestKeepsWhatItTakes(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		rule("Names are kept as they are: HTML, any script, 200 characters of four bytes", func(
			t *testing.T, o *observed,
		) {
			for _, name := range []string{
				`<script>alert("1")</script> & 'x'`, "日本語 \u202e \u2028\n\t", strings.Repeat("😀", 200), "\ufffd\uffff",
				"'; DROP TABLE trace; --", "\x1e\x1f\x1f2\x1f", "x",
			} {
				got := o.stored(o.trace(m{"name": name}), o.span("span", m{"name": name}))
				if got.Name != name || got.Spans[0].Name != name {
					t.Errorf("%q came back as %q and %q", name, got.Name, got.Spans[0].Name)
				}
				if ids := o.listed(client.TraceFilter{Name: name}); len(ids) != 1 {
					t.Errorf("found by the name %q: %v", name, ids)
				}
			}
		})
		rule("Kinds nobody knows are kept as they are", func(t *testing.T, o *observed) {
			kinds := []string{
				"span", "policy_call", "generation", "event", "retrieval", "GENERATION", "<kind>", "\x1f\x1e\x1f",
			}
			var spans []m
			for _, kind := range kinds {
				spans = append(spans, o.span(kind, nil))
			}
			for i, span := range o.stored(o.trace(nil), spans...).Spans {
				if span.Kind != kinds[i] {
					t.Errorf("kind %q came back as %q", kinds[i], span.Kind)
				}
			}
		})
		rule("A date and time may have any offset, any fraction, or no zone, which is UTC", func(
			t *testing.T, o *observed,
		) {
			for text, want := range map[string]string{
				"2030-05-15T10:00:00Z":                "2030-05-15T10:00:00Z",
				"2030-05-15T10:00:00":                 "2030-05-15T10:00:00Z",
				"2030-05-15T10:00:00.5":               "2030-05-15T10:00:00.5Z",
				"2030-05-15T10:00:00.123456789Z":      "2030-05-15T10:00:00.123456Z",
				"2030-05-15T10:00:00,25Z":             "2030-05-15T10:00:00.25Z",
				"2030-05-15T12:00:00+02:00":           "2030-05-15T10:00:00Z",
				"2030-05-15T04:15:00-0545":            "2030-05-15T10:00:00Z",
				"2030-05-15T10:00Z":                   "2030-05-15T10:00:00Z",
				"2028-02-29T23:59:59.999999999-12:00": "2028-03-01T11:59:59.999999Z",
				"1969-12-31T23:59:59.5Z":              "1969-12-31T23:59:59.5Z",
				"0001-01-01T00:00:00Z":                "0001-01-01T00:00:00Z",
				"9999-12-31T23:59:59.999Z":            "9999-12-31T23:59:59.999Z",
			} {
				if got := o.stored(o.trace(m{"startTime": text})).StartTime.Format(time.RFC3339Nano); got != want {
					t.Errorf("%s came back as %s, want %s", text, got, want)
				}
			}
		})
		rule("Attributes come back as they were sent, NUL and large numbers included", func(t *testing.T, o *observed) {
			attributes := `{"z":1e400,"a":[null,{"b":-0,"c":12345678901234567890}],"nul":"\u0000","":""}`
			raw := string(sent(t, batch(o.trace(m{"attributes": "HERE", "tags": []string{"a", "", "<b>", "\x00"}}),
				o.span("span", m{"attributes": "HERE"})))[0])
			o.store(strings.ReplaceAll(raw, `"HERE"`, attributes))
			got := o.read(o.listed(client.TraceFilter{})[0])
			if string(got.Attributes) != attributes || string(got.Spans[0].Attributes) != attributes {
				t.Errorf("attributes %s\nof the span %s", got.Attributes, got.Spans[0].Attributes)
			}
			if diff := cmp.Diff([]string{"a", "", "<b>", "\x00"}, got.Tags); diff != "" {
				t.Errorf("tags (-want +got):\n%s", diff)
			}
		})
		rule("In kinds other than generation attributes are free-form", func(t *testing.T, o *observed) {
			o.store(batch(o.trace(nil), o.span("span", m{
				"attributes": m{"inputTokens": -5, "costUsd": "much", "model": 7, "toolName": []int{}},
			})))
		})
	})
}
