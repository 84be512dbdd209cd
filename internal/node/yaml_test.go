package node_test

import (
	"strings"
	"testing"

	"writ/internal/node"
)

// asJSON is a tree as JSON, which tells text from numbers.
func asJSON(t *testing.T, n *node.Node) string {
	t.Helper()
	return string(node.Read(n, func(at node.Position, path, message string) {
		t.Errorf("%v %s: %s", at, path, message)
	}).JSON())
}

// accepted is YAML that every reader takes for the same thing.
var accepted = []struct{ name, text, want string }{
	{"map", "a: x\nb: 2\n", `{"a":"x","b":2}`},
	{"no line break at the end", "a: x", `{"a":"x"}`},
	{"empty", "", `null`},
	{"only a comment", "# x", `null`},
	{"mark before the document", "# c\n--- # d\na: 1\n", `{"a":1}`},
	{"byte order mark", "\uFEFFa: 1", `{"a":1}`},
	{"lines of Windows", "a: 1\r\nb: |\r\n  x\r\n  y\r\n", `{"a":1,"b":"x\ny\n"}`},
	{"nested maps", "a:\n  b:\n    c: 1\n  d: 2\n", `{"a":{"b":{"c":1},"d":2}}`},
	{"all set in", "  a: 1\n  b: 2", `{"a":1,"b":2}`},
	{"list", "- a\n- b\n", `["a","b"]`},
	{"list below its key", "a:\n- x\n- y\nb: 1", `{"a":["x","y"],"b":1}`},
	{"list set in", "a:\n  - x\n  - y\n", `{"a":["x","y"]}`},
	{"list of maps", "- a: 1\n  b: 2\n- a: 3", `[{"a":1,"b":2},{"a":3}]`},
	{"list of lists", "- - a\n  - b\n-\n  - c\n", `[["a","b"],["c"]]`},
	{"nothing", "a:\nb: ~\nc: null\nd:\n- \n", `{"a":null,"b":null,"c":null,"d":[null]}`},
	{"brackets", "a: {b: c, d: [1, 2.50, -3, ], \"e\":true}", `{"a":{"b":"c","d":[1,2.50,-3],"e":true}}`},
	{"brackets over lines", "a: [ # c\n b # d\n , c\n]\nd: {\n  e: 1,\n}\n", `{"a":["b","c"],"d":{"e":1}}`},
	{"JSON", `{"a":[1,{"b":"c"}],"d":null}`, `{"a":[1,{"b":"c"}],"d":null}`},
	{"comments", "a: x # c\n# d\n  # e\nb: y #f\n", `{"a":"x","b":"y"}`},
	{"hash within a word", "a: x#y", `{"a":"x#y"}`},
	{"comment below a key", "a: # c\n  # d\n  b: 1\n# e\n  c: 2", `{"a":{"b":1,"c":2}}`},
	{"colons within words", "a: http://x.y/z\nb: x:y\nc: ::x\n", `{"a":"http://x.y/z","b":"x:y","c":"::x"}`},
	{"conditions", "a: x == \"y\" && z > 3 || !w\n", `{"a":"x == \"y\" \u0026\u0026 z \u003e 3 || !w"}`},
	{"space before the colon", "a : b", `{"a":"b"}`},
	{"dash before a word", "a: -x\n-b: 1\n", `{"a":"-x","-b":1}`},
	{"single quotes", "a: 'it''s: # \\n'", `{"a":"it's: # \\n"}`},
	{"double quotes", `a: "\x41\u00e9\U0001F600\t\n\"\\\/"`, `{"a":"Aé😀\t\n\"\\/"}`},
	{"quotes over lines", "a: \"x  \n\n  y \\\n  z\"\nb: 'x\n  y'", `{"a":"x\ny z","b":"x y"}`},
	{"plain text over lines", "a: x\n  y\n\n  z\nb:\n  v\n  w\n", `{"a":"x y\nz","b":"v w"}`},
	{"block", "a: |\n  x\n   y\n\n  # z\nb: 1", `{"a":"x\n y\n\n# z\n","b":1}`},
	{"block without its last break", "a: |-\n  x\n\n\n", `{"a":"x"}`},
	{"block with all breaks", "a: |+\n  x\n\n", `{"a":"x\n\n"}`},
	{"block in a list", "- |\n  x\n- >-\n  y\n  z\n", `["x\n","y z"]`},
	{"folded block", "a: >\n  x\n  y\n\n  z\n    w\n  v\n", `{"a":"x y\nz\n  w\nv\n"}`},
	{"empty block", "a: |\n\nb: 1", `{"a":"","b":1}`},
	{"true and false", "[true, True, FALSE, tRUE, yes, no, on]", `[true,true,false,"tRUE","yes","no","on"]`},
	{"what looks like other things", "[12:30, 2020-01-01, 10.0.0.1, 1.2.3, e5, 0y, _, nulL]",
		`["12:30","2020-01-01","10.0.0.1","1.2.3","e5","0y","_","nulL"]`},
	{"numbers are kept as written", "[9223372036854775808, 1.10, 0, -0]", `[9223372036854775808,1.10,0,-0]`},
}

