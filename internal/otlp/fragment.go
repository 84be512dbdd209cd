package otlp

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"writ/internal/telemetry/decode"
)

// source is shown in lists as the origin of these traces.
const source = "opentelemetry"

// fragments groups the spans by trace, in the order of their first spans. Spans whose resource or scope is bad are
// refused.
func (r *reader) fragments() ([]decode.Fragment, error) {
	var order [][16]byte
	byTrace := map[[16]byte][]*span{}
	shared := int64(0) // what spans and traces repeat of their scope and resource
	for i := range r.spans {
		s := &r.spans[i]
		if err := cmp.Or(s.resource.bad, s.scope.bad); err != nil {
			r.refuse(err)
			continue
		}
		shared += int64(len(s.scope.name) + len(s.scope.version) + len(s.scope.attributes))
		if byTrace[s.traceID] == nil {
			order = append(order, s.traceID)
			shared += int64(len(s.resource.attributes))
		}
		byTrace[s.traceID] = append(byTrace[s.traceID], s)
	}
	if err := r.store(0, shared); err != nil {
		return nil, err
	}
	fragments := make([]decode.Fragment, 0, len(order))
	for _, id := range order {
		fragments = append(fragments, r.fragment(id, byTrace[id]))
	}
	return fragments, nil
}

// fragment is what some spans say about their trace. A repeated span counts once.
func (r *reader) fragment(id [16]byte, spans []*span) decode.Fragment {
	seen := map[string]bool{}
	spans = slices.DeleteFunc(spans, func(s *span) bool {
		again := seen[s.ID]
		seen[s.ID] = true
		return again
	})
	head := headOf(spans)
	f := decode.Fragment{Rooted: head.isRoot, Product: r.productOf(head.resource)}
	f.Spans = make([]decode.Span, len(spans))
	for i, s := range spans {
		s.Attributes = s.closedAttributes()
		s.SessionID = s.session()
		f.Spans[i] = s.Span
	}
	f.Trace = decode.Trace{
		ID:         uuid.UUID(id).String(),
		Name:       head.Name,
		Source:     source,
		Tags:       "[]",
		Attributes: head.resource.traceAttributes(),
		SessionID:  firstOf(head, spans, (*span).session),
		UserID: firstOf(head, spans, func(s *span) string {
			return cmp.Or(s.sense.user, userID(s.resource.sense[user]))
		}),
		AgentID: firstOf(head, spans, func(s *span) string {
			return cmp.Or(s.sense.agent, s.resource.sense[agent].string())
		}),
	}
	if head.isRoot {
		f.Trace.Start, f.Trace.End, f.Trace.DurationMs, f.Trace.Status = head.Start, head.End, head.DurationMs,
			head.Status
		f.Trace.Input, f.Trace.Output = head.sense.input, head.sense.output
	} else {
		f.Trace.Start, f.Trace.End, f.Trace.Status = extent(spans)
	}
	return f
}

// headOf is the span that describes its trace: the root, else the first to start.
func headOf(spans []*span) *span {
	return slices.MinFunc(spans, func(a, b *span) int {
		if a.isRoot != b.isRoot {
			if a.isRoot {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.Start, b.Start), strings.Compare(a.ID, b.ID))
	})
}

// extent is when the spans started and ended, and whether all of them succeeded.
func extent(spans []*span) (start int64, end *int64, status string) {
	start, status = spans[0].Start, decode.StatusOK
	for _, s := range spans {
		start = min(start, s.Start)
		if s.End != nil && (end == nil || *s.End > *end) {
			end = s.End
		}
		if s.Status != decode.StatusOK {
			status = s.Status
		}
	}
	return start, end, status
}

// firstOf is what the head says, else the first span that says anything.
func firstOf(head *span, spans []*span, what func(*span) string) string {
	text := what(head)
	for i := 0; text == "" && i < len(spans); i++ {
		text = what(spans[i])
	}
	return text
}

// session is the span's own, else that of its process.
func (s *span) session() string { return cmp.Or(s.sense.session, sessionID(s.resource.sense[session])) }

// Attributes that name the library that made the span.
const (
	scopeName       = "otel.scope.name"
	scopeVersion    = "otel.scope.version"
	scopeAttributes = "otel.scope.attributes"
)

// closedAttributes is the span's attributes with the name of its scope.
func (s *span) closedAttributes() string {
	dst := s.attributes
	member := func(key string, v value) {
		if len(v.text) > 0 && !s.namesScope {
			dst = v.appendTo(append(dst, `,"`+key+`":`...)) // never the first member: the span's id is there
		}
	}
	member(scopeName, value{kind: textValue, text: []byte(s.scope.name)})
	member(scopeVersion, value{kind: textValue, text: []byte(s.scope.version)})
	member(scopeAttributes, value{kind: writtenValue, text: []byte(s.scope.attributes)})
	return string(append(dst, '}'))
}

// traceAttributes describe the process that sent a trace.
func (r *resource) traceAttributes() string {
	return `{"source":"` + source + `","resource":` + cmp.Or(r.attributes, "{}") + `}`
}

// productOf is the product of a trace: the caller's own, else the service, else what the caller calls itself. SDKs
// name a service unknown_service if nobody named it.
func (r *reader) productOf(from *resource) string {
	service := from.sense[service].string()
	if r.ProductWins || service == "" || strings.HasPrefix(service, "unknown_service") {
		return r.Product
	}
	return service
}
