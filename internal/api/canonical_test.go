package api

import "github.com/go-json-experiment/json/jsontext"

// canonicalOf is a text in the form in which equal ones are equal.
func canonicalOf(t interface{ Fatalf(string, ...any) }, text jsontext.Value) string {
	if err := text.Canonicalize(); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return string(text)
}
