package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"
)

// WriteJSON writes machine output: a value in JSON, on a line of its own. Characters
// that could steer a terminal are escaped, for it is often one that shows it, and
// what agents and servers call things is theirs to choose.
func WriteJSON(out io.Writer, value any) error { return writeJSON(out, value, "") }

// WriteIndentedJSON is WriteJSON over several lines, for who reads it as well.
func WriteIndentedJSON(out io.Writer, value any) error { return writeJSON(out, value, "  ") }

func writeJSON(out io.Writer, value any, indent string) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("encode a result: %w", err)
	}
	_, err := out.Write(escapeSteering(text.Bytes()))
	return err
}

// escapeSteering escapes what the encoder leaves. Such characters stand in strings
// only, where an escape means the same; all of them have one code unit.
func escapeSteering(text []byte) []byte {
	escaped := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r != '\n' && steers(r) {
			escaped = fmt.Appendf(escaped, `\u%04x`, r)
		} else {
			escaped = append(escaped, text[:size]...)
		}
		text = text[size:]
	}
	return escaped
}
