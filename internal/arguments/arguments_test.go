package arguments_test

import (
	"strings"
	"testing"

	"writ/internal/arguments"
	"writ/internal/toolcall"
)

func TestRead(t *testing.T) {
	t.Parallel()
	secret := "sk_live_" + strings.Repeat("4eC39HqLyjWD", 2)
	for name, c := range map[string]struct {
		raw, canonical, shown string
		incomplete            bool
	}{
		"none":     {"", "{}", "{}", false},
		"null":     {" null ", "{}", "{}", false},
		"plain":    {` {"b": 1.0, "a": "x"} `, `{"a":"x","b":1}`, `{"a":"x","b":1}`, false},
		"a secret": {`{"a":"` + secret + `"}`, `{"a":"` + secret + `"}`, `{"a":"[redacted]"}`, true},
		"long": {
			`{"a":"` + strings.Repeat("word ", 20_000) + `"}`, `{"a":"` + strings.Repeat("word ", 20_000) + `"}`, "",
			true,
		},
	} {
		got, err := arguments.Read([]byte(c.raw))
		if err != nil || got.Canonical.Text() != c.canonical || got.Incomplete != c.incomplete ||
			c.shown != string(got.Shown) {
			t.Errorf("%s: %s, shown %s, incomplete %t, %v", name, got.Canonical.Text(), got.Shown, got.Incomplete, err)
		}
	}
	for name, raw := range map[string]string{
		"a list": `[1]`, "a name twice": `{"a":1,"a":2}`, "two values": `{} {}`, "a lone surrogate": `{"a":"\ud800"}`,
		"too long": `{"a":"` + strings.Repeat("x", toolcall.MaxArguments) + `"}`,
	} {
		if got, err := arguments.Read([]byte(raw)); err == nil {
			t.Errorf("%s is read as %v", name, got.Decoded)
		}
	}
}
