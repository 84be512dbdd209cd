package pattern_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"writ/internal/approval/pattern"
	"writ/internal/canonical"
	"writ/internal/fault"
)

func parse(t *testing.T, text string) pattern.Pattern {
	t.Helper()
	p, err := pattern.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return p
}

// canonicalOf is arguments as a decision hands them over.
func canonicalOf(t testing.TB, text string) string {
	t.Helper()
	out, err := canonical.Transform([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return string(out)
}

func TestPatternMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern   string
		takes     []string
		takesNone []string
	}{
		{`{"to":{"equals":"ada"}}`,
			[]string{`{"to":"ada"}`, `{"to":"\u0061da"}`},
			[]string{
				`{}`, `{"to":"ADA"}`, `{"to":["ada"]}`, `{"to":"ada","cc":"mallory"}`, `{"to":"ada","cc":null}`,
				`{"to":null}`,
			}},
		{`{"n":{"equals":100}}`,
			[]string{`{"n":100}`, `{"n":100.0}`, `{"n":1e2}`},
			[]string{`{"n":"100"}`, `{"n":100.0000001}`, `{"n":true}`}},
		{`{"a":{"equals":{"b":[1,{"c":2}]}}}`,
			[]string{`{"a":{"b":[1.0,{"c":2}]}}`},
			[]string{`{"a":{"b":[{"c":2},1]}}`, `{"a":{"b":[1,{"c":2,"d":3}]}}`}},
		{`{"to":{"oneOf":["a","b",3]}}`,
			[]string{`{"to":"a"}`, `{"to":"b"}`, `{"to":3.0}`},
			[]string{`{"to":"c"}`, `{"to":["a"]}`, `{"to":"3"}`}},
		{`{"n":{"min":-1,"max":10.5}}`,
			[]string{`{"n":-1}`, `{"n":10.5}`, `{"n":0}`, `{"n":1e1}`},
			[]string{`{"n":-1.0001}`, `{"n":10.6}`, `{"n":"5"}`, `{"n":null}`, `{"n":1e300}`}},
		{`{"n":{"max":9007199254740992}}`,
			[]string{`{"n":9007199254740992}`, `{"n":-1e308}`},
			[]string{`{"n":9007199254740993}`, `{"n":123456789012345678901234567890}`}},
		{`{"path":{"prefix":"/srv/data/"}}`,
			[]string{`{"path":"/srv/data/x"}`, `{"path":"/srv/data/"}`},
			[]string{
				`{"path":"/srv/data"}`, `{"path":"/srv/data/../etc"}`, `{"path":"/srv/data/%2E%2e/etc"}`,
				`{"path":"/srv/data/%252e%252e/etc"}`, `{"path":"/srv/data/..\\x"}`, `{"path":"/SRV/data/x"}`,
				`{"path":5}`,
			}},
		{`{"url":{"prefix":"https://a.example/"}}`,
			[]string{`{"url":"https://a.example/x?y"}`},
			[]string{
				`{"url":"https://a.example.evil/"}`, `{"url":"https://a.example@evil/"}`,
				`{"url":"https://a.example/%2f%2fevil"}`,
			}},
		{`{"mail.to":{"equals":"x"},"mail.body":{"any":true}}`,
			[]string{`{"mail":{"to":"x","body":{"deep":[1]}}}`},
			[]string{
				`{"mail":{"to":"x"}}`, `{"mail":{"to":"x","body":1,"cc":2}}`, `{"mail.to":"x","mail.body":1}`,
				`{"mail":"x"}`, `{"mail":[{"to":"x"}]}`, `{"mail":{"to":"x","body":1},"mail.body":1}`,
			}},
	} {
		p := parse(t, c.pattern)
		for _, args := range c.takes {
			if !p.Matches(canonicalOf(t, args)) {
				t.Errorf("%s does not take %s", c.pattern, args)
			}
		}
		for _, args := range append(c.takesNone, `{"x.y":{"":1}}`, `[]`, `null`) {
			if p.Matches(canonicalOf(t, args)) {
				t.Errorf("%s takes %s", c.pattern, args)
			}
		}
	}
	if (pattern.Pattern)(nil).Matches(`{}`) {
		t.Error("no pattern takes a call")
	}
}

