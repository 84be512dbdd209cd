package traces

import (
	"bytes"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/api/route"
	"writ/internal/telemetry"
)

// A trace that writes itself is the JSON that the encoder would write: the same members with the same values.
func TestTraceWritesItself(t *testing.T) {
	at, ms, id := time.Date(2030, 5, 15, 12, 30, 0, 123456000, time.UTC), int64(17),
		"0190a0a0-0000-7000-8000-00000000000a"
	full := telemetry.StoredSpan{
		ID:         id,
		ParentID:   id,
		SessionID:  id,
		Kind:       "gen\"eration",
		Name:       "é\n<script>\u2028",
		Start:      at,
		End:        &at,
		DurationMs: &ms,
		Status:     "error",
		Attributes: `{ "a" : [1, "x\u00e9"], "b":{} }`,
	}
	priced := full
	priced.Kind, priced.CostNanos = "generation", 7_500_000
	empty := telemetry.StoredSpan{Start: time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), Attributes: `{}`}
	trace := TraceBody{
		TraceHeadBody: TraceHeadBody{ID: id, Name: "n", StartTime: at},
		Attributes:    route.StoredObject(`{"spans":[]}`),
		Tags:          route.StoredTexts(`["]}"]`),
	}
	for name, body := range map[string]*TraceDetailBody{
		"none":  nil,
		"empty": {TraceBody: trace, Product: "p", Source: "[]}"},
		"one":   {TraceBody: trace, stored: []telemetry.StoredSpan{full}},
		"two":   {TraceBody: trace, Product: "p", stored: []telemetry.StoredSpan{empty, full, priced}},
	} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			if err := route.Marshal(&got, body); err != nil {
				t.Fatal(err)
			}
			if body != nil {
				for i := range body.stored {
					body.Spans = append(body.Spans, spanBody(&body.stored[i]))
				}
			}
			want, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			if g, w := canonicalOf(t, got.Bytes()), canonicalOf(t, want); g != w {
				t.Errorf("got  %s\nwant %s", g, w)
			}
		})
	}
}

// canonicalOf is a text in the form in which equal ones are equal.
func canonicalOf(t interface{ Fatalf(string, ...any) }, text jsontext.Value) string {
	if err := text.Canonicalize(); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return string(text)
}

// A text that is no text is an error, not a broken answer.
func TestTraceRefusesToWriteInvalidText(t *testing.T) {
	body := &TraceDetailBody{
		TraceBody: TraceBody{Attributes: route.StoredObject(`{}`), Tags: route.StoredTexts(`[]`)},
		stored:    []telemetry.StoredSpan{{Name: "\xff", Attributes: `{}`}},
	}
	var got bytes.Buffer
	if err := route.Marshal(&got, body); err == nil || got.Len() > 0 {
		t.Errorf("wrote %q, err = %v", got.String(), err)
	}
}
