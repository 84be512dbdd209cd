package api_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/database"
	"writ/internal/decision"
)

// asked has an agent ask about a call through the real path, and gives the answer.
func (s *server) asked(key, agentID, server, tool string, args m) (action string) {
	s.t.Helper()
	var answer struct {
		Action string `json:"action"`
	}
	body := m{
		"source":      "test",
		"session_id":  "s",
		"agent_id":    agentID,
		"tool_name":   tool,
		"tool_input":  args,
		"mcp_context": m{"server_name": server, "tool_name": tool},
	}
	if err := s.public.WithKey(key).Call(s.t.Context(), http.MethodPost, "/iap/enforce", nil, body,
		&answer); err != nil {
		s.t.Fatalf("ask about %s.%s: %v", server, tool, err)
	}
	return answer.Action
}

const workPolicy = `
version: v1
name: work
default: deny
rules:
  - {id: files, effect: allow, tools: ["files.*"]}
  - {id: pay, effect: allow, tools: [bank.pay], when: args.amount < 100}
  - {id: large, effect: hold, tools: [bank.pay], when: args.amount >= 100}
`

// works has an agent do a day's work under the policy above.
func (b *bank) works(key string) {
	b.t.Helper()
	const anna = "/home/anna/diary"
	for _, c := range []struct {
		agent, server, tool string
		args                m
		want                string
	}{
		{"worker", "files", "read", m{"path": "src/a.go"}, "allow"},
		{"worker", "files", "read", m{"path": "src/a.go"}, "allow"},
		{"worker", "files", "read", m{"path": "src/b.go"}, "allow"},
		{"worker", "files", "read", m{"path": anna}, "allow"},
		{"worker", "files", "login", m{"password": "hunter2hunter2"}, "allow"},
		{"worker", "bank", "pay", m{"amount": 5}, "allow"},
		{"worker", "bank", "pay", m{"amount": 500}, "hold"},
		{"worker", "shell", "run", m{"command": "ls"}, "deny"},
		{"other", "files", "list", m{}, "allow"},
	} {
		if got := b.asked(key, c.agent, c.server, c.tool, c.args); got != c.want {
			b.t.Fatalf("%s.%s %v: %s, want %s", c.server, c.tool, c.args, got, c.want)
		}
	}
}

// TestSuggestFromDecisionsThatWereMade: what was allowed becomes a draft, which
// put in force allows just that.
func TestSuggestFromDecisionsThatWereMade(t *testing.T) {
	t.Parallel()
	eachBank(t, func(t *testing.T, b *bank) {
		ctx, key := t.Context(), b.agentKey(b.owner, b.org).APIKey
		before := b.activePolicy(b.owner, b.org, workPolicy)
		b.works(key)
		made, err := b.owner.SuggestPolicy(ctx, b.org, client.SuggestionRequest{
			AgentID: "worker", Days: 1, Name: "least",
		})
		if err != nil {
			t.Fatal(err)
		}
		if made.Status != "draft" || made.Name != "least" || made.Default != "deny" || made.Calls != 8 ||
			made.Incomplete || made.Author.ID != b.owner.ID {
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
		text, err := b.owner.ExportPolicy(ctx, made.ID, 0)
		if err != nil || strings.Contains(text, "anna") || strings.Contains(text, "hunter2") ||
			!strings.Contains(text, "src/a.go") {
			t.Errorf("%v:\n%s", err, text)
		}
		for _, want := range []string{"suggested for worker", "suggested for worker 2"} {
			if named, err := b.owner.SuggestPolicy(ctx, b.org, client.SuggestionRequest{
				AgentID: "worker", Days: 1,
			}); err != nil || named.Name != want {
				t.Errorf("without a name it is called %q, %v; want %q", named.Name, err, want)
			}
		}
		b.puts(made.ID, before)
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
			if got := b.asked(key, c.agent, c.server, c.tool, c.args); got != c.want {
				t.Errorf("%d: %s, want %s", i, got, c.want)
			}
		}
	})
}

// puts has one policy count in place of another.
func (b *bank) puts(now, before string) {
	b.t.Helper()
	if _, err := b.owner.ActivatePolicy(b.t.Context(), now, 0); err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.owner.DeactivatePolicy(b.t.Context(), before); err != nil {
		b.t.Fatal(err)
	}
}