func TestYAMLIsRead(t *testing.T) {
	t.Parallel()
	for _, c := range accepted {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root, problems := node.ReadYAML([]byte(c.text))
			if problems != nil {
				t.Fatalf("problems = %v", problems)
			}
			if got := asJSON(t, root); got != c.want {
				t.Errorf("%q\n got %s\nwant %s", c.text, got, c.want)
			}
		})
	}
}

// refused is YAML that we do not take: where the problem is, and a part of what
// is said of it.
var refused = []struct{ name, text, at, message string }{
	{"anchor", "a: &x 1", "1:4", "anchors"},
	{"alias", "a: [x.*, *]", "1:10", "put text that begins with * in quotes"},
	{"tag", "a: !x.contains('y')", "1:4", "put text that begins with ! in quotes"},
	{"tag of YAML", "a: !!str 1", "1:4", "tags"},
	{"merge key", "<<: {a: 1}", "1:1", "merge keys"},
	{"merge key in braces", "a: {<<: {a: 1}}", "1:5", "merge keys"},
	{"directive", "%YAML 1.2\n---\na: 1", "2:1", "one document"},
	{"directive alone", "%x: 1", "1:1", "directives"},
	{"key after a question mark", "? a\n: b", "1:1", "keys after ?"},
	{"two documents", "a: 1\n---\nb: 1", "2:1", "one document"},
	{"end of the document", "a: 1\n...", "2:1", "one document"},
	{"text after the document's mark", "--- a: 1", "1:5", "line of its own"},
	{"key twice", "k: v\nk: w", "2:1", `"k" is given twice`},
	{"key twice, once in quotes", "a: {\"k\": 1, k: 2}", "1:13", "given twice"},
	{"number as key", "1: x", "1:1", "a key must be text"},
	{"boolean as key", "a: {true: x}", "1:5", "a key must be text"},
	{"list as key", "[a]: b", "1:4", "line of its own"},
	{"tab before a key", "\tname: x", "1:1", "spaces instead of tabs"},
	{"tab within text", "a: x\ty", "1:5", "spaces instead of tabs"},
	{"NUL", "a: \x00", "1:4", "U+0000"},
	{"escape character", "a: \x1b[2J", "1:4", "U+001B"},
	{"line separator", "a: \"\u2028\"", "1:5", "U+2028"},
	{"text turned around", "é: \u202ex", "1:4", "U+202E"},
	{"carriage return alone", "a: 1\rb: 2", "1:5", "U+000D"},
	{"bad UTF-8", "a: \xff", "1:4", "UTF-8"},
	{"octal", "a: 010", "1:4", "decimal number"},
	{"hexadecimal", "a: 0x1F", "1:4", "decimal number"},
	{"underscore", "a: 1_000", "1:4", "decimal number"},
	{"plus", "a: +1", "1:4", "decimal number"},
	{"exponent", "a: 1e5", "1:4", "decimal number"},
	{"infinity", "a: -.INF", "1:4", "decimal number"},
	{"colon and space in plain text", "a: b\nw: x ? y : z", "2:4", "in quotes, or after |"},
	{"key within a value", "a: b: c", "1:4", "in quotes, or after |"},
	{"key within the next line", "a: b\n c: d", "2:2", "must be indented like what it belongs to"},
	{"key in a line further on", "a: b\n  c\n  d: e", "3:3", "must be indented like what it belongs to"},
	{"text behind quotes", "a: 'x' in y", "1:8", "the value before it has ended"},
	{"comment without space", `a: "x"#c`, "1:7", "the value before it has ended"},
	{"no space after the colon", "a: {b:1}", "1:8", `after the key "b:1"`},
	{"bracket after a colon", "a: {b:[1]}", "1:6", "must have a space after it"},
	{"member without value", "a: {b}", "1:6", `after the key "b"`},
	{"pair in a list", "a: [b: 1]", "1:6", "within { }"},
	{"empty item", "a: [b,,c]", "1:7", "begins with ','"},
	{"list not closed", "a: [b", "1:4", "must end with ']'"},
	{"map not closed", "a: {b: 1", "1:4", "must end with '}'"},
	{"quote not closed", "a: 'x", "1:4", "must end with"},
	{"unknown escape", `a: "\q"`, "1:5", "must be an escape"},
	{"broken escape", `a: "\x0X"`, "1:5", "hexadecimal"},
	{"half a character", `a: "\ud83d"`, "1:5", "hexadecimal"},
	{"escape over the end", `a: "\U00`, "1:4", "must end with"},
	{"closing bracket", "a: }", "1:4", "in quotes"},
	{"reserved mark", "a: @x", "1:4", "in quotes"},
	{"text on the bar's line", "a: > 3", "1:5", "| or > alone"},
	{"indentation after the bar", "a: |2\n   x", "1:5", "| or > alone"},
	{"list on the key's line", "a: - x", "1:4", "a list must begin on a line of its own"},
	{"item further in", "a:\n - x\n  - y", "3:3", "like the other items"},
	{"item further out", "a:\n  - x\n - y", "3:2", "indented"},
	{"key further in", "a: 'b'\n  c: d", "2:3", "indented"},
	{"key further out", "  a: 1\n b: 2", "2:2", "indented"},
	{"word after a map", "a: b\nc", "2:1", "must be a key"},
	{"key after a list", "- a\nb: 1", "2:1", "indented"},
	{"text after a comment", "a: x\n# c\n  y", "3:3", "indented"},
	{"empty line further in than the block", "a: |\n    \n  x", "3:1", "empty lines above"},
	{"quoted text not further in", "a: 'x\ny'", "2:1", "indented more"},
}

func TestYAMLIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range refused {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root, problems := node.ReadYAML([]byte(c.text))
			if len(problems) == 0 {
				t.Fatalf("%q was read as %s", c.text, asJSON(t, root))
			}
			if got := problems[0]; got.Position.String() != c.at || !strings.Contains(got.Message, c.message) {
				t.Errorf("%q: %v %q, want %s %q", c.text, got.Position, got.Message, c.at, c.message)
			}
		})
	}
}

// Whoever reports a problem within a condition must point into the right line.
func TestPlacesOfValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       node.Node
	}{
		{"plain", "é: x", node.Node{At: node.Position{Line: 1, Column: 4}}},
		{"block", "é: |\n\n   x\n    y\n", node.Node{At: node.Position{Line: 3, Column: 4}, Indent: 3}},
		{"folded block", "é: >-\n   x\n", node.Node{At: node.Position{Line: 2, Column: 4}}},
		{"below", "é:\n  x", node.Node{At: node.Position{Line: 2, Column: 3}}},
	} {
		root, problems := node.ReadYAML([]byte(c.text))
		if problems != nil {
			t.Fatalf("%s: %v", c.name, problems)
		}
		if got := root.Members[0].Value; got.At != c.want.At || got.Indent != c.want.Indent {
			t.Errorf("%s: at %v set in by %d, want %v and %d", c.name, got.At, got.Indent, c.want.At, c.want.Indent)
		}
	}
}

func TestProblemsAreToldTogether(t *testing.T) {
	t.Parallel()
	_, problems := node.ReadYAML([]byte("a: 010\na: 1\nb: 0x1\n"))
	if len(problems) != 3 {
		t.Errorf("problems = %v, want three", problems)
	}
	_, problems = node.ReadYAML([]byte(strings.Repeat("- 010\n", 500)))
	if len(problems) != 100 {
		t.Errorf("%d problems are told, want 100", len(problems))
	}
}
