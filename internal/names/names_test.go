package names_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"writ/internal/names"
)

func TestValid(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"":                       true,
		"files.read":             true,
		"Größe":                  true,
		"👩\u200d💻":               true, // joined, not hidden
		"a b":                    true,
		"pay\u202eyap":           false, // turned
		"ba\u2060nk":             false, // not to be seen
		"a\nb":                   false,
		"a\u2028b":               false,
		"a\x7f":                  false,
		"a\x00":                  false,
		"\xff":                   false,
		strings.Repeat("x", 200): true,
		strings.Repeat("x", 201): false,
	} {
		if got := names.Valid(text); got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	}
}

// TestClean makes a valid name of anything, and leaves one that is.
func TestClean(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		text := string(rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(rt, "bytes")) + rapid.String().Draw(rt, "text")
		clean := names.Clean(text)
		if !names.Valid(clean) || names.Valid(text) && clean != text {
			rt.Fatalf("%q became %q", text, clean)
		}
		if cut := names.Cut(text, 10); len(cut) > 10 && cut != text || len(text) > 10 && !utf8.ValidString(cut) {
			rt.Fatalf("%q was cut to %q", text, cut)
		}
	})
}
