// Package message builds OTLP trace export requests and reads what a receiver answers.
//
// Receivers refuse a whole request for one string that is not UTF-8, and for one that is too large. So every string
// is made valid here, an attribute is cut at MaxValue bytes, and a span drops the attributes beyond MaxAttributes
// bytes and says how many.
package message

import (
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	resource "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	trace "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Limits of what is sent.
const (
	MaxName       = 512      // bytes of a span's name and of an attribute's
	MaxValue      = 16 << 10 // bytes of one attribute
	MaxAttributes = 48 << 10 // bytes of all attributes of a span
	maxMessage    = 2 << 10  // bytes of a status message
	maxVersion    = 100
)

// Span is a span to send. Its ids must not be zero.
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

// Resource is what produced spans.
type Resource struct {
	Service    string
	Attributes string // a JSON object of others, or nothing
	Reserved   string // the first part of names that these may not use
}

// Request is a growing set of spans, grouped by what produced them. The zero value is empty.
type Request struct {
	services []service
	count    int
	size     int
}

type service struct {
	from       Resource
	attributes Attributes
	spans      []*trace.Span
}

// More bytes than the fields around a service's spans take, around a span, and around an attribute.
const (
	serviceOverhead   = 256
	spanOverhead      = 8
	attributeOverhead = 4
)

// Add appends a span of a resource.
func (r *Request) Add(from Resource, s *Span) {
	from.Service = cut(from.Service, MaxName)
	i := slices.IndexFunc(r.services, func(s service) bool { return s.from == from })
	if i < 0 {
		i = len(r.services)
		added := service{from: from}
		added.attributes.String("service.name", from.Service)
		added.attributes.Members([]byte(from.Attributes), from.Reserved)
		r.services = append(r.services, added)
		r.size += added.attributes.size + attributeOverhead*len(added.attributes.pairs) + serviceOverhead
	}
	span := s.encode()
	r.services[i].spans = append(r.services[i].spans, span)
	r.size += proto.Size(span) + spanOverhead
	r.count++
}

// Len is the number of spans.
func (r *Request) Len() int { return r.count }

// Size is at least the number of bytes of the encoded request, and not much more.
func (r *Request) Size() int { return r.size }

// Encode returns the request as it is sent. Every service also gets the given resource attributes; version is that
// of the sending program.
func (r *Request) Encode(version string, about Attributes) ([]byte, error) {
	scope := &common.InstrumentationScope{Name: "writ", Version: cut(version, maxVersion)}
	var request collector.ExportTraceServiceRequest
	for _, s := range r.services {
		request.ResourceSpans = append(request.ResourceSpans, &trace.ResourceSpans{
			Resource: &resource.Resource{
				Attributes:             slices.Concat(s.attributes.pairs, about.pairs),
				DroppedAttributesCount: uint32(s.attributes.dropped),
			},
			ScopeSpans: []*trace.ScopeSpans{{Scope: scope, Spans: s.spans}},
		})
	}
	return proto.Marshal(&request)
}

func (s *Span) encode() *trace.Span {
	start := nanos(s.Start)
	span := &trace.Span{
		TraceId:                s.TraceID[:],
		SpanId:                 s.ID[:],
		Name:                   cut(s.Name, MaxName),
		Kind:                   trace.Span_SPAN_KIND_INTERNAL,
		StartTimeUnixNano:      start,
		EndTimeUnixNano:        max(start, nanos(s.End)), // receivers refuse a span that ends before it starts
		Attributes:             s.Attributes.pairs,
		DroppedAttributesCount: uint32(s.Attributes.dropped),
	}
	if s.ParentID != [8]byte{} {
		span.ParentSpanId = s.ParentID[:]
	}
	if s.Failed {
		span.Status = &trace.Status{Code: trace.Status_STATUS_CODE_ERROR, Message: cut(s.Message, maxMessage)}
	}
	return span
}

// nanos counts from 1970. A time before 1970 or after 2261 becomes the nearest that fits.
func nanos(at time.Time) uint64 {
	switch {
	case at.Year() > 2261:
		return math.MaxInt64
	case at.Unix() < 0:
		return 0
	}
	return uint64(at.UnixNano())
}

// cut makes a text valid UTF-8 of at most so many bytes, with a mark where the rest is missing.
func cut(text string, most int) string {
	const mark = "…"
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	end := most - len(mark)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark
}

// Rejected reads from an answer in protobuf how many spans the receiver rejected although it accepted the request.
func Rejected(answer []byte) (int64, error) {
	var response collector.ExportTraceServiceResponse
	err := proto.Unmarshal(answer, &response)
	return max(0, response.GetPartialSuccess().GetRejectedSpans()), err
}

// RejectedInJSON is Rejected for an answer in JSON.
func RejectedInJSON(answer []byte) (int64, error) {
	var response collector.ExportTraceServiceResponse
	err := protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(answer, &response)
	return max(0, response.GetPartialSuccess().GetRejectedSpans()), err
}
