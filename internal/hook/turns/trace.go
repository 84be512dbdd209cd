package turns

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"writ/internal/hook/bounded"
	"writ/internal/hook/state"
	"writ/internal/hook/transcript"
)

// The most calls that one trace holds, so that it fits into a request; the rest of a long turn becomes further traces.
const maxCalls = 100

const maxTags = 8

// finished is a turn that has ended.
type finished struct {
	session string
	agent   string
	turn    state.Turn
	events  []state.Event
	edited  int
	usage   transcript.Turn
	ended   time.Time // when the session ended, with this turn; zero: it goes on
}

// wireTrace and wireSpan are those of POST /observability/spans.
type wireTrace struct {
	ID         string         `json:"id"`
	SessionID  *string        `json:"sessionId"`
	Name       string         `json:"name"`
	StartTime  time.Time      `json:"startTime"`
	EndTime    time.Time      `json:"endTime"`
	Status     string         `json:"status"`
	AgentID    string         `json:"agentId"`
	Attributes map[string]any `json:"attributes"`
	Tags       []string       `json:"tags"`
}

type wireSpan struct {
	ID         string         `json:"id"`
	ParentID   *string        `json:"parentSpanId"`
	SessionID  *string        `json:"sessionId"`
	Kind       string         `json:"kind"`
	Name       string         `json:"name"`
	StartTime  time.Time      `json:"startTime"`
	EndTime    time.Time      `json:"endTime"`
	Status     string         `json:"status"`
	Attributes map[string]any `json:"attributes"`
}

// traces are the batches of a turn: mostly one. Ids follow from the turn, so that what is sent twice counts once.
func traces(f finished) []json.RawMessage {
	calls := callsOf(f.events)
	last := max(0, len(calls)-1) / maxCalls
	var batches []json.RawMessage
	for part := 0; part <= last; part++ {
		some := calls[part*maxCalls : min(len(calls), (part+1)*maxCalls)]
		trace := f.trace(part, some)
		spans := f.callSpans(trace, some)
		if part == 0 {
			spans = append(spans, f.generations(trace)...)
		}
		if part == last && !f.ended.IsZero() {
			spans = append(spans, f.ending(trace))
		}
		batch, err := json.Marshal(map[string]any{"trace": trace, "spans": spans})
		if err == nil {
			batches = append(batches, batch)
		}
	}
	return batches
}

// call is what the journal says about one call.
type call struct {
	decided *state.Event
	outcome *state.Event // nil: it did not run, or the host was killed
}

// callsOf puts outcomes to their decisions.
func callsOf(events []state.Event) []call {
	var calls []call
	for i := range events {
		e := &events[i]
		if e.Kind == state.DecisionEvent {
			calls = append(calls, call{decided: e})
			continue
		}
		at := slices.IndexFunc(calls, func(c call) bool {
			return c.outcome == nil && c.decided != nil && c.decided.Runs && c.decided.Tool == e.Tool &&
				c.decided.DecisionID == e.DecisionID && e.Kind == state.OutcomeEvent
		})
		if at < 0 {
			calls = append(calls, call{outcome: e})
			continue
		}
		calls[at].outcome = e
	}
	return calls
}

func (f *finished) trace(part int, calls []call) wireTrace {
	t := wireTrace{
		ID:        f.turn.TraceID,
		SessionID: uuid(f.session),
		Name:      Product + ".turn",
		StartTime: f.turn.StartedAt,
		EndTime:   f.turn.StartedAt,
		Status:    "ok",
		AgentID:   f.agent,
		Tags:      []string{Product},
	}
	if part > 0 {
		t.ID = idOf(f.turn.TraceID, "part", strconv.Itoa(part))
	}
	ran, denied, alarms := 0, 0, 0
	for _, c := range calls {
		for _, e := range []*state.Event{c.decided, c.outcome} {
			if e == nil {
				continue
			}
			if e.At.After(t.EndTime) {
				t.EndTime = e.At
			}
			if len(t.Tags) <= maxTags && !slices.Contains(t.Tags, e.Tool) {
				t.Tags = append(t.Tags, e.Tool)
			}
		}
		switch {
		case c.outcome != nil && c.outcome.Kind == state.AlarmEvent:
			alarms++
		case c.outcome != nil:
			ran++
		case !c.decided.Runs:
			denied++
		}
	}
	if alarms > 0 {
		t.Status = "error"
	}
	t.Attributes = map[string]any{
		"source": "writ-hook", "input": f.turn.Input, "turn": f.turn.Number, "part": part + 1,
		"output": fmt.Sprintf("%d calls ran, %d did not", ran, denied),
		"alarms": alarms, "editedLines": f.edited, "transcriptCut": f.usage.Cut,
	}
	if f.turn.Problem != "" {
		t.Attributes["problem"] = f.turn.Problem
	}
	return t
}

