package demo

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

type m = map[string]any

// building is a trace whose spans are being laid one after another.
type building struct {
	s      *scene
	root   string
	at     time.Time
	spans  []m
	status string
}

// trace is one run of a job: a model is asked, a tool is called, and so on until an answer.
func (s *scene) trace(j *job, session string, start time.Time) json.RawMessage {
	b := &building{s: s, root: uuid.NewString(), at: start, status: "ok"}
	model := pick(s, j.models...)
	turns := 1 + s.chance.IntN(4)
	if j.loops {
		turns = 6 + s.chance.IntN(4)
	}
	for turn := range turns {
		b.generation(model, j.tokens*(turn+2)/2)
		b.tool(pick(s, j.tools...))
	}
	b.generation(model, j.tokens*(turns+2)/2)
	return b.end(start, session, j.agent, j.name, j.tags, "Do: "+j.name,
		"Done after "+time.Duration(b.at.Sub(start)).String())
}

// take lays a span that takes some milliseconds.
func (b *building) take(kind, name, status string, ms int, attributes m) {
	length := time.Duration(ms) * time.Millisecond
	b.spans = append(b.spans, m{
		"id": uuid.NewString(), "parentSpanId": b.root, "kind": kind, "name": name, "status": status,
		"startTime": b.at, "endTime": b.at.Add(length), "durationMs": ms, "attributes": attributes,
	})
	b.at = b.at.Add(length + time.Duration(b.s.chance.IntN(40))*time.Millisecond)
}

func (b *building) generation(model string, prompt int) {
	chance := b.s.chance
	input := prompt*3/4 + chance.IntN(prompt/2+1)
	output := 60 + chance.IntN(900)
	b.take("generation", "chat", "ok", 300+output*6+input/80, m{
		"model": model, "inputTokens": input, "outputTokens": output, "cacheReadTokens": input / 2,
		"input":  "What is the next step?",
		"output": "I will look at it with a tool, then answer.",
	})
}

func (b *building) tool(name string) {
	status := "ok"
	if b.s.chance.IntN(22) == 0 {
		status, b.status = "error", "error"
	}
	b.take("tool", name, status, 40+b.s.chance.IntN(900), m{
		"toolName": name, "input": m{"query": "open items"}, "output": m{"found": b.s.chance.IntN(9)},
	})
}

// end is the trace with its spans below one root.
func (b *building) end(
	start time.Time, session, agent, name string, tags []string, input, output string,
) json.RawMessage {
	ms := b.at.Sub(start).Milliseconds()
	root := m{
		"id": b.root, "kind": "span", "name": name, "status": b.status, "startTime": start, "endTime": b.at,
		"durationMs": ms, "attributes": m{},
	}
	text, err := json.Marshal(m{
		"trace": m{
			"id": uuid.NewString(), "sessionId": session, "name": name, "status": b.status, "agentId": agent,
			"startTime": start, "endTime": b.at, "durationMs": ms, "tags": tags,
			"attributes": m{"input": input, "output": output},
		},
		"spans": append([]m{root}, b.spans...),
	})
	if err != nil {
		panic(err) // maps of texts and numbers
	}
	return text
}