// TestSuggestionsDoubtWhatAShadowRefuses: what a policy that is being tried would not
// have allowed becomes no rule, and the evidence tells which keys asked.
func TestSuggestionsDoubtWhatAShadowRefuses(t *testing.T) {
	t.Parallel()
	eachBank(t, func(t *testing.T, b *bank) {
		ctx, key := t.Context(), b.agentKey(b.owner, b.org)
		b.activePolicy(b.owner, b.org, workPolicy)
		tried, err := b.owner.CreatePolicy(ctx, b.org, client.YAMLDocument,
			"version: v1\nname: tried\ndefault: allow\nrules:\n  - {id: no, effect: deny, tools: [bank.pay]}\n")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.owner.StartShadow(ctx, tried.ID, 1); err != nil {
			t.Fatal(err)
		}
		b.works(key.APIKey)
		made, err := b.owner.SuggestPolicy(ctx, b.org, client.SuggestionRequest{AgentID: "worker", Days: 1})
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
	eachBank(t, func(t *testing.T, b *bank) {
		ctx, key := t.Context(), b.agentKey(b.owner, b.org).APIKey
		b.activePolicy(b.owner, b.org, workPolicy)
		b.works(key)
		stranger := b.person("stranger")
		elsewhere := b.organization(stranger, "Elsewhere")
		for what, c := range map[string]struct {
			by     *client.Client
			org    string
			r      client.SuggestionRequest
			status int
			word   string
		}{
			"nobody's calls": {
				b.owner.Client, b.org, client.SuggestionRequest{AgentID: "nobody", Days: 1}, 409,
				"no call of this agent was recorded",
			},
			"another organization": {
				stranger.Client, elsewhere, client.SuggestionRequest{AgentID: "worker", Days: 1}, 409,
				"no call of this agent was recorded",
			},
			"a stranger": {
				stranger.Client, b.org, client.SuggestionRequest{AgentID: "worker", Days: 1}, 403, "not a member",
			},
			"an agent that is a key": {
				b.owner.Client, b.org, client.SuggestionRequest{AgentID: "anna@example.org", Days: 1}, 400, "agentId",
			},
			"no time": {b.owner.Client, b.org, client.SuggestionRequest{AgentID: "worker"}, 400, "days"},
			"too long ago": {
				b.owner.Client, b.org, client.SuggestionRequest{AgentID: "worker", Days: 91}, 400, "days",
			},
			"a name that is taken": {
				b.owner.Client, b.org, client.SuggestionRequest{AgentID: "worker", Days: 1, Name: "work"}, 409,
				`a policy named "work" already`,
			},
			"a name that is none": {
				b.owner.Client, b.org, client.SuggestionRequest{AgentID: "worker", Days: 1, Name: "a\x01b"}, 400,
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
	eachBank(t, func(t *testing.T, b *bank) {
		ctx, key := t.Context(), b.agentKey(b.owner, b.org).APIKey
		b.activePolicy(b.owner, b.org, workPolicy)
		b.works(key)
		made, err := b.owner.CreatePolicy(ctx, b.org, client.YAMLDocument, doubtfulPolicy)
		if err != nil {
			t.Fatal(err)
		}
		found := func(days int) client.PolicyFindings {
			t.Helper()
			found, err := b.owner.PolicyFindings(ctx, made.ID, 0, days)
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
		b.erase("files", "read")
		if diff := cmp.Diff([]string{shadowed}, kinds(found(1))); diff != "" {
			t.Errorf("what was erased is taken for known: %s", diff)
		}
		b.activePolicy(b.owner, b.org, policyText("guard", "deny"))
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
			if _, err := b.owner.PolicyFindings(ctx, c.id, c.version, c.days); client.StatusOf(err) != c.status {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

// erase takes the details out of what was decided about the calls of a tool.
func (b *bank) erase(server, tool string) {
	b.t.Helper()
	records, err := decision.Read(b.t.Context(), b.Database, b.org, 0, 1000)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, r := range records {
		if r.Server != server || r.Tool != tool {
			continue
		}
		if err := b.owner.ErasePayload(b.t.Context(), b.org, r.Index, "wanted"); err != nil {
			b.t.Fatal(err)
		}
	}
}

// TestWhoMayHaveCallsLookedAt: a key never, for it would learn what others sent.
func TestWhoMayHaveCallsLookedAt(t *testing.T) {
	t.Parallel()
	eachBank(t, func(t *testing.T, b *bank) {
		ctx, key := t.Context(), b.agentKey(b.owner, b.org).APIKey
		b.activePolicy(b.owner, b.org, workPolicy)
		b.works(key)
		id := b.draft(b.owner, b.org, "pay")
		callers := map[string]*client.Client{
			"owner": b.owner.Client, "agent": b.agent, "drafter": b.public.WithKey(b.draftKey(b.owner, b.org).APIKey),
			"unbound": b.unboundKey(b.owner),
		}
		for _, role := range []string{"admin", "approver", "member", "viewer"} {
			callers[role] = b.join(b.owner, b.org, role).Client
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
				return second(c.SuggestPolicy(ctx, b.org, client.SuggestionRequest{
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

func (w *changes) suggestPolicy() func(context.Context) (string, error) {
	b := &bank{server: w.server, owner: w.owner, org: w.organization(w.owner, "Suggests")}
	b.activePolicy(b.owner, b.org, workPolicy)
	b.works(b.agentKey(b.owner, b.org).APIKey)
	return inLog(b.org, func(ctx context.Context) error {
		return second(b.owner.SuggestPolicy(ctx, b.org, client.SuggestionRequest{AgentID: "worker", Days: 1}))
	})
}
