package document_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"writ/internal/policy/document"
	"writ/internal/verdict"
)

// sameDocument ignores where in its text a document's parts were.
var sameDocument = cmpopts.IgnoreFields(document.Rule{}, "At", "WhenAt", "WhenIndent")

// failer is a test, or a try of a property.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkRoundTrip checks that a document survives being written in either form, and
// that the form is stable.
func checkRoundTrip(t failer, doc *document.Document) {
	t.Helper()
	for format, render := range map[document.Format]func(*document.Document) []byte{
		document.YAML: document.Render, document.JSON: document.RenderJSON,
	} {
		text := render(doc)
		again, err := document.Parse(text, format)
		if err != nil {
			t.Fatalf("what was rendered is refused: %v\n%s", err, text)
		}
		if diff := cmp.Diff(doc, again, sameDocument); diff != "" {
			t.Fatalf("rendered and read again, the document differs: (-was +is)\n%s\n%s", diff, text)
		}
		if second := render(again); !bytes.Equal(second, text) {
			t.Fatalf("the second rendering differs:\n%s\n%s", text, second)
		}
	}
}

// words are pieces of text that YAML could take for something else.
var words = []string{
	"a", "B", "ü", "😀", " ", "  ", "\n", "\n\n", "\t", ":", ": ", "#", " #", "- ", "-", "?", "*", "&x", "!", "|", ">",
	"'", "\"", "\\", "{", "}",
	"[", "]", ",", "%", "@", "`", "null", "true", "~", "yes", "12", "0x1", "1e5", "---", "...", "<<", "=", "\u00a0",
	"a long line of words that goes on ",
}

func text(most int) *rapid.Generator[string] {
	return rapid.Map(rapid.SliceOfN(rapid.SampledFrom(words), 1, 12), func(parts []string) string {
		runes := []rune(strings.Join(parts, ""))
		return string(runes[:min(len(runes), most)])
	})
}

func label() *rapid.Generator[string] {
	return rapid.Map(text(document.MaxName), func(s string) string {
		return "n" + strings.NewReplacer("\n", "x", "\t", "x").Replace(s[:len(s)-len(s)%2])
	}).Filter(func(s string) bool {
		return strings.TrimSpace(s) == s && len(s) < document.MaxName && strings.ToValidUTF8(s, "") == s
	})
}

func pattern() *rapid.Generator[document.Pattern] {
	return rapid.Map(rapid.StringMatching(`\*|[A-Za-z0-9_*-]{1,8}\.[!-~éß*]{1,12}`), func(s string) document.Pattern {
		return document.Pattern(s)
	})
}

func limit(t *rapid.T) *document.Limit {
	l := &document.Limit{
		By: rapid.SampledFrom([]document.Subject{
			document.Agent, document.Session, document.User, document.Organization,
		}).Draw(t, "by"),
	}
	amount := rapid.Int64Range(1, document.MaxCount).Draw(t, "amount")
	switch rapid.IntRange(0, 2).Draw(t, "unit") {
	case 0:
		l.Calls = amount
	case 1:
		l.Cost = rapid.Int64Range(1, document.MaxCost).Draw(t, "cost")
	default:
		l.Tokens = amount
	}
	l.Per = time.Duration(rapid.IntRange(1, 31*24*3600).Draw(t, "seconds")) * time.Second
	if rapid.Bool().Draw(t, "days") {
		l.Per = time.Duration(rapid.IntRange(1, 31).Draw(t, "count")) * 24 * time.Hour
	}
	return l
}

func rule(t *rapid.T, id string) document.Rule {
	r := document.Rule{
		ID: id, Effect: verdict.Verdict(rapid.IntRange(0, 3).Draw(t, "effect")),
		Tools: rapid.SliceOfNDistinct(pattern(), 1, 8, rapid.ID).Draw(t, "tools"),
	}
	if rapid.Bool().Draw(t, "has when") {
		r.When = rapid.Map(text(500), func(s string) string { return "w" + s }).Draw(t, "when")
	}
	r.Description = rapid.OneOf(rapid.Just(""), text(500)).Draw(t, "description")
	r.Message = rapid.OneOf(rapid.Just(""), text(500)).Draw(t, "message")
	if rapid.Bool().Draw(t, "has limit") {
		r.Limit = limit(t)
	}
	if r.Effect == verdict.Hold && rapid.Bool().Draw(t, "has approvers") {
		r.Approvers = &document.Approvers{
			Role:  rapid.SampledFrom([]string{"owner", "admin", "approver"}).Draw(t, "role"),
			Count: rapid.IntRange(1, document.MaxApprovers).Draw(t, "count"),
		}
	}
	return r
}

func generate(t *rapid.T) *document.Document {
	doc := &document.Document{
		Version: document.Version, Name: label().Draw(t, "name"),
		Description: rapid.OneOf(rapid.Just(""), text(500)).Draw(t, "description"),
		Default:     verdict.Verdict(rapid.IntRange(0, 3).Draw(t, "default")), Rules: []document.Rule{},
	}
	ids := rapid.SliceOfNDistinct(rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._-]{0,10}`), 0, 4, rapid.ID).
		Filter(func(ids []string) bool {
			return !strings.Contains(strings.Join(ids, " "), document.DefaultRule)
		}).Draw(t, "ids")
	for _, id := range ids {
		doc.Rules = append(doc.Rules, rule(t, id))
	}
	return doc
}

func TestRenderRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { checkRoundTrip(t, generate(t)) })
}

// People read what is rendered: this is how it looks.
func TestRenderIsReadable(t *testing.T) {
	t.Parallel()
	doc := &document.Document{
		Version: "v1", Name: "payments", Description: "One line.\nAnother.", Default: verdict.Deny,
		Rules: []document.Rule{{
			ID: "large", Effect: verdict.Hold, Tools: []document.Pattern{"bank.send_money", "*"},
			When:      `args.amount > 1000 && args.currency in ["EUR", "USD"] && !args.recipient.startsWith("internal:")`,
			Limit:     &document.Limit{Cost: 5_250_000_000, Per: 24 * time.Hour, By: document.Agent},
			Approvers: &document.Approvers{Role: "approver", Count: 2}, Message: "Ask: a person",
		}},
	}
	const want = `version: v1
name: payments
description: |-
  One line.
  Another.
default: deny
rules:
  - id: large
    effect: hold
    tools: ["bank.send_money", "*"]
    when: |-
      args.amount > 1000 && args.currency in ["EUR", "USD"] && !args.recipient.startsWith("internal:")
    limit: {cost: 5.25, per: 24h, by: agent}
    approvers: {role: approver, count: 2}
    message: "Ask: a person"
`
	if diff := cmp.Diff(want, string(document.Render(doc))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// FuzzParse checks that whatever is accepted survives being written.
func FuzzParse(f *testing.F) {
	for _, folder := range []string{"good", "bad"} {
		for path, text := range corpus(f, folder) {
			f.Add(text, document.FormatOf(path) == document.JSON)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, asJSON bool) {
		format := document.YAML
		if asJSON {
			format = document.JSON
		}
		doc, err := document.Parse(text, format)
		if err == nil {
			checkRoundTrip(t, doc)
			return
		}
		invalid, ok := errors.AsType[*document.Invalid](err)
		if !ok || len(invalid.Problems) == 0 || doc != nil {
			t.Fatalf("refused with %v and %v, want problems and no document", err, doc)
		}
	})
}
