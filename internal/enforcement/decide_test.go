package enforcement_test

import (
	"strings"
	"testing"
	"time"

	"writ/internal/decision"
	"writ/internal/enforcement"
	"writ/internal/intent"
	"writ/internal/intent/plan"
	"writ/internal/policy"
	"writ/internal/principal"
	"writ/internal/verdict"
)

// TestOrderOfChecks has each check refuse, with those behind it allowing.
func TestOrderOfChecks(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		shown := e.mint(e.agent, twoSteps)
		want(t, e.decide(planned(shown, "read", `{}`)), verdict.Deny, policy.ByDefault, "no active policy")
		e.active("rules", `id: read; effect: allow; tools: ["fs.*"]`, `id: make; effect: hold; tools: ["sh.bash"]`)

		allowed := e.decide(planned(shown, "read", `{"path":"a"}`))
		want(t, allowed, verdict.Allow, "rules", "allowed by rule read")
		if allowed.Step != 0 || allowed.Server != "fs" || allowed.PlanID != shown.PlanID ||
			allowed.PolicyVersion != 1 || allowed.Rule != "read" {
			t.Errorf("allowed: %+v", allowed)
		}
		held := e.decide(planned(shown, "bash", `{"command":"make"}`))
		want(t, held, verdict.Hold, "rules", "held for approval")
		if held.ApprovalID == "" || held.Allowed() {
			t.Errorf("held: %+v", held)
		}
		for name, c := range map[string]struct {
			request enforcement.Request
			reason  string
		}{
			"no token":        {planned(plan.Presented{}, "read", `{}`), "no plan"},
			"other tool":      {planned(shown, "write", `{}`), "not in the plan; the plan allows fs.read, sh.bash"},
			"other arguments": {planned(shown, "bash", `{"command":"rm"}`), "another value for command"},
		} {
			got := e.decide(c.request)
			want(t, got, verdict.Deny, policy.ByIntent, c.reason)
			if !got.Recorded || e.checkReceipt(got) != nil || got.Step != -1 {
				t.Errorf("%s: %+v", name, got)
			}
		}
		for _, a := range []enforcement.Answer{allowed, held} {
			if err := e.checkReceipt(a); err != nil {
				t.Error(err)
			}
		}
		if n := e.verified(); n != 6 {
			t.Errorf("%d decisions, want 6", n)
		}
	})
}

func TestTokens(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		shown := e.mint(e.agent, twoSteps, func(r *intent.Request) {
			r.UserID, r.AgentID, r.ContextID, r.SessionID = "u", "a", "c", "s"
		})
		altered := shown
		altered.Signature = strings.Repeat("0", len(shown.Signature))
		unsigned := shown
		unsigned.Signature = ""
		unknown := shown
		unknown.PlanID, unknown.Reference = "0196a000-0000-7000-8000-000000000000", ""
		with := func(change func(*enforcement.Request)) enforcement.Request {
			r := planned(shown, "read", `{}`)
			change(&r)
			return r
		}
		for name, c := range map[string]struct {
			by      principal.Principal
			request enforcement.Request
			reason  string // empty: allowed
		}{
			"good": {e.agent, planned(shown, "read", `{}`), ""},
			"same user": {
				e.agent, with(func(r *enforcement.Request) { r.UserID, r.AgentID = "u", plan.NotStated }), "",
			},
			"altered":         {e.agent, planned(altered, "read", `{}`), "not the one issued"},
			"without proof":   {e.agent, planned(unsigned, "read", `{}`), "not the one issued"},
			"unknown":         {e.agent, planned(unknown, "read", `{}`), "no plan"},
			"of another key":  {e.other, planned(shown, "read", `{}`), "another API key"},
			"of another org":  {e.foreign, planned(shown, "read", `{}`), "no plan"},
			"another user":    {e.agent, with(func(r *enforcement.Request) { r.UserID = "v" }), "another user"},
			"another agent":   {e.agent, with(func(r *enforcement.Request) { r.AgentID = "b" }), "another agent"},
			"another context": {e.agent, with(func(r *enforcement.Request) { r.ContextID = "d" }), "another context"},
			"another session": {e.agent, with(func(r *enforcement.Request) { r.SessionID = "t" }), "another session"},
			"another server":  {e.agent, with(func(r *enforcement.Request) { r.Server = "net" }), "not in the plan"},
			"without a scope": {
				principal.Principal{Kind: principal.Key, OrgID: e.acme, KeyID: e.agent.KeyID},
				planned(shown, "read", `{}`), "scope enforce",
			},
			"a person": {e.owner, planned(shown, "read", `{}`), "scope enforce"},
			"no organization": {
				principal.Principal{Kind: principal.Key, KeyID: e.agent.KeyID, Scopes: e.agent.Scopes},
				planned(shown, "read", `{}`), "scope enforce",
			},
			"nobody whosoever": {principal.Principal{}, planned(shown, "read", `{}`), "scope enforce"},
		} {
			got := e.decisions.Decide(t.Context(), c.by, c.request)
			if got.Allowed() != (c.reason == "") || !strings.Contains(got.Reason, c.reason) {
				t.Errorf("%s: %s: %s", name, got.Verdict, got.Reason)
			}
		}
	})
}

