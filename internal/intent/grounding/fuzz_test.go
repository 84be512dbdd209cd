package grounding

import (
	"testing"
	"unicode/utf8"
)

func FuzzOutput(f *testing.F) {
	for _, seed := range []string{
		"", noise, `{"a":[1,{"b":"c d e f g"}]}`, "- a: 1\n  b: x\n", `"{\"a\": \"b\"}"`, "\xff\xfe", "请 发送 www.x",
		"a: &x 1\nb: *x",
		"Pay to: DE89370400440532013000", "https://http://x//", "@@.@", "1.2.3.4:99999",
	} {
		f.Add(seed, seed, seed)
	}
	f.Fuzz(func(t *testing.T, prompt, output, value string) {
		read := Call{Tool: "r", Class: Read, Arguments: map[string]any{"q": value}}
		outputs := []*Output{NewOutput(Call{Tool: "n", Class: Read}, noise), NewOutput(read, output)}
		call := Call{Tool: "w", Class: Write, Arguments: map[string]any{"to": value, "body": output, "url": value}}
		known := NewKnown([]string{prompt}, outputs, false)
		first := Judge(known, Plan{Declared: true, Planned: true}, call, Options{})
		if second := Judge(known, Plan{Declared: true, Planned: true}, call,
			Options{}); inWords(first) != inWords(second) {
			t.Errorf("first %s, then %s", inWords(first), inWords(second))
		}
		// An output less, or unknown, never helps.
		outputs[1] = UnknownOutput()
		lost := Judge(NewKnown([]string{prompt}, outputs, false), Plan{Declared: true, Planned: true}, call, Options{})
		if lost.Pass && !first.Pass {
			t.Errorf("an unreported output helps: %s, then %s", inWords(first), inWords(lost))
		}
	})
}

// FuzzSieve: what stands in a text always passes.
func FuzzSieve(f *testing.F) {
	for _, seed := range []string{
		"", "a", noise, "p7@x.example", "请 send x 发送", "Ünï cöde", "a\x00b", "a--b c", "\xff",
	} {
		f.Add(seed+" "+seed, 0, len(seed))
	}
	f.Fuzz(func(t *testing.T, text string, from, to int) {
		text = fold(text)
		if from < 0 || to < from || to > len(text) {
			return
		}
		s, v := newSieve(len(text)), text[from:to]
		if !utf8.ValidString(v) { // no value of JSON is cut within a character
			return
		}
		s.addText(text)
		if !s.mayHold(part(v)) {
			t.Errorf("%q does not pass in %q", v, text)
		}
		if mentions(text, v) && !s.mayHold(whole(v)) {
			t.Errorf("%q is not whole in %q", v, text)
		}
	})
}
