package main

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"
)

const (
	attributeBytes   = 635 // of a span, as published clients send
	tracesPerSession = 10
	shapesPerKind    = 64
)

// span is a span as a client sends it and a row holds it.
type span struct {
	*shape
	id, parent, session string
	start               time.Time
	durationMs          int64
}

// shape is what many spans share: everything but ids and times.
type shape struct {
	kind, name, status, attributes string
	tool, model                    string
	input, output                  int64 // tokens
	cacheRead, costNanos           int64
	policyID, decision, ruleID     string
}

// trace is a trace without its spans.
type trace struct {
	id, session, name, status, user, agent string
	start                                  time.Time
	durationMs                             int64
}

// workload makes traces of an agent that plans, has each tool call checked, and
// reports it. What decides sizes and distributions comes from a fixed seed, so
// that every run sends the same; only ids are new each time.
type workload struct {
	random *rand.Rand
	shapes [spanKinds][]*shape
	names  []string
	users  []string
	agents []string
}

// spanKinds is the number of different spans; a trace goes through them in turn.
const spanKinds = 5

func newWorkload() *workload {
	w := &workload{random: rand.New(rand.NewPCG(1, 2))}
	for kind := range spanKinds {
		for range shapesPerKind {
			w.shapes[kind] = append(w.shapes[kind], w.shape(kind))
		}
	}
	for n := range 20 {
		w.names = append(w.names, fmt.Sprintf("plan.%02d", n))
		w.agents = append(w.agents, fmt.Sprintf("agent-%02d", n))
	}
	for range 50 {
		text := make([]byte, idLength)
		writeID(text, w.random.Uint64(), w.random.Uint64())
		w.users = append(w.users, string(text))
	}
	return w
}

// newID is a random UUID.
func newID() string {
	text := make([]byte, idLength)
	putID(text)
	return string(text)
}

const idLength = 36

func putID(text []byte) { writeID(text, rand.Uint64(), rand.Uint64()) }

// writeID writes the UUID with these bits, but for those that say it is random.
func writeID(text []byte, high, low uint64) {
	var raw [16]byte
	for i := range 8 {
		raw[i], raw[8+i] = byte(high>>(8*i)), byte(low>>(8*i))
	}
	raw[6], raw[8] = raw[6]&0x0f|0x40, raw[8]&0x3f|0x80
	at := 0
	for _, part := range [][]byte{raw[:4], raw[4:6], raw[6:8], raw[8:10], raw[10:]} {
		if at > 0 {
			text[at] = '-'
			at++
		}
		at += hex.Encode(text[at:], part)
	}
}

func (w *workload) shape(kind int) *shape {
	s := &shape{kind: "span", status: "ok"}
	tool := fmt.Sprintf("tool_%d", w.random.IntN(30))
	var head string
	switch kind {
	case 0:
		s.name, head = "iap.plan.start", `{"kind":"span","prompt":"`
	case 1:
		s.name, s.tool = "iap.check", tool
		head = fmt.Sprintf(`{"kind":"span","toolName":"%s","input":"`, tool)
	case 2:
		s.kind, s.name = "policy_call", "policy.decision"
		s.policyID, s.ruleID, s.decision = fmt.Sprintf("policy-%d", w.random.IntN(10)),
			fmt.Sprintf("rule-%d", w.random.IntN(5)), "allow"
		if w.random.IntN(20) == 0 {
			s.decision, s.status = "deny", "denied"
		}
		head = fmt.Sprintf(`{"kind":"policy_call","policyId":"%s","policyName":"%s","decision":"%s","matchedRuleId":"%s","dataClasses":[],"source":"sdk","reason":"`,
			s.policyID, s.policyID, s.decision, s.ruleID)
	case 3:
		s.name, s.tool = "tool.report", tool
		head = fmt.Sprintf(`{"kind":"span","toolName":"%s","input":{"path":"src/main.go"},"output":"`, tool)
	default:
		s.kind, s.model = "generation", fmt.Sprintf("model-%d", w.random.IntN(5))
		s.name, s.input, s.output, s.cacheRead = "generation."+s.model, w.random.Int64N(20_000), w.random.Int64N(2000),
			w.random.Int64N(5000)
		s.costNanos = s.input * 3000
		head = fmt.Sprintf(`{"kind":"generation","model":"%s","inputTokens":%d,"outputTokens":%d,"cacheReadTokens":%d,"cacheWriteTokens":0,"costUsd":%.9f,"prompt":null,"finishReason":"stop","completion":"`,
			s.model, s.input, s.output, s.cacheRead, float64(s.costNanos)/1e9)
	}
	s.attributes = head + w.prose(attributeBytes-len(head)-2) + `"}`
	return s
}

// prose is a number of bytes of words.
func (w *workload) prose(length int) string {
	words := []string{"read", "the", "file", "and", "run", "its", "tests", "before", "a", "change", "is", "proposed"}
	var text strings.Builder
	for text.Len() < length {
		text.WriteString(words[w.random.IntN(len(words))])
		text.WriteByte(' ')
	}
	return text.String()[:length]
}

// trace makes a trace that starts then. One in twenty is not ok; durations are
// from 10 ms to 100 s, each order of magnitude as frequent as the others.
func (w *workload) trace(session string, start time.Time) trace {
	status := "ok"
	switch n := w.random.IntN(100); {
	case n == 0:
		status = "denied"
	case n < 5:
		status = "error"
	}
	return trace{
		id:         newID(),
		session:    session,
		name:       pick(w, w.names),
		status:     status,
		user:       pick(w, w.users),
		agent:      pick(w, w.agents),
		start:      start,
		durationMs: int64(10 * math.Pow(10, 4*w.random.Float64())),
	}
}

// spans makes the spans of a trace, children of the first.
func (w *workload) spans(t trace, count int) []span {
	spans := make([]span, count)
	step := time.Duration(t.durationMs) * time.Millisecond / time.Duration(count)
	for i := range spans {
		spans[i] = span{
			shape: pick(w, w.shapes[i%spanKinds]), id: newID(), session: t.session,
			start: t.start.Add(time.Duration(i) * step), durationMs: step.Milliseconds(),
		}
		if i > 0 {
			spans[i].parent = spans[0].id
		}
	}
	return spans
}

func pick[T any](w *workload, from []T) T { return from[w.random.IntN(len(from))] }
