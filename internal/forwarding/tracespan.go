package forwarding

import (
	"cmp"
	"crypto/sha256"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"writ/internal/forwarding/message"
	"writ/internal/redaction"
	"writ/internal/telemetry"
)

// traceBytes is a trace id in OTLP's form. Writ's ids are UUIDs, which have the same 16 bytes: a trace that came by
// OTLP leaves under its own id.
func traceBytes(id string) [16]byte {
	parsed, err := uuid.Parse(id)
	if err != nil || parsed == uuid.Nil {
		sum := sha256.Sum256([]byte("writ trace " + id))
		return [16]byte(sum[:16])
	}
	return parsed
}

// spanBytes is a span id in OTLP's form, which has half the bytes of ours. No half of a UUID is random in every
// version, so it is taken from a hash.
func spanBytes(id string) (short [8]byte) {
	if id == "" {
		return short
	}
	sum := sha256.Sum256([]byte("writ span " + strings.ToLower(id)))
	copy(short[:], sum[:])
	return short
}

// rootID is the id of the span that stands for a whole trace.
func rootID(t *telemetry.TraceItem) [8]byte { return spanBytes("root of " + t.ID) }

// serviceOf is the service name of a trace's spans. Clients choose theirs; Writ's own name is only for decisions.
func serviceOf(t *telemetry.TraceItem, content Content) string {
	name := cmp.Or(t.Product, t.Source, "unknown_service")
	if strings.EqualFold(strings.TrimSpace(name), decisionService) {
		return "client." + decisionService
	}
	return content.name(name)
}

// otlpSource is the source of traces that came by OTLP. Their attributes have what their resource said of itself.
const otlpSource = "opentelemetry"

// resourceOf is what a trace's process said of itself, as far as the content setting allows.
func resourceOf(attributes string, content Content) string {
	var of struct {
		Resource jsontext.Value `json:"resource"`
	}
	if content == None || json.Unmarshal([]byte(attributes), &of) != nil || of.Resource.Kind() != '{' {
		return ""
	}
	if content == Full {
		return string(of.Resource)
	}
	clean, err := redaction.JSON(of.Resource)
	if err != nil {
		return ""
	}
	return string(clean)
}

// name is a text beside the attributes, such as a span's name: clients choose these too, and may put anything in them.
func (c Content) name(text string) string {
	if c == Full {
		return text
	}
	return redaction.Text(text)
}

// rootSpan stands for a trace that came whole. Such a trace has a name, times and attributes, which OTLP knows only of
// spans.
func rootSpan(t *telemetry.TraceItem, content Content) *message.Span {
	s := &message.Span{
		TraceID: traceBytes(t.ID),
		ID:      rootID(t),
		Name:    content.name(t.Name),
		Start:   t.Start,
		End:     t.Start,
		Failed:  t.Status != "ok",
		Message: content.name(t.Status),
	}
	a := &s.Attributes
	setEnd(s, t.End)
	addTraceFacts(a, t, content)
	a.String("writ.user.id", content.name(t.UserID))
	a.String("writ.status", content.name(t.Status))
	addClientAttributes(a, t.Attributes, content)
	return s
}

func setEnd(s *message.Span, end *time.Time) {
	if end == nil {
		s.Attributes.Bool("writ.unfinished", true)
		return
	}
	s.End = *end
}

// addTraceFacts adds what all spans of a trace have in common.
func addTraceFacts(a *message.Attributes, t *telemetry.TraceItem, content Content) {
	a.String("gen_ai.agent.id", content.name(t.AgentID))
	a.String("gen_ai.conversation.id", content.name(t.SessionID))
	a.String("session.id", content.name(t.SessionID))
	a.String("writ.product", content.name(t.Product))
}

// traceSpan makes a span of a stored one, below the trace's root if it has one.
func traceSpan(
	t *telemetry.TraceItem, stored *telemetry.SpanRecord, rooted bool, content Content,
) *message.Span {
	s := &message.Span{
		TraceID:  traceBytes(t.ID),
		ID:       spanBytes(stored.ID),
		ParentID: spanBytes(stored.ParentID),
		Name:     content.name(stored.Name),
		Start:    stored.Start,
		End:      stored.Start,
		Failed:   stored.Status != "ok",
		Message:  content.name(stored.Status),
	}
	if rooted && stored.ParentID == "" {
		s.ParentID = rootID(t)
	}
	a := &s.Attributes
	setEnd(s, stored.End)
	a.String("writ.kind", content.name(stored.Kind))
	a.String("writ.status", content.name(stored.Status))
	if !strings.Contains(stored.Attributes, `"gen_ai.`) || content == None {
		addSpanFacts(a, stored, content)
	}
	if stored.Usage.CostNanos > 0 {
		// also next to a client's own attributes, which seldom have it
		a.Double("writ.usage.cost_usd", stored.Usage.Dollars())
	}
	addClientAttributes(a, stored.Attributes, content)
	addTraceFacts(a, t, content) // after the client's own attributes
	return s
}

// addSpanFacts adds what Writ knows of a span, under the names of OpenTelemetry's conventions for generative AI,
// unless the client uses these names itself. Tokens are as the client counted them: vendors differ in whether cached
// tokens are part of the input.
func addSpanFacts(a *message.Attributes, s *telemetry.SpanRecord, content Content) {
	switch {
	case s.Tool != "":
		a.String("gen_ai.operation.name", "execute_tool")
		a.String("gen_ai.tool.name", content.name(s.Tool))
	case s.Model != "" || s.Kind == "generation":
		a.String("gen_ai.operation.name", "chat")
	}
	a.String("gen_ai.request.model", content.name(s.Model))
	tokens := func(name string, n int64) {
		if n > 0 {
			a.Int(name, n)
		}
	}
	tokens("gen_ai.usage.input_tokens", s.Usage.Input)
	tokens("gen_ai.usage.output_tokens", s.Usage.Output)
	tokens("gen_ai.usage.cache_read.input_tokens", s.Usage.CacheRead)
	tokens("gen_ai.usage.cache_creation.input_tokens", s.Usage.CacheWrite)
}

// addClientAttributes adds a client's own attributes, as far as the content setting allows. What cannot be redacted is
// withheld. Writ's own names are not for clients: a receiver that alerts on writ.decision must not get one from an
// agent.
func addClientAttributes(a *message.Attributes, object string, content Content) {
	switch content {
	case Full:
		a.Members([]byte(object), decisionService)
	case Redacted:
		clean, err := redaction.JSON([]byte(object))
		if err != nil {
			a.String("writ.withheld", "attributes that could not be redacted")
			return
		}
		a.Members(clean, decisionService)
	}
}