func TestAPlanThatEnds(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		shown := e.mint(e.agent, twoSteps)
		want(t, e.decide(planned(shown, "read", `{}`)), verdict.Allow, "", "")
		if _, err := e.plans.SetStatus(t.Context(), e.agent, shown.PlanID, plan.Completed); err != nil {
			t.Fatal(err)
		}
		want(t, e.decide(planned(shown, "read", `{}`)), verdict.Deny, policy.ByIntent, "has ended (completed)")

		shown = e.mint(e.agent, twoSteps)
		e.Pass(-2 * time.Minute)
		want(t, e.decide(planned(shown, "read", `{}`)), verdict.Deny, policy.ByIntent, "in the future")
		e.Pass(2 * time.Minute)
		want(t, e.decide(planned(shown, "read", `{}`)), verdict.Allow, "", "")
		e.Pass(intent.DefaultLife)
		want(t, e.decide(planned(shown, "read", `{}`)), verdict.Deny, policy.ByIntent, "expired")
		e.Pass(-time.Second)
		want(t, e.decide(planned(shown, "read", `{}`)), verdict.Allow, "", "")
		e.verified()
	})
}

// TestPlansOfSessions are calls that present no token, as plugins send them.
func TestPlansOfSessions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		in := func(session, tool string) enforcement.Request {
			return enforcement.Request{Tool: tool, SessionID: session, Source: "gemini-cli"}
		}
		got := e.decide(in("s", "anything"))
		want(t, got, verdict.Allow, "", "")
		if got.Server != "gemini-cli" || got.PlanID != "" {
			t.Errorf("without a plan: %+v", got)
		}
		shown := e.mint(e.agent, twoSteps, func(r *intent.Request) { r.SessionID = "s" })
		want(t, e.decide(in("s", "anything")), verdict.Deny, policy.ByIntent, "not in the plan")
		want(t, e.decide(in("other", "anything")), verdict.Allow, "", "")
		if got := e.decide(in("s", "read")); !got.Allowed() || got.PlanID != shown.PlanID {
			t.Errorf("in the plan: %+v", got)
		}
		if got := e.decisions.Decide(t.Context(), e.other, in("s", "anything")); !got.Allowed() {
			t.Errorf("a session of another key: %+v", got)
		}
		if _, err := e.plans.SetStatus(t.Context(), e.agent, shown.PlanID, plan.Failed); err != nil {
			t.Fatal(err)
		}
		want(t, e.decide(in("s", "read")), verdict.Deny, policy.ByIntent, "has ended")
		e.mint(e.agent, `{"steps":[{"action":"other"}]}`, func(r *intent.Request) { r.SessionID = "s" })
		want(t, e.decide(in("s", "other")), verdict.Allow, "", "")

		if _, err := e.decisions.SetSettings(t.Context(), e.owner, enforcement.Settings{
			IntentRequired: true, MaxPlanTTL: time.Hour,
		}); err != nil {
			t.Fatal(err)
		}
		want(t, e.decide(in("new", "anything")), verdict.Deny, policy.ByIntent, "no plan")
		want(t, e.decide(in("", "anything")), verdict.Deny, policy.ByIntent, "no plan")
		want(t, e.decide(in("s", "other")), verdict.Allow, "", "")
	})
}

