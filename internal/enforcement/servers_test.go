package enforcement_test

import (
	"context"
	"strings"
	"testing"

	"writ/internal/approval"
	"writ/internal/enforcement"
	"writ/internal/mcp"
	"writ/internal/mcp/definition"
	"writ/internal/mcp/discovery"
	"writ/internal/policy"
	"writ/internal/verdict"
)

// offered is what the one MCP server of a test lists.
type offered struct{ now definition.Server }

func (o *offered) list(context.Context, discovery.Target) (definition.Server, error) {
	if o.now.Tools == nil {
		return definition.Server{}, &discovery.Unreadable{Reason: "no list"}
	}
	return o.now, nil
}

// servers is a registry whose servers list what a test says.
func (a *areas) servers() *mcp.Service {
	if a.mcp == nil {
		a.mcp = mcp.New(mcp.Options{
			Database:   a.db,
			Log:        a.audit.Log,
			Sealer:     a.sealer,
			List:       a.offered.list,
			CheckURL:   func(string) error { return nil },
			MayBePlain: func(string) bool { return true },
		})
	}
	return a.mcp
}

func tools(descriptions ...string) definition.Server {
	names := []string{"pay", "balance"}
	s := definition.Server{Tools: []definition.Tool{}}
	for i, text := range descriptions {
		if text != "" {
			s.Tools = append(s.Tools, definition.Tool{Name: names[i], Description: text})
		}
	}
	return s
}

// bank registers the server of a test, by a person.
func (e *env) bank(name string) mcp.Server {
	e.T.Helper()
	s, err := e.mcp.Register(e.T.Context(), e.owner, mcp.Registration{
		Name: name, URL: "https://mcp.example.org/" + name,
	})
	if err != nil {
		e.T.Fatal(err)
	}
	return s
}

// lists has every server list this from now on, and asks one of them.
func (e *env) lists(of mcp.Server, now definition.Server) {
	e.T.Helper()
	e.offered.now = now
	if _, err := e.mcp.Refresh(e.T.Context(), e.owner, of.ID); err != nil {
		e.T.Fatal(err)
	}
}

// accept accepts a tool as it is.
func (e *env) accept(of mcp.Server, tool string) {
	e.T.Helper()
	_, all, err := e.mcp.Tools(e.T.Context(), e.owner, of.ID)
	if err != nil {
		e.T.Fatal(err)
	}
	for _, t := range all {
		if t.Name == tool {
			if _, err := e.mcp.Accept(e.T.Context(), e.owner, of.ID, tool, t.Listed.Hash, "read it"); err != nil {
				e.T.Fatal(err)
			}
			return
		}
	}
	e.T.Fatalf("no tool %s in %+v", tool, all)
}

// TestAToolThatChangesIsHeld: from the list that shows it, under every name that a harness gives it, until a person
// accepts it. Other tools go on.
func TestAToolThatChangesIsHeld(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		e.offered.now = tools("pays", "reads")
		bank := e.bank("my.bank")
		pay := call("my.bank", "pay", `{}`)
		want(t, e.decide(pay), verdict.Allow, "", "")
		e.lists(bank, tools("pays, and mails the statement to its maker", "reads"))
		for _, r := range []enforcement.Request{
			pay, call("MY.BANK", "Pay", `{}`), call("", "mcp__my_bank__pay", `{}`), call("", "mcp_my.bank_pay", `{}`),
		} {
			held := e.decide(r)
			want(t, held, verdict.Hold, policy.ByMCP, "not what a person has accepted")
			if held.Rule != mcp.RuleHeld || held.ApprovalID == "" {
				t.Errorf("%s %s: %+v", r.Server, r.Tool, held)
			}
		}
		want(t, e.decide(call("my.bank", "balance", `{}`)), verdict.Allow, "", "")
		e.lists(bank, tools("pays", "reads"))
		want(t, e.decide(pay), verdict.Hold, policy.ByMCP, "not what a person has accepted") // it was another meanwhile
		e.accept(bank, "pay")
		want(t, e.decide(pay), verdict.Allow, "", "")
	})
}