// callSpans are a span for each call, and one below it for the decision.
func (f *finished) callSpans(trace wireTrace, calls []call) []wireSpan {
	spans := make([]wireSpan, 0, 2*len(calls)+4)
	for i, c := range calls {
		tool := f.toolSpan(idOf(trace.ID, "call", strconv.Itoa(i)), c)
		spans = append(spans, tool)
		if c.decided != nil {
			spans = append(spans, f.decisionSpan(idOf(trace.ID, "decision", strconv.Itoa(i)), tool.ID, c.decided))
		}
	}
	return spans
}

func (f *finished) toolSpan(id string, c call) wireSpan {
	s := wireSpan{
		ID:         id,
		SessionID:  uuid(f.session),
		Kind:       "span",
		Status:     "ok",
		Attributes: map[string]any{},
	}
	if d := c.decided; d != nil {
		s.Name, s.StartTime, s.EndTime = "tool."+d.Tool, d.At, d.At
		s.Attributes["toolName"], s.Attributes["decisionId"] = d.Tool, d.DecisionID
		if !d.Runs {
			s.Status = "denied"
		}
	}
	if o := c.outcome; o != nil {
		s.Name, s.EndTime = "tool."+o.Tool, o.At
		if c.decided == nil {
			s.StartTime = o.At
		}
		s.Attributes["toolName"], s.Attributes["input"], s.Attributes["output"] = o.Tool, o.Input, o.Output
		if o.Failed || o.Kind == state.AlarmEvent {
			s.Status = "error"
		}
		if o.Kind == state.AlarmEvent {
			s.Attributes["alarm"] = o.Reason
		}
	}
	s.Name = bounded.Head(s.Name, 200)
	return s
}

// decisionSpan names no policy: the server counts its own decisions by policy.
func (f *finished) decisionSpan(id, parent string, d *state.Event) wireSpan {
	begun := d.Begun
	if begun.IsZero() || begun.After(d.At) {
		begun = d.At
	}
	status, action := "ok", "allow"
	if d.Verdict != state.Allow {
		status, action = "denied", "block"
	}
	return wireSpan{
		ID:        id,
		ParentID:  &parent,
		SessionID: uuid(f.session),
		Kind:      "policy_call",
		Name:      "hook." + d.Verdict,
		StartTime: begun,
		EndTime:   d.At,
		Status:    status,
		Attributes: map[string]any{
			"toolName": d.Tool, "decision": d.Verdict, "reason": d.Reason, "decidedBy": d.DecidedBy,
			"matchedRuleId": d.Rule, "decisionId": d.DecisionID, "source": "sdk", "enforcementAction": action,
		},
	}
}

// ending is the event that ends the session. The turn does not last until then: the person may have gone away before.
func (f *finished) ending(trace wireTrace) wireSpan {
	return wireSpan{
		ID:         idOf(trace.ID, "end"),
		SessionID:  uuid(f.session),
		Kind:       "event",
		Name:       "session.end",
		StartTime:  f.ended,
		EndTime:    f.ended,
		Status:     "ok",
		Attributes: map[string]any{},
	}
}

// generations are the answers of models, each with its tokens: long prompts have another price than many short ones.
func (f *finished) generations(trace wireTrace) (spans []wireSpan) {
	for i, r := range f.usage.Requests {
		spans = append(spans, wireSpan{
			ID:        idOf(trace.ID, "request", strconv.Itoa(i)),
			SessionID: uuid(f.session),
			Kind:      "generation",
			Name:      "model",
			StartTime: r.At,
			EndTime:   r.At,
			Status:    "ok",
			Attributes: map[string]any{
				"model": r.Model, "inputTokens": r.Input, "outputTokens": r.Output, "cacheReadTokens": r.Cached,
			},
		})
	}
	return spans
}

// uuid is an id where it is a UUID; telemetry takes no other.
func uuid(id string) *string {
	if len(id) != 36 || id[8] != '-' || id[13] != '-' || id[18] != '-' || id[23] != '-' {
		return nil
	}
	for i := range len(id) {
		switch c := id[i]; {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'f', c >= 'A' && c <= 'F', c == '-':
		default:
			return nil
		}
	}
	return &id
}

// newID is a new UUID.
func newID() string {
	var random [16]byte
	_, _ = rand.Read(random[:]) // it never fails
	return format(random)
}

// idOf is a UUID that follows from texts.
func idOf(parts ...string) string {
	hash := sha256.New()
	for _, part := range parts {
		hash.Write([]byte(part))
		hash.Write([]byte{0})
	}
	return format([16]byte(hash.Sum(nil)[:16]))
}

func format(id [16]byte) string {
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
