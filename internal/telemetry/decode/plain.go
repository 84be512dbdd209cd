package decode

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
)

// Nearly every batch is plain: its characters are valid, no name is in an object twice, and the texts we read have no
// escapes. Such a batch is read here in one pass, and its texts are parts of one copy. That takes less than half the
// time of the decoder, which was a quarter of ingest.
//
// Anything else is odd, and is left to the decoder, which alone rejects and says why. So this reader must never accept
// what the decoder would reject, or read it differently; a fuzz test checks that.
const (
	plainMembers = 32 // of an object; comparing each with all takes long beyond that
	plainDepth   = 20 // of nested values
)

// plainReader reads a text that is known to be JSON.
type plainReader struct {
	text string
	at   int  // what is read next
	odd  bool // then nothing that was read counts
}

// readPlain reads a batch of ParseRequest, if it is plain.
func readPlain(batch []byte) (w wireBatch, ok bool) {
	r := &plainReader{text: string(batch)}
	if r.text[0] != '{' || !utf8.ValidString(r.text) || mayHaveSurrogate(r.text) {
		return wireBatch{}, false
	}
	r.members(func(name string) {
		switch name {
		case "trace":
			r.trace(&w.trace)
		case "spans":
			w.spans = r.spans()
		default:
			r.skip(0)
		}
	})
	isComplete := w.trace.ID != "" // else there may be no trace at all
	return w, isComplete && !r.odd && len(w.spans) <= MaxSpans
}

// mayHaveSurrogate reports whether a \u escape may be half of a surrogate pair: without its other half it is not
// valid.
func mayHaveSurrogate(text string) bool {
	for {
		_, after, found := strings.Cut(text, `\u`)
		if !found {
			return false
		}
		if after[0] == 'd' || after[0] == 'D' {
			return true
		}
		text = after
	}
}

func (r *plainReader) trace(t *wireTrace) {
	if r.text[r.at] != '{' {
		r.odd = true
		return
	}
	r.members(func(name string) {
		switch name {
		case "userId":
			t.UserID = r.value()
		case "agentId":
			t.AgentID = r.string()
		case "tags":
			if json.UnmarshalRead(strings.NewReader(string(r.value())), &t.Tags) != nil {
				r.odd = true
			}
		default:
			r.common(name, &t.wireCommon)
		}
	})
}

func (r *plainReader) spans() []wireSpan {
	if r.text[r.at] != '[' {
		r.odd = true
		return nil
	}
	const least = 500 // bytes of most spans
	spans := make([]wireSpan, 0, min(len(r.text)/least+1, MaxSpans))
	r.elements(func() {
		if r.odd = r.odd || len(spans) == MaxSpans; r.odd {
			return // the decoder refuses so many
		}
		spans = append(spans, wireSpan{})
		r.span(&spans[len(spans)-1])
	})
	return spans
}

func (r *plainReader) span(s *wireSpan) {
	if r.text[r.at] != '{' {
		r.odd = true
		return
	}
	r.members(func(name string) {
		switch name {
		case "parentSpanId":
			s.ParentID = r.value()
		case "kind":
			s.Kind = r.string()
		default:
			r.common(name, &s.wireCommon)
		}
	})
}

func (r *plainReader) common(name string, c *wireCommon) {
	switch name {
	case "id":
		c.ID = r.string()
	case "sessionId":
		c.SessionID = r.value()
	case "name":
		c.Name = r.string()
	case "startTime":
		c.StartTime = r.string()
	case "endTime":
		c.EndTime = r.value()
	case "durationMs":
		c.DurationMs = r.value()
	case "status":
		c.Status = r.string()
	case "attributes":
		c.Attributes = r.value()
	default:
		r.skip(0)
	}
}

// members calls read at the value of each member; read must move past it.
func (r *plainReader) members(read func(name string)) {
	var seen [plainMembers]string
	n := 0
	r.at = skipSpace(r.text, r.at+1)
	for !r.odd && r.text[r.at] == '"' {
		name := r.string()
		if n == len(seen) || slices.Contains(seen[:n], name) {
			r.odd = true
			return
		}
		seen[n] = name
		n++
		r.at = skipSpace(r.text, skipSpace(r.text, r.at)+1) // over the colon
		read(name)
		r.next()
	}
	r.at++
}

// elements calls read at each element of an array; read must move past it.
func (r *plainReader) elements(read func()) {
	r.at = skipSpace(r.text, r.at+1)
	for !r.odd && r.text[r.at] != ']' {
		read()
		r.next()
	}
	r.at++
}

// next moves past the comma, if there is one.
func (r *plainReader) next() {
	if r.odd {
		return
	}
	if r.at = skipSpace(r.text, r.at); r.text[r.at] == ',' {
		r.at = skipSpace(r.text, r.at+1)
	}
}

// string reads a text without escapes. Null is an empty text.
func (r *plainReader) string() string {
	switch r.text[r.at] {
	case '"':
		begin := r.at + 1
		end := begin + strings.IndexByte(r.text[begin:], '"')
		r.at = end + 1
		if text := r.text[begin:end]; strings.IndexByte(text, '\\') < 0 {
			return text
		}
	case 'n':
		r.at += len("null")
		return ""
	}
	r.odd = true
	return ""
}

// value returns any value as it is.
func (r *plainReader) value() raw {
	begin := r.at
	if r.skip(0); r.odd {
		return ""
	}
	return raw(r.text[begin:r.at])
}

// skip moves past a value, and checks whether anything in it is odd.
func (r *plainReader) skip(depth int) {
	switch r.text[r.at] {
	case '{', '[':
		switch {
		case depth == plainDepth:
			r.odd = true
		case r.text[r.at] == '{':
			r.members(func(string) { r.skip(depth + 1) })
		default:
			r.elements(func() { r.skip(depth + 1) })
		}
	default:
		r.at = skipValue(r.text, r.at)
	}
}
