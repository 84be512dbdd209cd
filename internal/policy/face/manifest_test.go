package face_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"writ/internal/policy/document"
	"writ/internal/policy/face"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

func TestManifestDecides(t *testing.T) {
	t.Parallel()
	doc, err := face.Manifest{Allow: []string{"bank.read_*", "files.*"}, Deny: []string{"files.delete"}}.Document("m")
	if err != nil {
		t.Fatal(err)
	}
	s := set(t, doc)
	for name, want := range map[string]verdict.Verdict{
		"bank.read_balance": verdict.Allow,
		"bank.pay":          verdict.Deny,
		"files.write":       verdict.Allow,
		"files.delete":      verdict.Deny,
		"other.read_x":      verdict.Deny,
	} {
		server, tool, _ := strings.Cut(name, ".")
		if got := s.Evaluate(&toolcall.Call{Server: server, Tool: tool}, nil).Verdict; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestAnEmptyManifestDeniesEverything(t *testing.T) {
	t.Parallel()
	doc, err := face.Manifest{}.Document("m")
	if err != nil {
		t.Fatal(err)
	}
	if got := set(t, doc).Evaluate(&toolcall.Call{Server: "a", Tool: "b"}, nil).Verdict; got != verdict.Deny {
		t.Errorf("%s, want deny", got)
	}
}

func TestManifestRefusesOtherPatterns(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"*", "*.x", "a", "a.", ".b", "a.b c", "a.b.c", "a*.b", "é.b", "a.b\n", "a.b\x00", strings.Repeat("a", 300) + ".b"} {
		for _, m := range []face.Manifest{{Allow: []string{pattern}}, {Deny: []string{pattern}}} {
			if _, err := m.Document("m"); err == nil {
				t.Errorf("%q was taken", pattern)
			}
		}
	}
}

func TestManifestRoundTrip(t *testing.T) {
	t.Parallel()
	pattern := rapid.StringMatching(`[A-Za-z0-9_-]{1,5}\.[A-Za-z0-9_*-]{1,5}`)
	rapid.Check(t, func(rt *rapid.T) {
		want := face.Manifest{
			Allow: rapid.SliceOf(pattern).Draw(rt, "allow"),
			Deny:  rapid.SliceOf(pattern).Draw(rt, "deny"),
		}
		doc, err := want.Document("m")
		if err != nil {
			rt.Fatal(err)
		}
		got, err := face.ManifestOf(doc)
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("round trip (-want +got):\n%s", diff)
		}
	})
}

func TestManifestOfRefusesWhatListsCannotSay(t *testing.T) {
	t.Parallel()
	rule := func(change func(*document.Rule)) *document.Document {
		r := document.Rule{ID: "r", Effect: verdict.Allow, Tools: []document.Pattern{"a.b"}}
		change(&r)
		return &document.Document{Version: "v1", Name: "p", Rules: []document.Rule{r}}
	}
	for want, doc := range map[string]*document.Document{
		"default: ":            {Default: verdict.Hold},
		"rules[0] (r): effect": rule(func(r *document.Rule) { r.Effect = verdict.Ask }),
		"rules[0] (r): when":   rule(func(r *document.Rule) { r.When = "true" }),
		"rules[0] (r): limit":  rule(func(r *document.Rule) { r.Limit = &document.Limit{Calls: 1} }),
		"rules[0] (r): tools":  rule(func(r *document.Rule) { r.Tools = []document.Pattern{"*"} }),
	} {
		if _, err := face.ManifestOf(doc); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want one about %q", err, want)
		}
	}
}
