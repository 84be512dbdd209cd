package policies_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/testserver"
)

// TestSuggestFromDecisionsThatWereMade: what was allowed becomes a draft, which
// put in force allows just that.
func TestSuggestFromDecisionsThatWereMade(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		ctx, key := t.Context(), b.AgentKey(b.Owner, b.ID).APIKey
		before := b.ActivePolicy(b.Owner, b.ID, testserver.WorkPolicy)
		b.Work(key)
		made, err := b.Owner.SuggestPolicy(ctx, b.ID, client.SuggestionRequest{
			AgentID: "worker", Days: 1, Name: "least",
		})
		if err != nil {
			t.Fatal(err)
		}
		if made.Status != "draft" || made.Name != "least" || made.Default != "deny" || made.Calls != 8 ||
			made.Incomplete || made.Author.ID != b.Owner.ID {
			t.Errorf("%+v", made)
		}
		seen := map[string]string{}
		for i, rule := range made.Rules {
			seen[rule.ID] = fmt.Sprint(rule.Effect, " ", rule.Tools, " ", made.Evidence[i].Calls,
				len(made.Evidence[i].Decisions))
		}
		want := map[string]string{
			"seen-files.read":  "allow [files.read] 3 3",
			"seen-bank.pay":    "allow [bank.pay] 1 1",
			"seen-files.login": "hold [files.login] 1 1",
		}
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Error(diff)
		}
		left := map[string]int64{}
		for _, l := range made.LeftOut {
			left[l.Server+"."+l.Tool+": "+l.Reason[:12]] += l.Calls
		}
		if diff := cmp.Diff(map[string]int64{"files.read: an argument ": 1, "files.login: its argument": 1},
			left); diff != "" {
			t.Error(diff)
		}
		text, err := b.Owner.ExportPolicy(ctx, made.ID, 0)
		if err != nil || strings.Contains(text, "anna") || strings.Contains(text, "hunter2") ||
			!strings.Contains(text, "src/a.go") {
			t.Errorf("%v:\n%s", err, text)
		}
		for _, want := range []string{"suggested for worker", "suggested for worker 2"} {
			if named, err := b.Owner.SuggestPolicy(ctx, b.ID, client.SuggestionRequest{
				AgentID: "worker", Days: 1,
			}); err != nil || named.Name != want {
				t.Errorf("without a name it is called %q, %v; want %q", named.Name, err, want)
			}
		}
		puts(b, made.ID, before)
		for i, c := range []struct {
			agent, server, tool string
			args                m
			want                string
		}{
			{"worker", "files", "read", m{"path": "src/b.go"}, "allow"},
			{"worker", "files", "read", m{"path": "src/c.go"}, "deny"},
			{"worker", "files", "read", m{"path": "src/b.go", "more": true}, "deny"},
			{"worker", "files", "login", m{"password": "x"}, "hold"},
			{"worker", "files", "list", m{}, "deny"},
			{"worker", "bank", "pay", m{"amount": 5}, "allow"},
			{"worker", "bank", "pay", m{"amount": 6}, "deny"},
			{"other", "files", "read", m{"path": "src/b.go"}, "deny"},
		} {
			if got := b.Asked(key, c.agent, c.server, c.tool, c.args); got != c.want {
				t.Errorf("%d: %s, want %s", i, got, c.want)
			}
		}
	})
}

// puts has one policy count in place of another.
func puts(b *testserver.Org, now, before string) {
	b.T.Helper()
	if _, err := b.Owner.ActivatePolicy(b.T.Context(), now, 0); err != nil {
		b.T.Fatal(err)
	}
	if _, err := b.Owner.DeactivatePolicy(b.T.Context(), before); err != nil {
		b.T.Fatal(err)
	}
}

