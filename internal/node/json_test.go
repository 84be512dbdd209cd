package node_test

import (
	"strings"
	"testing"

	"writ/internal/node"
)

func TestJSONIsRead(t *testing.T) {
	t.Parallel()
	root, problems := node.ReadJSON([]byte("\uFEFF{\r\n  \"é\": [1.50, true, null],\n \"b\" : {\"c\": \"\\u00e9\\ud83d\\ude00\"}}\n"))
	if problems != nil {
		t.Fatal(problems)
	}
	if got, want := asJSON(t, root), `{"é":[1.50,true,null],"b":{"c":"é😀"}}`; got != want {
		t.Errorf("read %s, want %s", got, want)
	}
	places := []node.Position{
		root.At, root.Members[0].At, root.Members[0].Value.Items[1].At, root.Members[1].Value.Members[0].Value.At,
	}
	want := []node.Position{{Line: 1, Column: 1}, {Line: 2, Column: 3}, {Line: 2, Column: 15}, {Line: 3, Column: 14}}
	for i := range places {
		if places[i] != want[i] {
			t.Errorf("place %d is %v, want %v", i, places[i], want[i])
		}
	}
}

func TestJSONIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, at, message string }{
		{"empty", "", "1:1", "ends too early"},
		{"half", `{"a":`, "1:6", "ends too early"},
		{"a name twice", "{\"a\":1,\n \"\\u0061\":2}", "2:2", `"a" is given twice`},
		{"two values", "{} {}", "1:4", "a second"},
		{"YAML", "a: 1", "1:1", "must be JSON"},
		{"a comma too many", `{"a":1,}`, "1:7", "must be JSON"},
		{"a comment", "{} // x", "1:4", "must be JSON"},
		{"bad UTF-8", "{\"a\":\"\xff\"}", "1:7", "UTF-8"},
		{"half a character", `{"a":"\ud83d"}`, "1:7", "must be JSON"},
		{"not a number", `{"a":NaN}`, "1:6", "must be JSON"},
		{"leading zero", `{"a":010}`, "1:7", "must be JSON"},
		{"hidden", "{\"a\":\"\u202e\"}", "1:7", "U+202E"},
		{"long name", `{"` + strings.Repeat("k", 257) + `":1}`, "1:2", "at most 256 bytes"},
	} {
		root, problems := node.ReadJSON([]byte(c.text))
		if len(problems) != 1 {
			t.Errorf("%s: read %v with %v, want one problem", c.name, root, problems)
			continue
		}
		if got := problems[0]; got.Position.String() != c.at || !strings.Contains(got.Message, c.message) {
			t.Errorf("%s: %v %q, want %s %q", c.name, got.Position, got.Message, c.at, c.message)
		}
	}
}

// FuzzRead checks that what is read is the same whichever way it came: our own
// JSON of it is read as the same again, and a text that is both YAML and JSON has
// one meaning.
func FuzzRead(f *testing.F) {
	for _, c := range accepted {
		f.Add([]byte(c.text))
		f.Add([]byte(c.want))
	}
	for _, c := range refused {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<16 {
			return
		}
		yaml, yamlProblems := node.ReadYAML(text)
		json, jsonProblems := node.ReadJSON(text)
		if (yaml == nil) == (yamlProblems == nil) || (json == nil) == (jsonProblems == nil) {
			t.Fatal("neither read nor refused")
		}
		if yaml == nil {
			return
		}
		written := asJSON(t, yaml)
		again, problems := node.ReadJSON([]byte(written))
		if problems == nil && asJSON(t, again) != written {
			t.Errorf("%s is read as %s", written, asJSON(t, again))
		}
		if json != nil && asJSON(t, json) != written {
			t.Errorf("as YAML %s, as JSON %s", written, asJSON(t, json))
		}
	})
}
