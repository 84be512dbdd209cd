package otlp

import (
	"encoding/hex"
	"math"
	"time"
)

// event is an event of a span, or a link to another span.
type event struct {
	name            []byte
	at              uint64
	traceID, spanID []byte // of a link
	attributes      []attribute
}

// readEvent appends an Event to the list of its span.
func (r *reader) readEvent(list, message []byte) ([]byte, error) {
	e := event{attributes: r.inner[:0]}
	err := eachField(message, func(f field) (err error) {
		switch f.number {
		case 1:
			e.at = f.fixed
		case 2:
			e.name = f.bytes
		case 3:
			e.attributes, err = r.readPair(e.attributes, f.bytes)
		}
		return err
	})
	return r.appendEvent(list, e), cmpErrors(err, r.checkScratch)
}

// readLink appends a Link to the list of its span.
func (r *reader) readLink(list, message []byte) ([]byte, error) {
	e := event{attributes: r.inner[:0]}
	err := eachField(message, func(f field) (err error) {
		switch f.number {
		case 1:
			e.traceID = f.bytes
		case 2:
			e.spanID = f.bytes
		case 4:
			e.attributes, err = r.readPair(e.attributes, f.bytes)
		}
		return err
	})
	return r.appendEvent(list, e), cmpErrors(err, r.checkScratch)
}

// cmpErrors returns the error, or the result of the check if there is none.
func cmpErrors(err error, check func() error) error {
	if err != nil {
		return err
	}
	return check()
}

// appendEvent appends an event or link, as JSON.
func (r *reader) appendEvent(list []byte, e event) []byte {
	r.inner = e.attributes
	if len(list) > 0 {
		list = append(list, ',')
	}
	list = append(list, '{')
	member := func(name string, v value) {
		if list[len(list)-1] != '{' {
			list = append(list, ',')
		}
		list = v.appendTo(append(appendText(list, name), ':'))
	}
	if e.name != nil {
		member("name", value{kind: textValue, text: e.name})
	}
	if e.at > 0 && e.at <= math.MaxInt64 {
		member("time", value{
			kind: textValue, text: time.Unix(0, int64(e.at)).UTC().AppendFormat(nil, time.RFC3339Nano),
		})
	}
	if e.traceID != nil {
		member("traceId", value{kind: textValue, text: hex.AppendEncode(nil, e.traceID)})
	}
	if e.spanID != nil {
		member("spanId", value{kind: textValue, text: hex.AppendEncode(nil, e.spanID)})
	}
	if len(e.attributes) > 0 {
		member("attributes", value{kind: writtenValue, text: r.written.appendObject(nil, e.attributes)})
	}
	return append(list, '}')
}
