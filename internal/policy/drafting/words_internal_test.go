package drafting

import (
	"strings"
	"testing"

	"writ/internal/policy/document"
	"writ/internal/verdict"
)

// TestObligationsInWords: what is not demanded is not said, least of all a size of 0.
func TestObligationsInWords(t *testing.T) {
	t.Parallel()
	for want, oblige := range map[string]document.Obligations{
		`, labels ["money"].`:                            {Labels: []string{"money"}},
		`, redact ["ssn"].`:                              {Redact: []string{"ssn"}},
		`, at most 9 bytes.`:                             {MaxBytes: 9},
		`, redact ["a"], labels ["b"], at most 1 bytes.`: {Redact: []string{"a"}, Labels: []string{"b"}, MaxBytes: 1},
	} {
		rule := document.Rule{ID: "r", Effect: verdict.Hold, Tools: []document.Pattern{"a.b"}, Oblige: &oblige}
		said := Explain(&document.Document{Rules: []document.Rule{rule}})
		if got := said[len(said)-1]; !strings.HasSuffix(got, "r: hold for a.b"+want) {
			t.Errorf("%q, want ...%q", got, want)
		}
	}
}
