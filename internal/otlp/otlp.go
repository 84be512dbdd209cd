// Package otlp reads the traces that OpenTelemetry exporters send, as protobuf or JSON, and turns them into the
// fragments of traces that package telemetry stores. It is pure: it knows no database and no clock.
//
// The messages are read by hand, not into generated types. This limits memory while a request is read: a few bytes of
// a message can become hundreds in memory. It also costs less, because attributes are written once, as the JSON that
// is stored.
//
//	body ──read──> one span at a time ──GenAI conventions──> kind, model, tokens, tool ...
//	                                                └──> its attributes, as JSON
//	     spans of one trace ──> a fragment: the trace as its root, or its spans, describe it
//
// A span that cannot be stored is refused with a reason and harms no other; a body that is not OTLP is refused as a
// whole. Every attribute is stored, whether or not a convention gives it a meaning.
package otlp

import (
	"context"
	"fmt"

	"writ/internal/fault"
	"writ/internal/telemetry/decode"
)

// Limits of a request, beside that of its body.
const (
	MaxSpans      = 50_000 // in a request
	maxAttributes = 1000   // of a span, event, link, resource or scope
	maxDepth      = 32     // of nested values
	maxShared     = 16 << 10
)

// Encoding is how a request and its answer are encoded.
type Encoding int

// The encodings of OTLP over HTTP.
const (
	Protobuf Encoding = iota + 1
	JSON
)

// Options configure how a request is read.
type Options struct {
	Product     string // of traces whose resource names no service
	ProductWins bool   // overrides the service that the resource names
	Prices      *decode.Prices
	MaxBytes    int64 // of everything that would be stored
	// Take counts memory before it is used, and refuses what is too much for now; nil: nothing does.
	Take func(bytes int64) error
}

// Reading is the content of a request.
type Reading struct {
	Fragments []decode.Fragment // one for each trace
	Refused   int               // spans that cannot be stored
	Reason    string            // why the first of them was refused
}

// Read reads a request. Only what concerns the whole request is an error. A large request takes seconds; reading stops
// when the request ends.
func Read(ctx context.Context, body []byte, encoding Encoding, o Options) (Reading, error) {
	r := newReader(ctx, o)
	var err error
	switch encoding {
	case Protobuf:
		err = r.readProtobuf(body)
	case JSON:
		err = r.readJSON(body)
	default:
		err = fmt.Errorf("read OTLP: no such encoding: %d", encoding)
	}
	if err != nil {
		return Reading{}, err
	}
	fragments, err := r.fragments()
	return Reading{Fragments: fragments, Refused: r.refused, Reason: r.reason}, err
}

// malformed refuses a body that is not OTLP.
func malformed(cause error) error {
	bad := fault.Field("body", "is not an OTLP trace request in the encoding of its Content-Type")
	bad.Cause = cause
	return bad
}

// requestEnded is the error of a request that ended while it was read.
func requestEnded(cause error) error {
	given := fault.New(fault.Unavailable, "the request ended before all of it was read; send it again")
	given.Cause = cause
	return given
}

func tooManySpans() error {
	return fault.New(fault.TooLarge, "a request must have at most %d spans", MaxSpans)
}

func (r *reader) tooLarge() error {
	return fault.New(fault.TooLarge, "the content of the request is larger than %d bytes when written out",
		r.MaxBytes)
}