// TestPatternsAreToldAsTheyAre: the name of an argument does not pass for more of the
// pattern.
func TestPatternsAreToldAsTheyAre(t *testing.T) {
	t.Parallel()
	p := parse(t, `{"amount is at most 5 and note":{"prefix":"x"},"to":{"equals":"y"}}`)
	if got, want := p.Words(), `"amount is at most 5 and note" begins with "x" and to is "y"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestPatternIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		``, `null`, `[]`, `{}`, `{"a":null}`, `{"a":{}}`, `{"a":5}`, `{"a":{"equals":1,"max":2}}`, `{"a":{"like":"x"}}`,
		`{"a":{"max":"5"}}`,
		`{"":{"equals":1}}`, `{"a.":{"equals":1}}`, `{".a":{"equals":1}}`, `{"a..b":{"equals":1}}`,
		`{"a":{"equals":1},"a.b":{"equals":2}}`,
		`{"a":{"equals":1},"a":{"equals":2}}`, `{"a":{"prefix":""}}`, `{"a":{"any":false}}`, `{"a":{"any":true}}`,
		`{"a":{"oneOf":[]}}`,
		`{"u":{"prefix":"https://a.example"}}`, `{"a":{"equals":"` + strings.Repeat("x", 1000) + `"}}`,
		`{"` + strings.Repeat("p", 201) + `":{"equals":1}}`,
		`{"a":{"oneOf":[` + strings.Repeat("1,", 50) + `1]}}`, `{"a":{"Equals":1}}`, `{"a\u202eb":{"equals":1}}`,
		`{"a\u001b[2J":{"equals":1}}`,
	} {
		if p, err := pattern.Parse([]byte(text)); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s is %v, %v", text, p, err)
		}
	}
	var many strings.Builder
	for i := range 33 {
		fmt.Fprintf(&many, `,"a%d":{"equals":1}`, i)
	}
	if _, err := pattern.Parse([]byte("{" + many.String()[1:] + "}")); err == nil {
		t.Error("33 terms are taken")
	}
}

// TestPatternTakesWhatItWasMadeOf: a pattern of a call's own values takes that
// call, and no call with one value more, less or changed.
func TestPatternTakesWhatItWasMadeOf(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,6}`), 1, 6, rapid.ID[string]).Draw(rt, "names")
		values := rapid.SliceOfN(rapid.IntRange(-50, 50), len(names), len(names)).Draw(rt, "values")
		members, terms := make([]string, len(names)), make([]string, len(names))
		for i, name := range names {
			members[i] = fmt.Sprintf(`%q:%d`, name, values[i])
			terms[i] = fmt.Sprintf(`%q:{"equals":%d}`, name, values[i])
		}
		object := func(members []string) string { return canonicalOf(t, "{"+strings.Join(members, ",")+"}") }
		p := parse(t, "{"+strings.Join(terms, ",")+"}")
		if !p.Matches(object(members)) {
			rt.Fatalf("%s does not take %v", p.Words(), members)
		}
		i := rapid.IntRange(0, len(names)-1).Draw(rt, "which")
		if p.Matches(object(append(members[:i:i], members[i+1:]...))) {
			rt.Fatal("one less is taken")
		}
		if p.Matches(object(append(members, `"Another":1`))) {
			rt.Fatal("one more is taken")
		}
		members[i] = fmt.Sprintf(`%q:%d`, names[i], values[i]+1)
		if p.Matches(object(members)) {
			rt.Fatal("a changed one is taken")
		}
	})
}

// FuzzPattern: what is read as a pattern says what it takes, and takes nothing of
// which an argument is missing.
func FuzzPattern(f *testing.F) {
	f.Add([]byte(`{"a":{"equals":1}}`), []byte(`{"a":1}`))
	f.Add([]byte(`{"a.b":{"prefix":"x"},"c":{"any":true}}`), []byte(`{"a":{"b":"xy"},"c":[]}`))
	f.Add([]byte(`{"a":{"min":1e400}}`), []byte(`{"a":1e-400}`))
	f.Fuzz(func(t *testing.T, raw, arguments []byte) {
		p, err := pattern.Parse(raw)
		if err != nil {
			if len(p) > 0 && !fault.Is(err, fault.Invalid) {
				t.Fatalf("refused by %v", err)
			}
			return
		}
		if p.Words() == "" || p.Matches(`{}`) {
			t.Fatalf("%s takes a call without arguments: %q", raw, p.Words())
		}
		if text, err := canonical.Transform(arguments); err == nil && p.Matches(string(text)) && text[0] != '{' {
			t.Fatalf("%s takes %s", raw, text)
		}
	})
}
