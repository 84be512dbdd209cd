package api

import (
	"bufio"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// writeJSON writes the body as the encoder would, but for attributes, which are
// written as they are stored instead of being read through again: with hundreds of
// spans that is most of what the encoder does.
func (b *TraceDetailBody) writeJSON(w *bufio.Writer) error {
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
		if text, err = b.Spans[i].appendJSON(text); err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	_, err = w.WriteString(end)
	return err
}

func (s *SpanBody) appendJSON(text []byte) (_ []byte, err error) {
	separator := "{"
	for _, member := range []struct {
		name  string
		value *string
	}{
		{"id", &s.ID}, {"parentSpanId", s.ParentSpanID}, {"sessionId", s.SessionID}, {"kind", &s.Kind}, {"name", &s.Name}, {"status", &s.Status},
	} {
		text = append(text, separator...)
		text = append(append(append(text, '"'), member.name...), `":`...)
		if text, err = appendText(text, member.value); err != nil {
			return nil, err
		}
		separator = ","
	}
	text = appendTime(append(text, `,"startTime":`...), &s.StartTime)
	text = appendTime(append(text, `,"endTime":`...), s.EndTime)
	text = appendNumber(append(text, `,"durationMs":`...), s.DurationMs)
	text = append(append(text, `,"attributes":`...), s.Attributes...)
	return append(text, '}'), nil
}

func appendText(text []byte, value *string) ([]byte, error) {
	if value == nil {
		return append(text, "null"...), nil
	}
	return jsontext.AppendQuote(text, *value)
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