// TestAPlanDoesNotMoveTheHarnessTools: agents write plans. One that puts the shell on
// a server whose tools may run does not have it run as one of them.
func TestAPlanDoesNotMoveTheHarnessTools(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", `id: issues; effect: allow; tools: ["github.*"]`,
			`id: shell; effect: hold; tools: ["claude-code.Bash"]`)
		e.mint(e.agent,
			`{"steps":[{"action":"Bash","mcp":"github"},{"action":"Write","mcp":"github"},{"action":"mcp__github__create_issue"},{"action":"mcp_github_list","mcp":"github"}]}`,
			func(r *intent.Request) { r.SessionID = "s" })
		in := func(tool, source, server string) enforcement.Request {
			return enforcement.Request{Tool: tool, SessionID: "s", Source: source, Server: server}
		}
		want(t, e.decide(in("Bash", "claude-code", "")), verdict.Hold, "", "")
		want(t, e.decide(in(" bash", "codex", "")), verdict.Deny, "", "")
		want(t, e.decide(in("Write", "gemini-cli", "")), verdict.Deny, "", "")
		want(t, e.decide(in("mcp__github__create_issue", "claude-code", "")), verdict.Allow, "", "")
		want(t, e.decide(in("mcp_github_list", "gemini-cli", "")), verdict.Allow, "", "")
		// the host says that it is the server's
		want(t, e.decide(in("Bash", "gemini-cli", "github")), verdict.Allow, "", "")
	})
}

// TestSeveralServers: a call that names no server is judged for all its plan may
// mean.
func TestSeveralServers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll, `id: no; effect: deny; tools: ["prod.*", "fs.Write"]`,
			`id: wait; effect: hold; tools: ["stage.*"]`)
		shown := e.mint(e.agent, `{"steps":[
			{"action":"run","mcp":"dev"},{"action":"run","mcp":"prod","params":{"on":"prod"}},{"action":"run","mcp":"stage","params":{"on":"stage"}},
			{"action":"write","mcp":"fs"}]}`)
		for name, c := range map[string]struct {
			tool, args string
			want       verdict.Verdict
			server     string
		}{
			"one fits":             {"run", `{}`, verdict.Allow, "dev"},
			"a strict one fits":    {"run", `{"on":"prod"}`, verdict.Deny, "prod"},
			"one that holds fits":  {"run", `{"on":"stage"}`, verdict.Hold, "stage"},
			"with its server":      {"dev__run", `{"on":"prod"}`, verdict.Allow, "dev"},
			"as the plan is":       {"write", `{}`, verdict.Allow, "fs"},
			"in the policy's case": {"Write", `{}`, verdict.Deny, "fs"},
		} {
			got := e.decide(planned(shown, c.tool, c.args))
			if got.Verdict != c.want || got.Server != c.server {
				t.Errorf("%s: %s on %s: %s", name, got.Verdict, got.Server, got.Reason)
			}
		}
	})
}