// TestSuggestionsDoubtWhatAShadowRefuses: what a policy that is being tried would not
// have allowed becomes no rule, and the evidence tells which keys asked.
func TestSuggestionsDoubtWhatAShadowRefuses(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		ctx, key := t.Context(), b.AgentKey(b.Owner, b.ID)
		b.ActivePolicy(b.Owner, b.ID, testserver.WorkPolicy)
		tried, err := b.Owner.CreatePolicy(ctx, b.ID, client.YAMLDocument,
			"version: v1\nname: tried\ndefault: allow\nrules:\n  - {id: no, effect: deny, tools: [bank.pay]}\n")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Owner.StartShadow(ctx, tried.ID, 1); err != nil {
			t.Fatal(err)
		}
		b.Work(key.APIKey)
		made, err := b.Owner.SuggestPolicy(ctx, b.ID, client.SuggestionRequest{AgentID: "worker", Days: 1})
		if err != nil {
			t.Fatal(err)
		}
		for i, rule := range made.Rules {
			if rule.Effect == "allow" && rule.Tools[0] != "files.read" {
				t.Errorf("%+v", rule)
			}
			if diff := cmp.Diff([]string{key.ID}, made.Evidence[i].Keys); diff != "" {
				t.Error(diff)
			}
		}
		if !slices.ContainsFunc(made.LeftOut, func(l client.LeftOut) bool {
			return l.Tool == "pay" && strings.Contains(l.Reason, "shadow")
		}) {
			t.Errorf("left out: %+v", made.LeftOut)
		}
	})
}

func TestSuggestionsThatCannotBeMade(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		ctx, key := t.Context(), b.AgentKey(b.Owner, b.ID).APIKey
		b.ActivePolicy(b.Owner, b.ID, testserver.WorkPolicy)
		b.Work(key)
		stranger := b.Person("stranger")
		elsewhere := b.Organization(stranger, "Elsewhere")
		for what, c := range map[string]struct {
			by     *client.Client
			org    string
			r      client.SuggestionRequest
			status int
			word   string
		}{
			"nobody's calls": {
				b.Owner.Client, b.ID, client.SuggestionRequest{AgentID: "nobody", Days: 1}, 409,
				"no call of this agent was recorded",
			},
			"another organization": {
				stranger.Client, elsewhere, client.SuggestionRequest{AgentID: "worker", Days: 1}, 409,
				"no call of this agent was recorded",
			},
			"a stranger": {
				stranger.Client, b.ID, client.SuggestionRequest{AgentID: "worker", Days: 1}, 403, "not a member",
			},
			"an agent that is a key": {
				b.Owner.Client, b.ID, client.SuggestionRequest{AgentID: "anna@example.org", Days: 1}, 400, "agentId",
			},
			"no time": {b.Owner.Client, b.ID, client.SuggestionRequest{AgentID: "worker"}, 400, "days"},
			"too long ago": {
				b.Owner.Client, b.ID, client.SuggestionRequest{AgentID: "worker", Days: 91}, 400, "days",
			},
			"a name that is taken": {
				b.Owner.Client, b.ID, client.SuggestionRequest{AgentID: "worker", Days: 1, Name: "work"}, 409,
				`a policy named "work" already`,
			},
			"a name that is none": {
				b.Owner.Client, b.ID, client.SuggestionRequest{AgentID: "worker", Days: 1, Name: "a\x01b"}, 400,
				"name",
			},
		} {
			_, err := c.by.SuggestPolicy(ctx, c.org, c.r)
			if client.StatusOf(err) != c.status || !strings.Contains(fmt.Sprint(err), c.word) {
				t.Errorf("%s: %v, want %d and %q", what, err, c.status, c.word)
			}
		}
	})
}

const doubtfulPolicy = `
version: v1
name: doubtful
default: deny
rules:
  - {id: pay, effect: allow, tools: [bank.pay]}
  - {id: no-shell, effect: deny, tools: ["shell.*"]}
  - {id: shell, effect: allow, tools: [shell.run]}
  - {id: typo, effect: hold, tools: [files.read], when: args.file.startsWith("/etc")}
`

// kinds are findings without their words.
func kinds(found client.PolicyFindings) (lines []string) {
	for _, f := range found.Findings {
		lines = append(lines, fmt.Sprintf("%s %s %d:%d %d", f.Kind, f.Rule, f.Line, f.Column, f.Calls))
	}
	return lines
}

