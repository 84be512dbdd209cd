package otlp_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"writ/internal/fault"
	"writ/internal/otlp"
)

// strictly reports whether a text is JSON without a name that is there twice.
func strictly(text string) bool { return jsontext.Value(text).IsValid() }

// FuzzRead reads anything in both encodings: what is taken must fit where it will
// be stored, whatever was sent, and must be the same when it is read again.
func FuzzRead(f *testing.F) {
	sample := request{{
		attributes: pairs{{"service.name", "planner"}}, scope: pairs{{"v", int64(1)}},
		spans: []wireSpan{span(func(s *wireSpan) {
			s.attributes = pairs{
				{"gen_ai.request.model", "gpt-4o"}, {"gen_ai.usage.input_tokens", int64(5)},
				{"l", []any{pairs{{"k", 1.5}}, []byte("x")}}, {"session.id", "s"},
			}
			s.events = []wireEvent{{name: "e", at: begin}}
			s.links = []wireSpan{{trace: traceB, id: spanB}}
		}), span()},
	}}
	f.Add(sample.protobuf(), true)
	f.Add(sample.json(), false)
	f.Add([]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"5B8EFFF798038103D269B633813FC60C","spanId":"eee19b7ec3c1b174","kind":"SPAN_KIND_CLIENT","startTimeUnixNano":1,"status":{"code":"STATUS_CODE_ERROR"}}]}],"resource":null}]}`), false)
	// An entry of a map that has no value.
	f.Add([]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"5B8EFFF798038103D269B633813FC60C","spanId":"eee19b7ec3c1b174","startTimeUnixNano":1,"attributes":[{"key":"l","value":{"kvlistValue":{"values":[{"key":"k"},{"key":"n","value":null},{}]}}}]}]}]}]}`), false)
	f.Fuzz(func(t *testing.T, body []byte, binary bool) {
		encoding := otlp.JSON
		if binary {
			encoding = otlp.Protobuf
		}
		reading, err := otlp.Read(t.Context(), body, encoding, options())
		if err != nil {
			if kind := fault.KindOf(err); kind != fault.Invalid && kind != fault.TooLarge {
				t.Fatalf("fails as %v: %v", kind, err)
			}
			return
		}
		check(t, reading)
		if again, err := otlp.Read(t.Context(), body, encoding, options()); err != nil || !cmp.Equal(reading, again) {
			t.Fatalf("read again it is another: %v\n%s", err, cmp.Diff(reading, again))
		}
	})
}