// TestNobodyLeavesABoundPolicy: who is named adds what binds them, and wins
// nothing.
func TestNobodyLeavesABoundPolicy(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.Member(e.acme, e.bob, principal.Member)
		e.active("everyone", `id: read; effect: allow; tools: ["fs.read"]`)
		bind := func(name string, b policy.Bindings, rule string) {
			full := e.active(name, rule)
			if _, err := e.policies.SetBindings(t.Context(), e.owner, full.ID, b); err != nil {
				t.Fatal(err)
			}
		}
		bind("ada", policy.Bindings{Members: []string{e.ada}}, `id: ada; effect: deny; tools: ["x.ada"]`)
		bind("bob", policy.Bindings{Members: []string{e.bob}}, `id: bob; effect: allow; tools: ["x.bob"]`)
		bind("bot", policy.Bindings{Clients: []string{"bot"}}, `id: bot; effect: deny; tools: ["fs.read"]`)
		bind("key", policy.Bindings{Clients: []string{e.agent.KeyID}}, `id: key; effect: allow; tools: ["x.*"]`)
		bind("members", policy.Bindings{Roles: []string{"member"}}, `id: member; effect: allow; tools: ["y.*"]`)

		by := func(server, tool, user, email, agent string) enforcement.Answer {
			r := call(server, tool, `{}`)
			r.UserID, r.UserEmail, r.AgentID = user, email, agent
			return e.decide(r)
		}
		want(t, by("fs", "read", "", "", ""), verdict.Allow, "everyone", "")
		want(t, by("fs", "read", "", "", "bot"), verdict.Deny, "bot", "")
		want(t, by("x", "ada", "", "", ""), verdict.Deny, "ada", "")
		want(t, by("x", "ada", e.bob, "", ""), verdict.Deny, "ada", "")
		want(t, by("x", "ada", "stranger", "x@example.org", "bot"), verdict.Deny, "ada", "")
		want(t, by("x", "free", "", "", ""), verdict.Allow, "key", "")
		want(t, by("x", "bob", "", "BOB@example.org", ""), verdict.Allow, "", "")
		// A member's own right is not won by naming them, nor a role's.
		for _, got := range []enforcement.Answer{
			e.decisions.Decide(t.Context(), e.other, enforcement.Request{Server: "x", Tool: "bob", UserID: e.bob}),
			by("y", "any", e.bob, "", ""), by("y", "any", "", "bob@example.org", ""),
		} {
			want(t, got, verdict.Deny, "", "")
		}
	})
}

func TestRolesInConditionsAreNotWonByNaming(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.Member(e.acme, e.bob, principal.Viewer)
		e.active("roles", `id: owners; effect: allow; tools: ["x.*"]; when: user.role == "owner"`,
			`id: viewers; effect: allow; tools: ["y.*"]; when: user.role == "viewer"`)
		bobs := e.key(e.bob, e.acme)
		named := func(p principal.Principal, server, user string) enforcement.Answer {
			return e.decisions.Decide(t.Context(), p, enforcement.Request{Server: server, Tool: "t", UserID: user})
		}
		want(t, named(e.agent, "x", ""), verdict.Allow, "", "")
		want(t, named(bobs, "x", ""), verdict.Deny, "", "")
		want(t, named(bobs, "x", e.ada), verdict.Deny, "", "")
		want(t, named(bobs, "y", ""), verdict.Allow, "", "")
		want(t, named(e.agent, "y", e.bob), verdict.Deny, "", "")
	})
}

