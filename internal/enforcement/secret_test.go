package enforcement_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"writ/internal/enforcement"
	"writ/internal/intent"
	"writ/internal/policy"
	"writ/internal/verdict"
)

// leaked is a key of the kind that agents paste into the wrong place. It is put
// together here, so that no scanner takes this file for a leak.
var leaked = "gh" + "p_" + strings.Repeat("aB3d", 9)

// TestNoKeyIsKept pastes a key into every text of a call that is kept.
func TestNoKeyIsKept(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		shown := e.mint(e.agent, `{"steps":[{"action":"read","mcp":"fs","strict":true,"params":{"path":"a"}}]}`)
		place := map[string]func(*enforcement.Request){
			"server":      func(r *enforcement.Request) { r.Server = leaked },
			"tool":        func(r *enforcement.Request) { r.Tool = "use " + leaked },
			"a long tool": func(r *enforcement.Request) { r.Tool = strings.Repeat("x", 170) + " " + leaked },
			"agent":       func(r *enforcement.Request) { r.AgentID = leaked },
			"user":        func(r *enforcement.Request) { r.UserID = leaked },
			"e-mail":      func(r *enforcement.Request) { r.UserEmail = leaked + "@example.org" },
			"session":     func(r *enforcement.Request) { r.SessionID = leaked },
			"context":     func(r *enforcement.Request) { r.ContextID = leaked },
			"source":      func(r *enforcement.Request) { r.Source = leaked },
			"label":       func(r *enforcement.Request) { r.Labels = []string{"pii", leaked} },
		}
		for name, put := range place {
			r := call("fs", "read", `{"path":"a"}`)
			put(&r)
			got := e.decide(r)
			want(t, got, verdict.Deny, policy.ByDefault, "")
			if !got.Recorded || strings.Contains(fmt.Sprintf("%+v", got), leaked) {
				t.Errorf("%s: %+v", name, got)
			}
		}
		// The name of an argument is data, and is told in the reason.
		want(t, e.decide(planned(shown, "read", `{"path":"a","`+leaked+`":1}`)), verdict.Deny, policy.ByIntent,
			"[redacted]")
		want(t,
			e.decide(call("fs", "read", `{"path":"`+leaked+`","env":[{"name":"TOKEN","value":"hunter2-hunter2"}]}`)),
			verdict.Allow, "", "")
		for _, secret := range []string{leaked[:20], "hunter2"} {
			if kept := e.everything(); strings.Contains(kept, secret) {
				at := strings.Index(kept, secret)
				t.Errorf("%q is kept: %s", secret, kept[max(0, at-300):min(len(kept), at+100)])
			}
		}
	})
}

func TestNoKeyNamesAPlan(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for name, put := range map[string]func(*intent.Request){
			"user_id":    func(r *intent.Request) { r.UserID = leaked },
			"user_email": func(r *intent.Request) { r.Email = leaked },
			"agent_id":   func(r *intent.Request) { r.AgentID = leaked },
			"context_id": func(r *intent.Request) { r.ContextID = leaked },
			"session_id": func(r *intent.Request) { r.SessionID = leaked },
		} {
			r := intent.Request{Plan: []byte(twoSteps)}
			put(&r)
			if _, err := e.plans.Mint(t.Context(), e.agent, r); err == nil || !strings.Contains(err.Error(), name) ||
				strings.Contains(err.Error(), leaked) {
				t.Errorf("%s: %v", name, err)
			}
		}
		// A goal is cut, and not within a key.
		e.mint(e.agent, `{"goal":"`+strings.Repeat("word ", 817)+leaked+` more","steps":[{"action":"read"}]}`)
		if _, err := e.plans.RecordPreflight(t.Context(), e.agent, intent.Preflight{
			AgentID: leaked, Prompt: strings.Repeat("x", 1990) + " " + leaked,
			Violations: []string{leaked + ": denied"},
			Tools:      []intent.PreflightTool{{Server: leaked, Tool: "t" + strings.Repeat("x", 190) + " " + leaked}},
		}); err != nil {
			t.Fatal(err)
		}
		if kept := e.everything(); strings.Contains(kept, leaked[:8]) {
			at := strings.Index(kept, leaked[:8])
			t.Errorf("a key is kept: %s", kept[max(0, at-300):min(len(kept), at+100)])
		}
	})
}

// everything is every column of what decisions and plans are kept in, as one text.
func (e *env) everything() string {
	e.T.Helper()
	return e.Text("audit_entry", "approval_request", "plan", "plan_anchor")
}

// TestEveryNameOfAnArgumentIsRecorded calls with names that no column of text takes,
// or that change what a terminal shows. The reason tells them, and must be kept.
func TestEveryNameOfAnArgumentIsRecorded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		shown := e.mint(e.agent, `{"steps":[{"action":"read","mcp":"fs","strict":true,"params":{"pa\u0000th":"a"}}]}`)
		for _, args := range []string{
			`{}`, `{"pa\u0000th":"a","b\u0000c":1}`, `{"\u0000":1}`, `{"\u001b[2J":1}`, `{"\u202e":1}`, `{"\u0085":1}`,
		} {
			got := e.decide(planned(shown, "read", args))
			want(t, got, verdict.Deny, policy.ByIntent, "arguments are not those of the plan")
			if !got.Recorded || strings.ContainsFunc(got.Reason, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%s: recorded %t: %q", args, got.Recorded, got.Reason)
			}
		}
		want(t, e.decide(planned(shown, "read", `{"pa\u0000th":"a"}`)), verdict.Allow, "", "")
	})
}

// TestNamesShowAsTheyAre names tools and people so that they would be read as others.
func TestNamesShowAsTheyAre(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		for _, name := range []string{
			"\u202eyap", "pay\u200b", "pay\ufeff", "a\u2028b", "\u2067x", "p\u00aday", "a\U000e0041",
		} {
			for _, r := range []enforcement.Request{
				call("fs", name, `{}`), call(name, "read", `{}`), {Server: "fs", Tool: "read", AgentID: name},
			} {
				got := e.decide(r)
				want(t, got, verdict.Deny, policy.ByDefault, "control characters")
				if !got.Recorded {
					t.Errorf("%q: not recorded", name)
				}
			}
		}
		for _, name := range []string{"lire_fichier_é", "読む", "\U0001F469\u200d\U0001F4BB", "می\u200cخواهم"} {
			want(t, e.decide(call("fs", name, `{}`)), verdict.Allow, "rules", "")
		}
	})
}
