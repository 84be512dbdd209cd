package main

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"time"
)

// otlpPayload is the body of an OTLP request in protobuf, of the same traces as a
// payload has. Ids can be replaced in place.
type otlpPayload struct {
	text     []byte
	traces   [][]int // where the id of each trace is: with every span
	sessions [][]int
	spans    int
}

// newOTLPPayloads makes the bodies of requests that together hold the same traces:
// each has an equal share of the spans of every trace.
func newOTLPPayloads(w *workload, traces, spansEach, requests int, start time.Time, step time.Duration) []*otlpPayload {
	bodies := make([][]byte, requests)
	var traceIDs, sessionIDs [][]byte
	for n := range traces {
		if n%tracesPerSession == 0 {
			sessionIDs = append(sessionIDs, []byte(newID()))
		}
		session := sessionIDs[len(sessionIDs)-1]
		id := randomBytes(16)
		traceIDs = append(traceIDs, id)
		t := w.trace(string(session), start.Add(time.Duration(n)*step))
		root := randomBytes(8)
		for i, s := range w.spans(t, spansEach) {
			own, parent := randomBytes(8), root
			if i == 0 {
				own, parent = root, nil
			}
			// The root ends last, and so is sent last.
			r := requests - 1 - i*requests/spansEach
			bodies[r] = appendMessage(bodies[r], 2, otlpSpan(w, s, id, own, parent, session))
		}
	}
	var payloads []*otlpPayload
	for _, spans := range bodies {
		service := appendMessage(nil, 1, otlpText("service.name", "bench"))
		text := appendMessage(nil, 1, append(appendMessage(nil, 1, service), appendMessage(nil, 2, spans)...))
		payloads = append(payloads, &otlpPayload{
			text:     text,
			traces:   places(text, traceIDs),
			sessions: places(text, sessionIDs),
			spans:    traces * spansEach / requests,
		})
	}
	return payloads
}

// places are where ids are in a text.
func places(text []byte, ids [][]byte) (all [][]int) {
	for _, id := range ids {
		var at []int
		for from := 0; ; {
			next := bytes.Index(text[from:], id)
			if next < 0 {
				break
			}
			at = append(at, from+next)
			from += next + len(id)
		}
		all = append(all, at)
	}
	return all
}

func randomBytes(n int) []byte {
	var id []byte
	for len(id) < n {
		id = binary.LittleEndian.AppendUint64(id, rand.Uint64())
	}
	return id[:n]
}

// renewTogether gives the traces and sessions of requests that belong together new
// ids, the same in each.
func renewTogether(payloads []*otlpPayload) {
	for n := range payloads[0].traces {
		replace(payloads, func(p *otlpPayload) []int { return p.traces[n] }, randomBytes(16))
	}
	for n := range payloads[0].sessions {
		replace(payloads, func(p *otlpPayload) []int { return p.sessions[n] }, []byte(newID()))
	}
}

func replace(payloads []*otlpPayload, where func(*otlpPayload) []int, id []byte) {
	for _, p := range payloads {
		for _, at := range where(p) {
			copy(p.text[at:], id)
		}
	}
}

// appendMessage writes a field that holds bytes.
func appendMessage(dst []byte, field int, message []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(field<<3|2))
	dst = binary.AppendUvarint(dst, uint64(len(message)))
	return append(dst, message...)
}

func appendFixed(dst []byte, field int, n uint64) []byte {
	return binary.LittleEndian.AppendUint64(binary.AppendUvarint(dst, uint64(field<<3|1)), n)
}

func appendVarint(dst []byte, field int, n uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(dst, uint64(field<<3)), n)
}

// otlpPair is an attribute.
func otlpPair(key string, value []byte) []byte {
	return appendMessage(appendMessage(nil, 1, []byte(key)), 2, value)
}

func otlpText(key, text string) []byte { return otlpPair(key, appendMessage(nil, 1, []byte(text))) }

func otlpWhole(key string, n int64) []byte { return otlpPair(key, appendVarint(nil, 3, uint64(n))) }

func otlpFloat(key string, f float64) []byte {
	return otlpPair(key, appendFixed(nil, 4, math.Float64bits(f)))
}

// otlpSpan is a span as an instrumented agent sends it, with about as many bytes of
// attributes as the JSON of other clients has.
func otlpSpan(w *workload, s span, traceID, id, parent, session []byte) []byte {
	m := appendMessage(appendMessage(nil, 1, traceID), 2, id)
	if parent != nil {
		m = appendMessage(m, 4, parent)
	}
	m = appendMessage(m, 5, []byte(s.name))
	m = appendVarint(m, 6, 1)
	m = appendFixed(m, 7, uint64(s.start.UnixNano()))
	m = appendFixed(m, 8, uint64(s.start.Add(time.Duration(s.durationMs)*time.Millisecond).UnixNano()))
	attributes := [][]byte{otlpText("session.id", string(session))}
	switch {
	case s.model != "":
		attributes = append(attributes, otlpText("gen_ai.operation.name", "chat"),
			otlpText("gen_ai.request.model", s.model),
			otlpWhole("gen_ai.usage.input_tokens", s.input), otlpWhole("gen_ai.usage.output_tokens", s.output),
			otlpWhole("gen_ai.usage.cache_read.input_tokens", s.cacheRead),
			otlpFloat("gen_ai.usage.cost", float64(s.costNanos)/1e9))
	case s.tool != "":
		attributes = append(attributes, otlpText("gen_ai.operation.name", "execute_tool"),
			otlpText("gen_ai.tool.name", s.tool))
	}
	size := 0
	for _, a := range attributes {
		m = appendMessage(m, 9, a)
		size += len(a)
	}
	m = appendMessage(m, 9, otlpText("gen_ai.completion", w.prose(attributeBytes-size-25)))
	if s.status != "ok" {
		m = appendMessage(m, 15, appendVarint(nil, 3, 2))
	}
	return m
}