func TestHostileCalls(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		long := strings.Repeat("x", 1<<20)
		for name, r := range map[string]enforcement.Request{
			"no tool":          call("s", "", `{}`),
			"a list":           call("s", "t", `["secret"]`),
			"half":             call("s", "t", `{"secret":`),
			"twice":            call("s", "t", `{"secret":1,"secret":2}`),
			"bad UTF-8":        call("s", "t", "{\"a\":\"\xff\"}"),
			"deep":             call("s", "t", strings.Repeat(`{"a":`, 100)+"1"+strings.Repeat("}", 100)),
			"huge number":      call("s", "t", `{"a":1e999}`),
			"more digits":      call("s", "t", `{"a":`+strings.Repeat("9", 5000)+`}`),
			"too long":         call("s", "t", `{"a":"`+long+`"}`),
			"NUL in the tool":  call("s", "t\x00secret", `{}`),
			"a bad tool":       call("s", "t\xff", `{}`),
			"a long tool":      call("s", long, `{}`),
			"a bad server":     call("s\n", "t", `{}`),
			"control in agent": {Server: "s", Tool: "t", AgentID: "a\x1bb"},
			"a long user":      {Server: "s", Tool: "t", UserID: long},
			"many labels":      {Server: "s", Tool: "t", Labels: make([]string, 1000)},
			"a bad label":      {Server: "s", Tool: "t", Labels: []string{"\x00"}},
		} {
			got := e.decide(r)
			if name == "a bad server" {
				want(t, got, verdict.Allow, "", "") // a line feed at the end is no part of a name
				continue
			}
			if got.Verdict != verdict.Deny || !got.Recorded || got.PolicyID != policy.ByDefault ||
				strings.Contains(got.Reason, "secret") {
				t.Errorf("%s: %s recorded=%t: %s", name, got.Verdict, got.Recorded, got.Reason)
			}
			if err := e.checkReceipt(got); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n := e.verified(); n != 17 {
			t.Errorf("%d decisions, want 17", n)
		}
	})
}

func TestSecretsAreNotStored(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", `id: wait; effect: hold; tools: ["*"]`)
		r := call("s", "t", `{"password":"hunter2-planted","n":{"note":"token=planted-too-1234"},"plain":"kept"}`)
		r.ResolvedPaths = map[string]string{"a": "/x?api_key=planted-path-123"}
		want(t, e.decide(r), verdict.Hold, "", "")
		other := e.decide(call("s", "t", `{"grüße":"größer","n":1.0}`))
		var full string
		if err := e.DB.QueryRow(t.Context(), `SELECT payload FROM audit_entry WHERE log = $1 AND position = $2`, e.acme,
			other.Receipt.Index).Scan(&full); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(full, "incomplete") || !strings.Contains(full, `"n":1`) {
			t.Errorf("arguments without secrets: %s", full)
		}
		var entry, request string
		if err := e.DB.QueryRow(t.Context(), `SELECT payload FROM audit_entry WHERE action = $1 ORDER BY position`,
			decision.Action).Scan(&entry); err != nil {
			t.Fatal(err)
		}
		if err := e.DB.QueryRow(t.Context(),
			`SELECT arguments FROM approval_request ORDER BY id`).Scan(&request); err != nil {
			t.Fatal(err)
		}
		if text := entry + request; strings.Contains(text, "planted") || strings.Count(text, "kept") != 2 {
			t.Errorf("stored: %s", text)
		}
	})
}

// TestFiguresOfASession: conditions see what it has used, and fail where nobody
// can tell.
func TestFiguresOfASession(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll,
			`id: enough; effect: deny; tools: ["*"]; when: session.calls >= 2 || session.costUsd > 1.0`)
		in := func(session string) enforcement.Request {
			r := call("fs", "read", `{}`)
			r.SessionID = session
			return r
		}
		for range 2 {
			want(t, e.decide(in("s")), verdict.Allow, "", "")
			want(t, e.decide(in("")), verdict.Allow, "", "")
		}
		for range 2 {
			want(t, e.decide(in("s")), verdict.Deny, "rules", "denied by rule enough")
		}
		want(t, e.decide(in("other")), verdict.Allow, "", "")
		e.meanwhile.nanos.Store(2_000_000_000)
		want(t, e.decide(in("third")), verdict.Deny, "rules", "denied by rule enough")
		e.meanwhile.away.Store(true)
		want(t, e.decide(in("third")), verdict.Deny, "rules", "the session's statistics cannot be read")
	})
}
