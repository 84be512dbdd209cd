package decode

import (
	"maps"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// FuzzEachMember: of every object that the decoder takes, the same members are
// found as the decoder finds.
func FuzzEachMember(f *testing.F) {
	for _, seed := range []string{
		`{}`, ` { } `, `{"a":1}`, `{"a" : -1.5e3 , "b":true,"c":null}`, `{"a":"x\"y\\","b":"\\\\\"","":""}`,
		`{"a":{"b":["]}",{"c":"{\""}]},"d":[[],{}] }`, `{"\u0061\"":"\u00e9","é":"\\"}`, "{\n\t\"a\"\r:\n[1 , 2]\t}",
		`[]`, `"{"`, `7`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var value raw
		if json.Unmarshal([]byte(text), &value) != nil {
			return
		}
		want := map[string]jsontext.Value{}
		if value.kind() == '{' {
			if err := json.Unmarshal([]byte(value), &want); err != nil {
				t.Fatal(err)
			}
		}
		got := map[string]jsontext.Value{}
		eachMember(value, func(name string, value raw) { got[name] = jsontext.Value(value) })
		same := func(a, b jsontext.Value) bool { return string(a) == string(b) }
		if !maps.EqualFunc(got, want, same) {
			t.Errorf("%s: found %s, want %s", text, got, want)
		}
	})
}
