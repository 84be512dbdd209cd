package traces

import (
	"bufio"
	"cmp"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// WriteJSON writes the body as the encoder would, except for attributes, which are written as they are stored: reading
// them through again is most of what the encoder does with hundreds of spans.
func (b *TraceDetailBody) WriteJSON(w *bufio.Writer) error {
	if b == nil {
		_, err := w.WriteString("null")
		return err
	}
	if err := beginList(w, b); err != nil {
		return err
	}
	for i := range b.stored {
		span := spanBody(&b.stored[i])
		if err := span.write(w, i == 0); err != nil {
			return err
		}
	}
	for i := range b.outlined {
		span := outlinedBody(&b.outlined[i])
		if err := span.write(w, i == 0); err != nil {
			return err
		}
	}
	return endList(w)
}

const listEnd = "]}"

// beginList writes a body up to the end of its last member, which is an empty list.
func beginList(w *bufio.Writer, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	_, err = w.Write(text[:len(text)-len(listEnd)])
	return err
}

// endList writes the end of the list and of its body.
func endList(w *bufio.Writer) error {
	_, err := w.WriteString(listEnd)
	return err
}

// write writes the span as an item of a list. Ids and the status need no escaping: ids are hexadecimal, and a status is
// one of few words.
func (s *SpanBody) write(w *bufio.Writer, isFirst bool) error {
	text := w.AvailableBuffer()
	if !isFirst {
		text = append(text, ',')
	}
	text = appendPlain(append(text, `{"id":`...), &s.ID)
	text = appendPlain(append(text, `,"parentSpanId":`...), s.ParentSpanID)
	text = appendPlain(append(text, `,"sessionId":`...), s.SessionID)
	text, kindErr := jsontext.AppendQuote(append(text, `,"kind":`...), s.Kind)
	text, nameErr := jsontext.AppendQuote(append(text, `,"name":`...), s.Name)
	if err := cmp.Or(kindErr, nameErr); err != nil {
		return err
	}
	text = appendTime(append(text, `,"startTime":`...), &s.StartTime)
	text = appendTime(append(text, `,"endTime":`...), s.EndTime)
	text = appendNumber(append(text, `,"durationMs":`...), s.DurationMs)
	text = appendPlain(append(text, `,"status":`...), &s.Status)
	text = appendDecimal(append(text, `,"costUsd":`...), s.CostUSD)
	text = append(append(text, `,"attributes":`...), s.Attributes...)
	if s.Facts != nil {
		facts, err := json.Marshal(s.Facts)
		if err != nil {
			return err
		}
		text = append(append(text, `,"facts":`...), facts...)
	}
	_, err := w.Write(append(text, '}'))
	return err
}

// appendPlain adds a text that needs no escaping.
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

// appendDecimal writes a number in the shortest form that is read as the same.
func appendDecimal(text []byte, value *float64) []byte {
	if value == nil {
		return append(text, "null"...)
	}
	return strconv.AppendFloat(text, *value, 'g', -1, 64)
}

func appendNumber(text []byte, value *int64) []byte {
	if value == nil {
		return append(text, "null"...)
	}
	return strconv.AppendInt(text, *value, 10)
}
