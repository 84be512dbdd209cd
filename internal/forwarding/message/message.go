// Package message writes spans as OTLP's protobuf messages have them, and reads
// what a receiver answers.
//
// It is the sending half of the protocol and no more: a Request is spans of
// services, a Span has what Writ knows of one, an Attribute any JSON value. Writing
// the few fields by hand links no generated code and allocates one buffer; that the
// official types read the same from it is what the tests are for.
//
// Receivers refuse a whole request for one string that is not UTF-8, and for one
// that is too large. So every text is made valid here, an attribute is cut at
// MaxValue, and a span drops attributes beyond MaxAttributes bytes, and says how
// many.
package message

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// The limits of what is written.
const (
	MaxName       = 512      // bytes of a span's name and of an attribute's
	MaxValue      = 16 << 10 // bytes of one attribute
	MaxAttributes = 48 << 10 // bytes of all attributes of a span
	maxMessage    = 2 << 10  // bytes of a status message
	maxVersion    = 100
)

// Span is a span to be sent. Its ids must not be zero.
type Span struct {
	TraceID    [16]byte
	ID         [8]byte
	ParentID   [8]byte // zero: none
	Name       string
	Start, End time.Time
	Attributes Attributes
	Failed     bool
	Message    string // why it failed
}

// scopeName is who wrote the spans.
const scopeName = "writ"

// The numbers of fields, as opentelemetry/proto/trace/v1/trace.proto and its
// neighbours have them.
const (
	requestResourceSpans = 1

	resourceSpansResource = 1
	resourceSpansScopes   = 2
	resourceAttributes    = 1
	scopeSpansScope       = 1
	scopeSpansSpans       = 2
	scopeNameField        = 1
	scopeVersionField     = 2

	spanTraceID    = 1
	spanID         = 2
	spanParentID   = 4
	spanName       = 5
	spanKind       = 6
	spanStart      = 7
	spanEnd        = 8
	spanAttributes = 9
	spanDropped    = 10
	spanStatus     = 15

	statusMessage = 2
	statusCode    = 3

	kindInternal = 1
	codeError    = 2
)

// Request is spans of some services, growing. The zero value is empty.
type Request struct {
	services []service
	count    int
	size     int
}

// service is the spans of one, each with its tag.
type service struct {
	name  string
	spans []byte
}

// Add appends a span of a service.
func (r *Request) Add(name string, s *Span) {
	i := slices.IndexFunc(r.services, func(s service) bool { return s.name == name })
	if i < 0 {
		i = len(r.services)
		r.services = append(r.services, service{name: name})
		r.size += len(name) + envelope
	}
	before := len(r.services[i].spans)
	r.services[i].spans = appendBytes(r.services[i].spans, scopeSpansSpans, s.encode())
	r.size += len(r.services[i].spans) - before
	r.count++
}

// envelope is about what a service takes beside its name and its spans.
const envelope = 256

// Len is how many spans it has.
func (r *Request) Len() int { return r.count }

// Size is about how many bytes it has, and no fewer.
func (r *Request) Size() int { return r.size }

// Encode is the request as it is sent. Every service gets the same further
// attributes; version is that of the program that sends.
func (r *Request) Encode(version string, about Attributes) []byte {
	scope := appendText(nil, scopeNameField, scopeName)
	scope = appendText(scope, scopeVersionField, Cut(version, maxVersion))
	var out []byte
	for _, s := range r.services {
		var named Attributes
		named.Text("service.name", Cut(s.name, MaxName))
		resource := named.append(nil, resourceAttributes)
		resource = about.append(resource, resourceAttributes)

		scoped := appendBytes(make([]byte, 0, len(s.spans)+len(scope)+8), scopeSpansScope, scope)
		scoped = append(scoped, s.spans...)
		all := appendBytes(make([]byte, 0, len(scoped)+len(resource)+16), resourceSpansResource, resource)
		all = appendBytes(all, resourceSpansScopes, scoped)
		out = appendBytes(out, requestResourceSpans, all)
	}
	return out
}

func (s *Span) encode() []byte {
	out := make([]byte, 0, 256+len(s.Attributes.encoded))
	out = appendBytes(out, spanTraceID, s.TraceID[:])
	out = appendBytes(out, spanID, s.ID[:])
	if s.ParentID != [8]byte{} {
		out = appendBytes(out, spanParentID, s.ParentID[:])
	}
	out = appendText(out, spanName, Cut(s.Name, MaxName))
	out = appendNumber(out, spanKind, kindInternal)
	out = appendTime(out, spanStart, s.Start)
	end := s.End
	if end.Before(s.Start) { // as a client's clock may have it; receivers refuse that
		end = s.Start
	}
	out = appendTime(out, spanEnd, end)
	out = s.Attributes.append(out, spanAttributes)
	if s.Attributes.dropped > 0 {
		out = appendNumber(out, spanDropped, uint64(s.Attributes.dropped))
	}
	if s.Failed {
		status := appendText(nil, statusMessage, Cut(s.Message, maxMessage))
		status = appendNumber(status, statusCode, codeError)
		out = appendBytes(out, spanStatus, status)
	}
	return out
}

func appendBytes(out []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(out, field, protowire.BytesType), value)
}

// appendText appends a text that is not empty.
func appendText(out []byte, field protowire.Number, text string) []byte {
	if text == "" {
		return out
	}
	return protowire.AppendString(protowire.AppendTag(out, field, protowire.BytesType), valid(text))
}

func appendNumber(out []byte, field protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(out, field, protowire.VarintType), n)
}

// appendTime appends nanoseconds since 1970. What does not fit, before 1970 or
// after 2262, becomes the nearest that does.
func appendTime(out []byte, field protowire.Number, at time.Time) []byte {
	nanos := at.UnixNano()
	switch {
	case at.Year() > 2261:
		nanos = 1<<63 - 1
	case at.Unix() < 0:
		nanos = 0
	}
	return protowire.AppendFixed64(protowire.AppendTag(out, field, protowire.Fixed64Type), uint64(nanos))
}

func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// Cut is a text of at most so many bytes, with a mark where something is missing.
func Cut(text string, most int) string {
	const mark = "…"
	if len(text) <= most {
		return text
	}
	end := most - len(mark)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark
}