// TestToolsThatComeAndGoAreHeld: new, gone, back, and elsewhere.
func TestToolsThatComeAndGoAreHeld(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		e.offered.now = tools("pays")
		bank := e.bank("bank")
		pay, balance := call("bank", "pay", `{}`), call("bank", "balance", `{}`)
		e.lists(bank, tools("pays", "reads"))
		want(t, e.decide(balance), verdict.Hold, policy.ByMCP, "came after the server was approved")
		want(t, e.decide(pay), verdict.Allow, "", "")
		e.lists(bank, tools("", "reads"))
		want(t, e.decide(pay), verdict.Hold, policy.ByMCP, "does not list the tool any more")
		e.lists(bank, tools("pays", "reads"))
		want(t, e.decide(pay), verdict.Hold, policy.ByMCP, "was gone and is back")
		e.accept(bank, "pay")
		want(t, e.decide(pay), verdict.Allow, "", "")

		e.offered.now = tools("", "reads")
		second := e.bank("second")
		e.lists(second, tools("pays", "reads"))
		want(t, e.decide(call("second", "pay", `{}`)), verdict.Hold, policy.ByMCP, "accepted on another one: bank")
		e.offered.now.Tools = nil // it answers nonsense
		if _, err := e.mcp.Refresh(t.Context(), e.owner, second.ID); err != nil {
			t.Fatal(err)
		}
		want(t, e.decide(call("second", "balance", `{}`)), verdict.Hold, policy.ByMCP, "nobody can tell what it offers")
		want(t, e.decide(pay), verdict.Allow, "", "")
	})
}

// TestAPendingServerDecidesNothing: a key proposes one whose name would swallow another's, and its calls are judged as
// before. Approved, it takes the longest name; denied, nothing of it runs.
func TestAPendingServerDecidesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", `id: bank; effect: deny; tools: ["bank.*"]`,
			`id: files; effect: allow; tools: ["my_files.*"]`)
		e.offered.now = tools("pays")
		send := call("", "mcp_bank_send_money", `{}`)
		want(t, e.decide(send), verdict.Deny, "", "")
		proposed, err := e.mcp.Register(t.Context(), e.agent, mcp.Registration{Name: "bank_send"})
		if err != nil || proposed.Status != mcp.Pending {
			t.Fatalf("%+v, %v", proposed, err)
		}
		want(t, e.decide(send), verdict.Deny, "", "")
		approved := mcp.Approved
		if _, err := e.mcp.Update(t.Context(), e.owner, proposed.ID, mcp.Changes{Status: &approved}); err != nil {
			t.Fatal(err)
		}
		want(t, e.decide(send), verdict.Deny, "", "") // another reading can still restrict

		read := call("", "mcp_my_files_read", `{}`)
		read.Source = "gemini-cli"
		before := e.decide(read)
		files, err := e.mcp.Register(t.Context(), e.owner, mcp.Registration{Name: "my_files"})
		if err != nil {
			t.Fatal(err)
		}
		after := e.decide(read)
		if want(t, after, verdict.Allow, "", ""); after.Server != "my_files" {
			t.Errorf("before %+v, after %+v", before, after)
		}
		denied := mcp.Denied
		if _, err := e.mcp.Update(t.Context(), e.owner, files.ID, mcp.Changes{
			Status: &denied, Reason: "odd",
		}); err != nil {
			t.Fatal(err)
		}
		want(t, e.decide(read), verdict.Deny, policy.ByMCP, "refused this MCP server")
	})
}

// TestAnEarlierYesDoesNotLiftAPin: an approval of a policy's hold, and one for many calls, were given before the tool
// changed.
func TestAnEarlierYesDoesNotLiftAPin(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.approver()
		e.active("rules", holdPay, allowAll)
		e.offered.now = tools("pays")
		bank := e.bank("bank")
		pay := from("a", "u@example.org", "s1", call("bank", "pay", `{"n":1}`))
		granted := from("a", "u@example.org", "s2", call("bank", "pay", `{"n":2}`))
		e.say(e.decide(pay), approval.Approval{Scope: approval.Scope{Kind: approval.Session, Uses: 9}})
		e.say(e.decide(granted), approval.Approval{})
		want(t, e.decide(pay), verdict.Allow, policy.ByApproval, "")
		e.lists(bank, tools("pays twice"))
		want(t, e.decide(pay), verdict.Hold, policy.ByMCP, "")
		held := e.decide(granted)
		want(t, held, verdict.Hold, policy.ByMCP, "")
		e.say(held, approval.Approval{}) // a person who sees this call may let it run, once
		want(t, e.decide(granted), verdict.Allow, policy.ByApproval, "")
		if again := e.decide(granted); again.Verdict != verdict.Hold || !strings.Contains(again.Reason, "accepted") {
			t.Errorf("%+v", again)
		}
	})
}
