package cli_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"writ/internal/cli"
)

// What agents choose cannot steer the terminal that shows it, and is what it was
// for the program that reads it.
func TestJSONSteersNoTerminal(t *testing.T) {
	t.Parallel()
	name := "a\u009b31m\u0085\x1b]0;x\x07\x7f\u202eb\u2066<&>é\u2028\n\"\\"
	for what, write := range map[string]func(*bytes.Buffer) error{
		"a line":   func(b *bytes.Buffer) error { return cli.WriteJSON(b, map[string]string{name: name}) },
		"indented": func(b *bytes.Buffer) error { return cli.WriteIndentedJSON(b, map[string]string{name: name}) },
	} {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Fatal(err)
		}
		for _, r := range strings.ReplaceAll(out.String(), "\n", "") {
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
				t.Errorf("%s: %q holds %U", what, out.String(), r)
			}
		}
		var back map[string]string
		if err := json.Unmarshal(out.Bytes(), &back); err != nil || back[name] != name {
			t.Errorf("%s: %q is read as %q, %v", what, out.String(), back, err)
		}
		if !strings.HasSuffix(out.String(), "}\n") || !strings.Contains(out.String(), "<&>é") {
			t.Errorf("%s: %q", what, out.String())
		}
	}
}
