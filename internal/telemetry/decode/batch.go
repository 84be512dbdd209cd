package decode

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Batch is a valid trace with its spans.
type Batch struct {
	Trace Trace
	Spans []Span
}

// Trace is a trace as it is stored.
type Trace struct {
	ID, SessionID, Name string
	Start               int64 // microseconds
	End, DurationMs     *int64
	Status              string
	UserID, AgentID     string
	Source              string
	Attributes, Tags    string // JSON
	Input, Output       *string
	Usage               Usage // of its generation spans
	Errors              int64 // spans whose status is not ok
}

// Span is a span as it is stored.
type Span struct {
	ID, ParentID, SessionID string
	Kind, Name              string
	Start                   int64
	End, DurationMs         *int64
	Status                  string
	Attributes              string // JSON
	Facts

	// Only of a span that came after its trace, or by itself: its row key, and its exact duration. Clients send
	// neither.
	Key            int64
	DurationMicros *int64
}

// Rejection says why a batch was rejected.
type Rejection struct{ Field, Reason string }

func (r *Rejection) Error() string { return r.Field + ": " + r.Reason }

func reject(field, format string, args ...any) *Rejection {
	return &Rejection{field, fmt.Sprintf(format, args...)}
}

// wireBatch is a batch as it was sent: its types are right, nothing else is checked.
type wireBatch struct {
	trace wireTrace
	spans []wireSpan
}

// wireCommon is what traces and spans both have.
type wireCommon struct {
	ID         string `json:"id"`
	SessionID  raw    `json:"sessionId"`
	Name       string `json:"name"`
	StartTime  string `json:"startTime"`
	EndTime    raw    `json:"endTime"`
	DurationMs raw    `json:"durationMs"`
	Status     string `json:"status"`
	Attributes raw    `json:"attributes"`
}

type wireTrace struct {
	wireCommon
	UserID  raw    `json:"userId"`
	AgentID string `json:"agentId"`
	Tags    texts  `json:"tags"`
}

type wireSpan struct {
	wireCommon
	ParentID raw    `json:"parentSpanId"`
	Kind     string `json:"kind"`
}

// ParseBatch reads one of the batches of ParseRequest strictly, and checks every rule or says which one it breaks.
func ParseBatch(batch, defaultSession jsontext.Value, product string, prices *Prices) (Batch, *Rejection) {
	w, isPlain := readPlain(batch)
	if !isPlain {
		var bad *Rejection
		if w, bad = decodeBatch(batch); bad != nil {
			return Batch{}, bad
		}
	}
	trace, bad := w.trace.check(raw(defaultSession), product)
	if bad != nil {
		return Batch{}, bad
	}
	b := Batch{Trace: trace, Spans: make([]Span, len(w.spans))}
	for i := range w.spans {
		if bad = w.spans[i].check(&b.Spans[i], prices); bad != nil {
			bad.Field = "spans[" + strconv.Itoa(i) + "]." + bad.Field
			return Batch{}, bad
		}
		b.Trace.Count(&b.Spans[i])
	}
	return b, nil
}

func decodeBatch(batch jsontext.Value) (w wireBatch, bad *Rejection) {
	var members struct {
		Trace jsontext.Value `json:"trace"`
		Spans wireSpans      `json:"spans"`
	}
	if err := json.Unmarshal(batch, &members); err != nil {
		return wireBatch{}, undecodable("", err)
	}
	if members.Trace.Kind() != '{' {
		return wireBatch{}, reject("trace", "is required and must be an object")
	}
	if len(members.Spans) > MaxSpans {
		return wireBatch{}, reject("spans", "must be at most %d", MaxSpans)
	}
	w.spans = members.Spans
	if err := json.Unmarshal(members.Trace, &w.trace); err != nil {
		return wireBatch{}, undecodable("trace", err)
	}
	return w, nil
}

// Count adds a span to the trace's totals.
func (t *Trace) Count(s *Span) {
	if s.Kind == KindGeneration {
		t.Usage = t.Usage.Add(s.Usage)
	}
	if s.Status != StatusOK {
		t.Errors++
	}
}

func (w *wireTrace) check(defaultSession raw, product string) (t Trace, bad *Rejection) {
	c := &checker{}
	c.text("product", product) // it is stored with every trace
	session := ""
	if isAbsent(w.SessionID) {
		session = c.optionalID("sessionId", defaultSession)
	}
	c.prefix = "trace."
	t = Trace{
		ID: c.uuid("id", w.ID, true), SessionID: cmp.Or(c.optionalID("sessionId", w.SessionID), session),
		Name:   c.name(w.Name),
		Status: c.status(w.Status, true), UserID: c.optionalID("userId", w.UserID),
		AgentID:    c.text("agentId", w.AgentID),
		Attributes: c.object(w.Attributes), Tags: c.tags(w.Tags),
	}
	t.Start, t.End, t.DurationMs = c.times(w.StartTime, w.EndTime, w.DurationMs)
	if c.bad != nil {
		return Trace{}, c.bad
	}
	t.Source, t.Input, t.Output = describeTrace(w.Attributes, product)
	return t, nil
}

// check fills a span. The field of a rejection is one of the span's.
func (w *wireSpan) check(s *Span, prices *Prices) *Rejection {
	c := checker{}
	s.ID, s.ParentID, s.SessionID = c.uuid("id", w.ID, true), c.optionalID("parentSpanId", w.ParentID),
		c.optionalID("sessionId", w.SessionID)
	s.Kind, s.Name, s.Status, s.Attributes = c.required("kind", w.Kind), c.name(w.Name), c.status(w.Status, false),
		c.object(w.Attributes)
	s.Start, s.End, s.DurationMs = c.times(w.StartTime, w.EndTime, w.DurationMs)
	if c.bad == nil {
		s.Facts = c.facts(s.Kind, w.Attributes, prices)
	}
	return c.bad
}

// undecodable says where a batch cannot be read, without quoting it.
func undecodable(prefix string, err error) *Rejection {
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		return reject(fieldAt(prefix, semantic.JSONPointer), "has the wrong type")
	}
	field, reason := prefix, "is not valid JSON"
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		field = fieldAt(prefix, syntax.JSONPointer)
		switch {
		case errors.Is(err, jsontext.ErrDuplicateName):
			reason = "appears twice"
		case strings.Contains(syntax.Err.Error(), "UTF-8"), strings.Contains(syntax.Err.Error(), "surrogate"):
			reason = "is not valid UTF-8"
		}
	}
	return reject(field, "%s", reason)
}

// fieldAt is "spans[3].name" for the pointer /spans/3/name. Names that clients chose are cut: they may be long.
func fieldAt(prefix string, pointer jsontext.Pointer) string {
	field := prefix
	for token := range pointer.Tokens() {
		switch _, err := strconv.Atoi(token); {
		case err == nil:
			field += "[" + token + "]"
		case field == "":
			field = FirstRunes(token, 50)
		default:
			field += "." + FirstRunes(token, 50)
		}
	}
	if field == "" {
		return "batch"
	}
	return field
}

// FirstRunes is the first n characters of text.
func FirstRunes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}
