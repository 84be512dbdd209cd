package api

import (
	"bufio"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// WriteJSON writes the body as the encoder would, but for attributes, which are
// written as they are stored instead of being read through again: with hundreds of
// spans that is most of what the encoder does.
func (b *TraceDetailBody) WriteJSON(w *bufio.Writer) error {
	if b == nil {
		_, err := w.WriteString("null")
		return err
	}
	trace := *b
	trace.Spans = nil
	head, err := json.Marshal(&trace)
	if err != nil {
		return err
	}
	const end = "]}" // of the spans, which are the last member, and of the trace
	if _, err := w.Write(head[:len(head)-len(end)]); err != nil {
		return err
	}
	for i := range b.Spans {
		text := w.AvailableBuffer()
		if i > 0 {
			text = append(text, ',')
		}
		span := spanBody(&b.Spans[i])
		if text, err = span.appendJSON(text); err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	_, err = w.WriteString(end)
	return err
}

// appendJSON adds the span. Ids and status are written as they are: the one kind is
// of hexadecimal digits, the other of few words.
func (s *SpanBody) appendJSON(text []byte) (_ []byte, err error) {
	text = appendPlain(append(text, `{"id":`...), &s.ID)
	text = appendPlain(append(text, `,"parentSpanId":`...), s.ParentSpanID)
	text = appendPlain(append(text, `,"sessionId":`...), s.SessionID)
	if text, err = jsontext.AppendQuote(append(text, `,"kind":`...), s.Kind); err != nil {
		return nil, err
	}
	if text, err = jsontext.AppendQuote(append(text, `,"name":`...), s.Name); err != nil {
		return nil, err
	}
	text = appendTime(append(text, `,"startTime":`...), &s.StartTime)
	text = appendTime(append(text, `,"endTime":`...), s.EndTime)
	text = appendNumber(append(text, `,"durationMs":`...), s.DurationMs)
	text = appendPlain(append(text, `,"status":`...), &s.Status)
	text = append(append(text, `,"attributes":`...), s.Attributes...)
	return append(text, '}'), nil
}

// appendPlain adds a text in which nothing is to be escaped.
func appendPlain(text []byte, value *string) []byte {
	if value == nil {
		return append(text, "null"...)
	}
	return append(append(append(text, '"'), *value...), '"')
}

func appendTime(text []byte, value *time.Time) []byte {
	if value == nil {
		return append(text, "null"...)
	}
	text = value.AppendFormat(append(text, '"'), time.RFC3339Nano)
	return append(text, '"')
}

func appendNumber(text []byte, value *int64) []byte {
	if value == nil {
		return append(text, "null"...)
	}
	return strconv.AppendInt(text, *value, 10)
}
