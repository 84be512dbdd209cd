package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"
	"writ/internal/cli/printable"
)

// WriteJSON writes machine output: a value in JSON, on a line of its own. Characters
// that could steer a terminal are escaped: agents choose names, and terminals show them.
func WriteJSON(out io.Writer, value any) error { return writeJSON(out, value, "") }

// WriteIndentedJSON is WriteJSON over several lines, for people as well.
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

// escapeSteering escapes what the encoder leaves. Such characters occur only in
// strings, where an escape means the same; each is one code unit.
func escapeSteering(text []byte) []byte {
	escaped := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r != '\n' && printable.Steers(r) {
			escaped = fmt.Appendf(escaped, `\u%04x`, r)
		} else {
			escaped = append(escaped, text[:size]...)
		}
		text = text[size:]
	}
	return escaped
}
