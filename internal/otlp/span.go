package otlp

import (
	"cmp"
	"encoding/hex"
	"errors"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"writ/internal/telemetry/decode"
)

var (
	errSharedTooLarge = errors.New("attributes of a resource or scope must be at most 16384 bytes")
	errTraceID        = errors.New("traceId: must be 16 bytes, not all zero")
	errSpanID         = errors.New("spanId: must be 8 bytes, not all zero")
	errParentID       = errors.New("parentSpanId: must be 8 bytes")
	errStart          = errors.New("startTimeUnixNano: is required and must be a time")
)

// Name spaces in which OpenTelemetry's ids become UUIDs of version 5, so that the same id is always the same UUID.
var (
	spanSpace    = uuid.MustParse("6f3f2f5e-5b0e-5a39-9a55-0d4a3a1f7c01")
	sessionSpace = uuid.MustParse("6f3f2f5e-5b0e-5a39-9a55-0d4a3a1f7c02")
)

const spanStatusError = 2 // STATUS_CODE_ERROR

// kindNames are the names of OTLP's SpanKind.
var kindNames = [...]string{"unspecified", "internal", "server", "client", "producer", "consumer"}

// finish turns the current span into what will be stored.
func (r *reader) finish(from *resource, by *scope) (s span, err error) {
	raw := &r.current
	if raw.bad != nil {
		return span{}, raw.bad
	}
	s = span{resource: from, scope: by}
	if err := s.setIDs(raw); err != nil {
		return span{}, err
	}
	if err := s.setTimes(raw.start, raw.end); err != nil {
		return span{}, err
	}
	s.Name, s.Status = nameOf(raw.name), decode.StatusOK
	if raw.statusCode == spanStatusError {
		s.Status = decode.StatusError
	}
	meant := senseOf(raw.attributes)
	s.Kind = meant.kind()
	s.Facts = meant.facts(s.Kind, r.Prices)
	s.sense = spanSense{
		session: sessionID(meant[session]), user: userID(meant[user]), agent: meant[agent].string(),
		input: preview(meant[input]), output: preview(meant[output]),
	}
	s.attributes = raw.appendAttributes(make([]byte, 0, raw.sizeHint()), r.written, s.Kind, s.Facts)
	s.namesScope = r.written[scopeName] || r.written[scopeVersion] || r.written[scopeAttributes]
	return s, nil
}

func (s *span) setIDs(raw *rawSpan) error {
	switch {
	case len(raw.traceID) != len(s.traceID) || isZero(raw.traceID):
		return errTraceID
	case len(raw.id) != 8 || isZero(raw.id):
		return errSpanID
	case len(raw.parent) != 0 && len(raw.parent) != 8:
		return errParentID
	}
	copy(s.traceID[:], raw.traceID)
	s.ID = spanID(raw.id)
	if s.isRoot = isZero(raw.parent); !s.isRoot {
		s.ParentID = spanID(raw.parent)
	}
	return nil
}

func isZero(id []byte) bool {
	for _, b := range id {
		if b != 0 {
			return false
		}
	}
	return true
}

func spanID(id []byte) string { return uuid.NewSHA1(spanSpace, id).String() }

// setTimes reads nanoseconds since 1970. An end before the start is stored, but gives no duration.
func (s *span) setTimes(start, end uint64) error {
	if start == 0 || start > math.MaxInt64 {
		return errStart
	}
	s.Start = int64(start / 1000)
	if end == 0 || end > math.MaxInt64 {
		return nil
	}
	at := int64(end / 1000)
	s.End = &at
	if ms := (at - s.Start) / 1000; at >= s.Start && ms <= decode.MaxDuration {
		s.DurationMs = &ms
	}
	return nil
}

// nameOf shortens a name to the limit.
func nameOf(name []byte) string {
	return cmp.Or(firstRunes(name, decode.MaxName), "unknown")
}

// sessionID is the id under which a session is stored: a text that is not a UUID is hashed to one.
func sessionID(v value) string {
	text := v.string()
	if lower := strings.ToLower(text); text == "" || decode.IsUUID(lower) {
		return lower
	}
	if v.kind == textValue {
		return uuid.NewSHA1(sessionSpace, v.text).String() // of any length
	}
	return uuid.NewSHA1(sessionSpace, []byte(text)).String()
}

// userID is a person's id, if it has the form of ours.
func userID(v value) string {
	if text := strings.ToLower(v.string()); decode.IsUUID(text) {
		return text
	}
	return ""
}

// preview is the beginning of a text, or of a value's JSON.
func preview(v value) *string {
	if v.kind == noValue {
		return nil
	}
	text := v.text
	if v.kind != textValue {
		text = v.appendTo(nil)
	}
	short := firstRunes(text, decode.MaxPreview)
	return &short
}

func firstRunes(text []byte, n int) string { return decode.FirstRunes(bounded(text, utf8.UTFMax*n), n) }

func (raw *rawSpan) sizeHint() int {
	return 256 + 64*len(raw.attributes) + len(raw.events) + len(raw.links)
}

// appendAttributes writes the stored attributes of a span: those that were sent, unchanged, then what else OTLP says
// about it, and then its facts under the names that other clients use, unless the sender uses these names itself.
func (raw *rawSpan) appendAttributes(dst []byte, written members, kind string, f decode.Facts) []byte {
	dst = written.begin(dst, raw.attributes)
	more := func(key string, v value) { dst = written.append(dst, key, v) }
	text := func(key, t string) {
		if t != "" {
			more(key, value{kind: textValue, text: []byte(t)})
		}
	}
	number := func(key string, n int64) { more(key, value{kind: wholeValue, whole: n}) }
	switch kind {
	case decode.KindGeneration:
		text("model", f.Model)
		number("inputTokens", f.Usage.Input)
		number("outputTokens", f.Usage.Output)
		number("cacheReadTokens", f.Usage.CacheRead)
		number("cacheWriteTokens", f.Usage.CacheWrite)
		more("costUsd", value{kind: floatValue, float: f.Usage.Dollars()})
	case kindTool:
		text("toolName", f.Tool)
	}
	text("otel.span_id", hex.EncodeToString(raw.id))
	if raw.kind > 1 && raw.kind < int64(len(kindNames)) {
		text("otel.span_kind", kindNames[raw.kind])
	}
	text("otel.status_description", string(raw.statusMessage))
	text("otel.trace_state", string(raw.state))
	if len(raw.events) > 0 {
		more("otel.events", value{kind: writtenValue, text: inBrackets(raw.events)})
	}
	if len(raw.links) > 0 {
		more("otel.links", value{kind: writtenValue, text: inBrackets(raw.links)})
	}
	if raw.dropped > 0 {
		number("otel.dropped_count", raw.dropped)
	}
	return dst
}

func inBrackets(list []byte) []byte { return append(append([]byte{'['}, list...), ']') }
