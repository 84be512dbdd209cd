package node_test

import (
	"strings"
	"testing"

	"writ/internal/node"
)

// A long text must be read in a time that grows with its length, on a
// stack that does not. Were it otherwise, this test would not end.
func TestHostileTextEnds(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{
		"[", "{", "{a: ", "[a: ", "- ", "-\n", "- a: ", "- a:\n", "a:\n", "a:\n b:\n", "a,", "a: ,", "? ", "&a ", "!a ",
		"*a ",
		"a: ", ":", ": ", ",", "]", "}", "\"", "'", "''", "\\", "|\n", "- |\n", "- >\n\n\n a\n", "#\n", "- a\n#\n", " ",
		"\n",
		"a\n b\n", "x\n  ", "%a\n", "---\n", "...\n", "'a': 1\n", "\"a\":1,", "a:\n  b:\n    c: 1\n  d:\n", "é", "a#",
		"a: 1\n ",
	} {
		for _, before := range []string{"", "[", "{", "a: ", "a: \"", "a: '", "a: |\n  ", "- ", "a:\n  "} {
			text := before + strings.Repeat(piece, (1<<16)/len(piece))
			if root, problems := node.ReadYAML([]byte(text)); (root == nil) == (problems == nil) {
				t.Errorf("%q repeated after %q: neither read nor refused", piece, before)
			}
			if root, problems := node.ReadJSON([]byte(text)); (root == nil) == (problems == nil) {
				t.Errorf("JSON %q repeated after %q: neither read nor refused", piece, before)
			}
		}
	}
}

// What the reader knows of places must not make it go over a long line again for
// each member in it. It took minutes.
func TestALongLineOfJSONIsReadOnce(t *testing.T) {
	t.Parallel()
	text := "[" + strings.Repeat(`{"a":1},`, 1<<17-2) + `{"a":1}]`
	root, problems := node.ReadJSON([]byte(text))
	if root == nil || len(root.Items) != 1<<17-1 {
		t.Errorf("it was not read: %v", problems)
	}
}

func TestNestingIsBounded(t *testing.T) {
	t.Parallel()
	stairs := func(step string, steps int) string {
		var b strings.Builder
		for i := range steps {
			b.WriteString(strings.Repeat(" ", i) + step + "\n")
		}
		return b.String()
	}
	for _, c := range []struct{ name, text, deeper string }{
		{
			"brackets", strings.Repeat("[", 65) + strings.Repeat("]", 65),
			strings.Repeat("[", 66) + strings.Repeat("]", 66),
		},
		{"dashes", strings.Repeat("- ", 64), strings.Repeat("- ", 70)},
		{"keys", stairs("a:", 64), stairs("a:", 70)},
		{"dashes on lines of their own", stairs("-", 64), stairs("-", 70)},
	} {
		if _, problems := node.ReadYAML([]byte(c.text)); problems != nil {
			t.Errorf("%s: %v, want them read", c.name, problems)
		}
		_, problems := node.ReadYAML([]byte(c.deeper))
		if len(problems) == 0 || !strings.Contains(problems[0].Message, "deeper than 64") {
			t.Errorf("%s, deeper: %v, want a refusal", c.name, problems)
		}
	}
	_, problems := node.ReadJSON([]byte(strings.Repeat("[", 70) + strings.Repeat("]", 70)))
	if len(problems) == 0 || !strings.Contains(problems[0].Message, "deeper than 64") {
		t.Errorf("JSON: %v, want a refusal", problems)
	}
}

func TestMapsAreBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 1_001 {
		b.WriteString(strings.Repeat("k", i%200+1) + string(rune('a'+i/200)) + ": 1\n")
	}
	_, problems := node.ReadYAML([]byte(b.String()))
	if len(problems) != 1 || !strings.Contains(problems[0].Message, "at most 1000 keys") {
		t.Errorf("problems = %v", problems)
	}
	_, problems = node.ReadYAML([]byte(strings.Repeat("k", 257) + ": 1"))
	if len(problems) != 1 || !strings.Contains(problems[0].Message, "at most 256 bytes") {
		t.Errorf("problems = %v", problems)
	}
}