// TestFindingsOfTextAndOfCalls: a policy is read by itself, beside those in force,
// and with the calls that were made.
func TestFindingsOfTextAndOfCalls(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		ctx, key := t.Context(), b.AgentKey(b.Owner, b.ID).APIKey
		b.ActivePolicy(b.Owner, b.ID, testserver.WorkPolicy)
		b.Work(key)
		made, err := b.Owner.CreatePolicy(ctx, b.ID, client.YAMLDocument, doubtfulPolicy)
		if err != nil {
			t.Fatal(err)
		}
		found := func(days int) client.PolicyFindings {
			t.Helper()
			found, err := b.Owner.PolicyFindings(ctx, made.ID, 0, days)
			if err != nil || found.PolicyVersion != 1 || found.Incomplete ||
				slices.ContainsFunc(found.Findings, func(f client.PolicyFinding) bool {
					return f.Fix == "" || f.Message == ""
				}) {
				t.Fatalf("%+v, %v", found, err)
			}
			return found
		}
		const shadowed, fails = "shadowed_allow shell 8:5 0", "always_fails typo 9:57 4"
		if diff := cmp.Diff([]string{shadowed}, kinds(found(0))); diff != "" {
			t.Error(diff)
		}
		recorded := found(1)
		if diff := cmp.Diff([]string{shadowed, fails}, kinds(recorded)); diff != "" || recorded.Calls != 9 {
			t.Errorf("%s of %d calls", diff, recorded.Calls)
		}
		erase(b, "files", "read")
		if diff := cmp.Diff([]string{shadowed}, kinds(found(1))); diff != "" {
			t.Errorf("what was erased is taken for known: %s", diff)
		}
		b.ActivePolicy(b.Owner, b.ID, testserver.PolicyText("guard", "deny"))
		if diff := cmp.Diff([]string{"shadowed_allow pay 6:5 0", shadowed}, kinds(found(0))); diff != "" {
			t.Error(diff)
		}
		for what, c := range map[string]struct {
			id            string
			version, days int
			status        int
		}{
			"no such version": {made.ID, 2, 0, 404}, "no such policy": {database.NewID(), 0, 0, 404},
			"too long": {made.ID, 0, 91, 400},
		} {
			if _, err := b.Owner.PolicyFindings(ctx, c.id, c.version, c.days); client.StatusOf(err) != c.status {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

// erase takes the details out of what was decided about the calls of a tool.
func erase(b *testserver.Org, server, tool string) {
	b.T.Helper()
	records, err := decision.Read(b.T.Context(), b.Database, b.ID, 0, 1000)
	if err != nil {
		b.T.Fatal(err)
	}
	for _, r := range records {
		if r.Server != server || r.Tool != tool {
			continue
		}
		if err := b.Owner.ErasePayload(b.T.Context(), b.ID, r.Index, "wanted"); err != nil {
			b.T.Fatal(err)
		}
	}
}

// TestWhoMayHaveCallsLookedAt: a key never, for it would learn what others sent.
func TestWhoMayHaveCallsLookedAt(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		ctx, key := t.Context(), b.AgentKey(b.Owner, b.ID).APIKey
		b.ActivePolicy(b.Owner, b.ID, testserver.WorkPolicy)
		b.Work(key)
		id := b.Draft(b.Owner, b.ID, "pay")
		callers := map[string]*client.Client{
			"owner": b.Owner.Client, "agent": b.Agent, "drafter": b.Public.WithKey(b.DraftKey(b.Owner, b.ID).APIKey),
			"unbound": b.UnboundKey(b.Owner),
		}
		for _, role := range []string{"admin", "approver", "member", "viewer"} {
			callers[role] = b.Join(b.Owner, b.ID, role).Client
		}
		for name, action := range map[string]struct {
			may string
			do  func(c *client.Client) error
		}{
			"read the text": {
				"owner admin approver member viewer drafter",
				func(c *client.Client) error { return second(c.PolicyFindings(ctx, id, 0, 0)) },
			},
			"try on calls": {
				"owner admin approver member",
				func(c *client.Client) error { return second(c.PolicyFindings(ctx, id, 0, 7)) },
			},
			"suggest": {"owner admin approver member", func(c *client.Client) error {
				return second(c.SuggestPolicy(ctx, b.ID, client.SuggestionRequest{
					AgentID: "worker", Days: 7, Name: database.NewID(),
				}))
			}},
		} {
			for who, caller := range callers {
				err := action.do(caller)
				may, status := slices.Contains(strings.Fields(action.may), who), client.StatusOf(err)
				switch {
				case may && err != nil:
					t.Errorf("%s by %s: %v, want leave", name, who, err)
				case !may && status != http.StatusForbidden && status != http.StatusUnauthorized &&
					!(who == "unbound" && status == http.StatusNotFound):
					t.Errorf("%s by %s: %v, want a refusal", name, who, err)
				}
			}
		}
	})
}
