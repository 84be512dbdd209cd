package clientpolicy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"writ/internal/confine"
	"writ/internal/policy/clientpolicy"
	"writ/internal/policy/document"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

func TestManifestDecides(t *testing.T) {
	t.Parallel()
	manifest := clientpolicy.Manifest{Allow: []string{"bank.read_*", "files.*"}, Deny: []string{"files.delete"}}
	doc, err := manifest.Document("m")
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
	doc, err := clientpolicy.Manifest{}.Document("m")
	if err != nil {
		t.Fatal(err)
	}
	if got := set(t, doc).Evaluate(&toolcall.Call{Server: "a", Tool: "b"}, nil).Verdict; got != verdict.Deny {
		t.Errorf("%s, want deny", got)
	}
}

func TestManifestRefusesOtherPatterns(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{
		"*", "*.x", "a", "a.", ".b", "a.b c", "a.b.c", "a*.b", "é.b", "a.b\n", "a.b\x00",
		strings.Repeat("a", 300) + ".b",
	} {
		for _, m := range []clientpolicy.Manifest{{Allow: []string{pattern}}, {Deny: []string{pattern}}} {
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
		want := clientpolicy.Manifest{
			Allow: rapid.SliceOf(pattern).Draw(rt, "allow"),
			Deny:  rapid.SliceOf(pattern).Draw(rt, "deny"),
		}
		doc, err := want.Document("m")
		if err != nil {
			rt.Fatal(err)
		}
		got, err := clientpolicy.ManifestOf(doc)
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
		"default: ":             {Default: verdict.Hold},
		"rules[0] (r): effect":  rule(func(r *document.Rule) { r.Effect = verdict.Ask }),
		"rules[0] (r): when":    rule(func(r *document.Rule) { r.When = "true" }),
		"rules[0] (r): limit":   rule(func(r *document.Rule) { r.Limit = &document.Limit{Calls: 1} }),
		"rules[0] (r): confine": rule(func(r *document.Rule) { r.Confine = &confine.Limits{} }),
		"rules[0] (r): tools":   rule(func(r *document.Rule) { r.Tools = []document.Pattern{"*"} }),
	} {
		if _, err := clientpolicy.ManifestOf(doc); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want one about %q", err, want)
		}
	}
}

// TestManifestsDecideAsTheirPolicies draws policies and calls: what can be said as
// lists decides the same as lists, and what narrows never decides more loosely,
// neither alone nor beside another policy.
func TestManifestsDecideAsTheirPolicies(t *testing.T) {
	t.Parallel()
	said := 0
	rapid.Check(t, func(rt *rapid.T) {
		doc := &document.Document{
			Version: "v1",
			Name:    "p",
			Default: rapid.SampledFrom([]verdict.Verdict{verdict.Deny, verdict.Deny, verdict.Allow}).Draw(rt,
				"default"),
		}
		for i := range rapid.IntRange(0, 4).Draw(rt, "rules") {
			doc.Rules = append(doc.Rules, document.Rule{
				ID: string(rune('a' + i)),
				Effect: rapid.SampledFrom([]verdict.Verdict{
					verdict.Deny, verdict.Allow, verdict.Allow, verdict.Allow, verdict.Hold,
				}).Draw(rt, "effect"),
				Tools: []document.Pattern{
					rapid.SampledFrom([]document.Pattern{
						"bank.*", "bank.pay", "files.w*", "files.*", "bank-eu.*e*", "*.pay",
					}).Draw(rt, "pattern"),
				},
			})
		}
		m, err := clientpolicy.ManifestOf(doc)
		if err != nil {
			return // refused, which is stricter
		}
		said++
		lists, err := m.Document("lists")
		if err != nil {
			rt.Fatal(err)
		}
		narrowing, err := m.Narrowing("narrowing")
		if err != nil {
			rt.Fatal(err)
		}
		other := drawDocument(rt)
		call := toolcall.Call{
			Server: rapid.SampledFrom(servers).Draw(rt, "server"),
			Tool:   rapid.SampledFrom(names).Draw(rt, "tool"),
			Args:   drawArgs(rt),
		}
		judge := func(docs ...*document.Document) verdict.Verdict {
			return set(rt, docs...).Evaluate(&call, nil).Verdict
		}
		alone := judge(doc)
		if got := judge(lists); got != alone {
			rt.Fatalf("%s.%s: the lists %s what the policy does %s", call.Server, call.Tool, got, alone)
		}
		if got := judge(narrowing); got > alone {
			rt.Fatalf("%s.%s: what narrows does %s what the policy does %s", call.Server, call.Tool, got, alone)
		}
		if got, without := judge(narrowing, other), judge(other); got > min(without, alone) {
			rt.Fatalf("%s.%s: %s beside a policy that does %s, and the manifest %s", call.Server, call.Tool, got,
				without, alone)
		}
	})
	if said == 0 {
		t.Error("no policy was drawn that lists can say")
	}
}
