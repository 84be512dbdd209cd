package otlp

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// field is one field of a message: its number, and the value by its wire type. A field of an unexpected wire type is
// ignored, as in every protobuf reader.
type field struct {
	number protowire.Number
	bytes  []byte // of a text, bytes or a message; else nil
	varint uint64
	fixed  uint64
}

// eachField calls do for the fields of a message, in order.
func eachField(message []byte, do func(f field) error) error {
	for len(message) > 0 {
		number, wireType, n := protowire.ConsumeTag(message)
		if n < 0 {
			return malformed(protowire.ParseError(n))
		}
		message = message[n:]
		f := field{number: number}
		switch wireType {
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(message)
		case protowire.VarintType:
			f.varint, n = protowire.ConsumeVarint(message)
		case protowire.Fixed64Type:
			f.fixed, n = protowire.ConsumeFixed64(message)
		default:
			f.number = 0 // ignored; there is no field 0
			n = protowire.ConsumeFieldValue(number, wireType, message)
		}
		if n < 0 {
			return malformed(protowire.ParseError(n))
		}
		message = message[n:]
		if err := do(f); err != nil {
			return err
		}
	}
	return nil
}

// messages calls do with each message in the fields of this number.
func messages(in []byte, number protowire.Number, do func(message []byte) error) error {
	return eachField(in, func(f field) error {
		if f.number == number && f.bytes != nil {
			return do(f.bytes)
		}
		return nil
	})
}

// readProtobuf reads an ExportTraceServiceRequest.
func (r *reader) readProtobuf(body []byte) error {
	return messages(body, 1, func(resourceSpans []byte) error {
		from, err := r.newResource()
		if err != nil {
			return err
		}
		if err := r.readResource(from, resourceSpans); err != nil {
			return err
		}
		return messages(resourceSpans, 2, func(scopeSpans []byte) error {
			by, err := r.newScope()
			if err != nil {
				return err
			}
			if err := r.readScope(by, scopeSpans); err != nil {
				return err
			}
			return messages(scopeSpans, 2, func(span []byte) error {
				if err := r.begin(); err != nil {
					return err
				}
				if err := eachField(span, r.readSpanField); err != nil {
					return err
				}
				return r.end(from, by)
			})
		})
	})
}

func (r *reader) readResource(to *resource, resourceSpans []byte) error {
	var attributes []attribute
	err := messages(resourceSpans, 1, func(message []byte) error {
		return messages(message, 1, func(pair []byte) (err error) {
			attributes, err = r.readPair(attributes, pair)
			return err
		})
	})
	if err == nil {
		r.setResource(to, attributes)
	}
	return takeRefusal(err, &to.bad)
}

func (r *reader) readScope(to *scope, scopeSpans []byte) error {
	var attributes []attribute
	err := messages(scopeSpans, 1, func(message []byte) error {
		return eachField(message, func(f field) (err error) {
			switch f.number {
			case 1:
				to.name = short(f.bytes)
			case 2:
				to.version = short(f.bytes)
			case 3:
				attributes, err = r.readPair(attributes, f.bytes)
			}
			return err
		})
	})
	if err == nil {
		r.setScope(to, attributes)
	}
	return takeRefusal(err, &to.bad)
}

// takeRefusal moves an error that concerns a span, and not the whole request, to bad.
func takeRefusal(err error, bad *error) error {
	if errors.Is(err, errDepth) || errors.Is(err, errAttributes) {
		*bad, err = err, nil
	}
	return err
}

// readSpanField reads a field of the current span.
func (r *reader) readSpanField(f field) (err error) {
	s := &r.current
	switch f.number {
	case 1:
		s.traceID = f.bytes
	case 2:
		s.id = f.bytes
	case 3:
		s.state = f.bytes
	case 4:
		s.parent = f.bytes
	case 5:
		s.name = f.bytes
	case 6:
		s.kind = int64(f.varint)
	case 7:
		s.start = f.fixed
	case 8:
		s.end = f.fixed
	case 9:
		s.attributes, err = r.readPair(s.attributes, f.bytes)
	case 10, 12, 14:
		s.dropped += int64(uint32(f.varint))
	case 11:
		s.events, err = r.readEvent(s.events, f.bytes)
	case 13:
		s.links, err = r.readLink(s.links, f.bytes)
	case 15:
		err = eachField(f.bytes, func(f field) error {
			switch f.number {
			case 2:
				s.statusMessage = f.bytes
			case 3:
				s.statusCode = int64(f.varint)
			}
			return nil
		})
	}
	return takeRefusal(err, &s.bad)
}

// readPair appends the attribute of a KeyValue.
func (r *reader) readPair(to []attribute, pair []byte) ([]attribute, error) {
	var a attribute
	err := eachField(pair, func(f field) (err error) {
		switch {
		case f.number == 1:
			a.key = r.name(f.bytes)
		case f.number == 2 && f.bytes != nil:
			a.value, err = r.readValue(f.bytes)
		}
		return err
	})
	if err != nil {
		return to, err
	}
	return add(to, a)
}
