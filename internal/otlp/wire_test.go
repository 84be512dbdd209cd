package otlp_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"writ/internal/otlp"
	"writ/internal/telemetry/decode"
)

// What tests send, in words of their own; both encodings are made of it.
type (
	request []process
	process struct {
		attributes, scope pairs
		spans             []wireSpan
	}
	wireSpan struct {
		trace, id, parent string // hex
		name              string
		kind              int
		start, end        uint64
		attributes        pairs
		status            int
		message           string
		events            []wireEvent
		links             []wireSpan
	}
	wireEvent struct {
		name       string
		at         uint64
		attributes pairs
	}
	pair struct {
		key   string
		value any // nil, string, bool, int64, float64, []byte, []any, pairs
	}
	pairs []pair
)

func unhex(text string) []byte {
	id, err := hex.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return id
}

// message is a protobuf message that is being written.
type message []byte

func (m message) bytes(number protowire.Number, b []byte) message {
	return protowire.AppendBytes(protowire.AppendTag(m, number, protowire.BytesType), b)
}

func (m message) text(number protowire.Number, text string) message {
	return m.bytes(number, []byte(text))
}

func (m message) varint(number protowire.Number, n uint64) message {
	return protowire.AppendVarint(protowire.AppendTag(m, number, protowire.VarintType), n)
}

func (m message) fixed(number protowire.Number, n uint64) message {
	return protowire.AppendFixed64(protowire.AppendTag(m, number, protowire.Fixed64Type), n)
}

func (m message) pairs(number protowire.Number, list pairs) message {
	for _, p := range list {
		m = m.bytes(number, message(nil).text(1, p.key).bytes(2, protoValue(p.value)))
	}
	return m
}

func protoValue(v any) (m message) {
	switch v := v.(type) {
	case string:
		return m.text(1, v)
	case bool:
		return m.varint(2, protowire.EncodeBool(v))
	case int64:
		return m.varint(3, uint64(v))
	case float64:
		return m.fixed(4, math.Float64bits(v))
	case []byte:
		return m.bytes(7, v)
	case []any:
		var list message
		for _, e := range v {
			list = list.bytes(1, protoValue(e))
		}
		return m.bytes(5, list)
	case pairs:
		return m.bytes(6, message(nil).pairs(1, v))
	}
	return m
}

func (s wireSpan) protobuf() message {
	m := message(nil).bytes(1, unhex(s.trace)).bytes(2, unhex(s.id))
	if s.parent != "" {
		m = m.bytes(4, unhex(s.parent))
	}
	m = m.text(5, s.name).varint(6, uint64(s.kind)).fixed(7, s.start).fixed(8, s.end).pairs(9, s.attributes)
	for _, e := range s.events {
		m = m.bytes(11, message(nil).fixed(1, e.at).text(2, e.name).pairs(3, e.attributes))
	}
	for _, l := range s.links {
		m = m.bytes(13, message(nil).bytes(1, unhex(l.trace)).bytes(2, unhex(l.id)).pairs(4, l.attributes))
	}
	return m.bytes(15, message(nil).text(2, s.message).varint(3, uint64(s.status)))
}

func (r request) protobuf() []byte {
	var m message
	for _, p := range r {
		scope := message(nil).bytes(1, message(nil).text(1, "lib").text(2, "1.2").pairs(3, p.scope))
		for _, s := range p.spans {
			scope = scope.bytes(2, s.protobuf())
		}
		m = m.bytes(1, message(nil).bytes(1, message(nil).pairs(1, p.attributes)).bytes(2, scope))
	}
	return m
}

type object = map[string]any

func jsonPairs(list pairs) []any {
	out := []any{}
	for _, p := range list {
		out = append(out, object{"key": p.key, "value": jsonValue(p.value)})
	}
	return out
}

func jsonValue(v any) object {
	switch v := v.(type) {
	case string:
		return object{"stringValue": v}
	case bool:
		return object{"boolValue": v}
	case int64:
		return object{"intValue": strconv.FormatInt(v, 10)}
	case float64:
		if math.IsNaN(v) {
			return object{"doubleValue": "NaN"}
		}
		return object{"doubleValue": v}
	case []byte:
		return object{"bytesValue": base64.StdEncoding.EncodeToString(v)}
	case []any:
		list := []any{}
		for _, e := range v {
			list = append(list, jsonValue(e))
		}
		return object{"arrayValue": object{"values": list}}
	case pairs:
		return object{"kvlistValue": object{"values": jsonPairs(v)}}
	}
	return object{}
}

func (s wireSpan) json() object {
	events, links := []any{}, []any{}
	for _, e := range s.events {
		events = append(events, object{
			"timeUnixNano": strconv.FormatUint(e.at, 10), "name": e.name, "attributes": jsonPairs(e.attributes),
		})
	}
	for _, l := range s.links {
		links = append(links, object{"traceId": l.trace, "spanId": l.id, "attributes": jsonPairs(l.attributes)})
	}
	return object{
		"traceId": s.trace, "spanId": s.id, "parentSpanId": s.parent, "name": s.name, "kind": s.kind, "links": links,
		"events":            events,
		"startTimeUnixNano": strconv.FormatUint(s.start, 10), "endTimeUnixNano": strconv.FormatUint(s.end, 10),
		"attributes": jsonPairs(s.attributes), "status": object{"code": s.status, "message": s.message},
		"unheardOf": []any{object{}},
	}
}

func (r request) json() []byte {
	list := []any{}
	for _, p := range r {
		spans := []any{}
		for _, s := range p.spans {
			spans = append(spans, s.json())
		}
		list = append(list, object{
			"resource": object{"attributes": jsonPairs(p.attributes)},
			"scopeSpans": []any{
				object{
					"scope": object{"name": "lib", "version": "1.2", "attributes": jsonPairs(p.scope)}, "spans": spans,
				},
			},
		})
	}
	text, err := json.Marshal(object{"resourceSpans": list})
	if err != nil {
		panic(err)
	}
	return text
}

// options are those of most tests.
func options() otlp.Options {
	return otlp.Options{Product: "fallback", Prices: decode.BuiltInPrices(), MaxBytes: 1 << 20}
}

// read reads a request in protobuf and wants it understood.
func read(t *testing.T, r request) otlp.Reading {
	t.Helper()
	reading, err := otlp.Read(t.Context(), r.protobuf(), otlp.Protobuf, options())
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return reading
}

// one reads a span with these attributes and gives what becomes of it.
func one(t *testing.T, attributes pairs) decode.Fragment {
	t.Helper()
	reading := read(t, request{{spans: []wireSpan{span(func(s *wireSpan) { s.attributes = attributes })}}})
	if len(reading.Fragments) != 1 || len(reading.Fragments[0].Spans) != 1 {
		t.Fatalf("reading is %+v", reading)
	}
	return reading.Fragments[0]
}

const (
	traceA = "5b8efff798038103d269b633813fc60c"
	traceB = "0af7651916cd43dd8448eb211c80319c"
	spanA  = "eee19b7ec3c1b174"
	spanB  = "eee19b7ec3c1b173"
	begin  = uint64(1_800_000_000_000_000_000) // nanoseconds: 2027-01-15 08:00 UTC
)

// span is one without a parent, a second long, changed as asked.
func span(change ...func(*wireSpan)) wireSpan {
	s := wireSpan{
		trace: traceA,
		id:    spanA,
		name:  "work",
		kind:  1,
		start: begin,
		end:   begin + 1_000_000_000,
	}
	for _, c := range change {
		c(&s)
	}
	return s
}
