package main

import (
	"strconv"
	"time"
)

// instant is how clients write times.
const instant = "2006-01-02T15:04:05.000Z"

// payload is the body of an ingest request. Its trace and session ids can be
// replaced in place, so that one text serves many requests: making it anew for
// each would cost the client, which shares the processors with the server.
type payload struct {
	text     []byte
	traces   []int   // where trace ids are
	sessions [][]int // where the id of each session is
	spans    int
}

// newPayload makes a body of traces that start one step after the other.
func newPayload(w *workload, traces, spansEach int, start time.Time, step time.Duration) *payload {
	p := &payload{text: make([]byte, 0, traces*(spansEach+1)*1000), spans: traces * spansEach}
	p.add(`{"product":"bench","sessionId":null,"batches":[`)
	session := ""
	for n := range traces {
		if n%tracesPerSession == 0 {
			session = newID()
			p.sessions = append(p.sessions, nil)
		}
		if n > 0 {
			p.add(",")
		}
		t := w.trace(session, start.Add(time.Duration(n)*step))
		p.addTrace(t)
		p.add(`,"spans":[`)
		for i, s := range w.spans(t, spansEach) {
			if i > 0 {
				p.add(",")
			}
			p.addSpan(s)
		}
		p.add("]}")
	}
	p.add("]}")
	return p
}

// renew gives the traces and sessions new ids.
func (p *payload) renew() {
	for _, at := range p.traces {
		putID(p.text[at : at+idLength])
	}
	for _, places := range p.sessions {
		id := newID()
		for _, at := range places {
			copy(p.text[at:], id)
		}
	}
}

func (p *payload) add(text string) { p.text = append(p.text, text...) }

func (p *payload) addText(name, value string) {
	p.add(`,"` + name + `":"`)
	p.add(value)
	p.add(`"`)
}

func (p *payload) addSession(id string) {
	p.add(`,"sessionId":"`)
	last := &p.sessions[len(p.sessions)-1]
	*last = append(*last, len(p.text))
	p.add(id)
	p.add(`"`)
}

func (p *payload) addTimes(start time.Time, durationMs int64) {
	p.add(`,"startTime":"`)
	p.text = start.AppendFormat(p.text, instant)
	p.add(`","endTime":"`)
	p.text = start.Add(time.Duration(durationMs)*time.Millisecond).AppendFormat(p.text, instant)
	p.add(`","durationMs":`)
	p.text = strconv.AppendInt(p.text, durationMs, 10)
}

func (p *payload) addTrace(t trace) {
	p.add(`{"trace":{"id":"`)
	p.traces = append(p.traces, len(p.text))
	p.add(t.id)
	p.add(`"`)
	p.addSession(t.session)
	p.addText("name", t.name)
	p.addTimes(t.start, t.durationMs)
	p.addText("status", t.status)
	p.addText("userId", t.user)
	p.addText("agentId", t.agent)
	p.add(`,"attributes":{"source":"bench","input":"Read the file, then run the tests","output":"5 checks, 1 blocked"},"tags":["bench","allowed"]}`)
}

func (p *payload) addSpan(s span) {
	p.add(`{"id":"` + s.id + `"`)
	if s.parent == "" {
		p.add(`,"parentSpanId":null`)
	} else {
		p.addText("parentSpanId", s.parent)
	}
	p.addSession(s.session)
	p.addText("kind", s.kind)
	p.addText("name", s.name)
	p.addTimes(s.start, s.durationMs)
	p.addText("status", s.status)
	p.add(`,"attributes":` + s.attributes + `}`)
}
