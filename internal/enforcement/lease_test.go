package enforcement_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"writ/internal/agent"
	"writ/internal/agent/lease"
	"writ/internal/database"
	"writ/internal/enforcement"
	"writ/internal/fault"
	"writ/internal/intent"
	"writ/internal/principal"
	"writ/internal/testenv"
)

// leaseTolerance is how far clocks may differ.
const leaseTolerance = 5 * time.Second

var readTool = lease.Tool{Server: "fs", Tool: "read"}

// leases has acme give leases of a minute.
func (e *env) leases() {
	e.T.Helper()
	_, err := e.agents.SetSettings(e.T.Context(), e.owner,
		agent.SettingsChange{UnregisteredMayAct: true, LeaseLife: new(time.Minute)})
	if err != nil {
		e.T.Fatal(err)
	}
}

func (e *env) lease(p principal.Principal, r enforcement.LeaseRequest) (enforcement.LeaseAnswer, error) {
	if r.Tools == nil {
		r.Tools = []lease.Tool{readTool}
	}
	return e.decisions.Lease(e.T.Context(), p, r)
}

// TestALeaseIsOverCertainAllows: not over what depends on the call, on a limit or on a person, and by the names that
// decisions judge.
func TestALeaseIsOverCertainAllows(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", `id: read; effect: allow; tools: ["fs.*", "web.*"]`,
			`id: some; effect: deny; tools: ["fs.write"]; when: args.path == "/etc"`,
			`id: held; effect: hold; tools: ["fs.move"]`,
			`id: few; effect: allow; tools: ["git.log"]; limit: {calls: 5, per: 1h, by: org}`,
			`id: night; effect: deny; tools: ["web.get"]; when: now.getHours() < 6`)
		_, err := e.lease(e.agent, enforcement.LeaseRequest{})
		testenv.WantFault(t, "leases are off by default", err, fault.Forbidden)
		e.leases()
		given, err := e.lease(e.agent, enforcement.LeaseRequest{AgentID: "bot", Tools: []lease.Tool{
			readTool, {Server: "fs", Tool: "write"}, {Server: "fs", Tool: "move"}, {Server: "git", Tool: "log"},
			{Server: "web", Tool: "get"}, {Server: "bank", Tool: "pay"}, readTool, {Tool: "mcp__fs__read"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		if want := []lease.Tool{readTool, {Tool: "mcp__fs__read"}}; !slices.Equal(given.Tools, want) ||
			len(given.Refused) != 5 {
			t.Errorf("leased: %+v, refused: %+v", given.Tools, given.Refused)
		}
		may := map[int]string{0: "denied by rule some", 2: "allowed by rule few", 3: "denied by rule night"}
		for i, rule := range may {
			if want := "depends on the call, which may be " + rule; !strings.Contains(given.Refused[i].Reason, want) {
				t.Errorf("%s is refused because %q", given.Refused[i].Tool.Tool, given.Refused[i].Reason)
			}
		}
		keys, err := e.plans.PublicKeys(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		read, err := lease.Verify(given.Text, func(id string) (ed25519.PublicKey, error) {
			return keys[slices.IndexFunc(keys, func(k intent.PublicKey) bool { return k.ID == id })].Public, nil
		})
		if err != nil || read.KeyID != e.agent.KeyID || read.AgentID != "bot" || read.OrgID != e.acme ||
			!read.Expires.Equal(e.Now().Add(time.Minute)) || len(read.Tools) != 2 {
			t.Errorf("signed: %+v, %v", read, err)
		}
		_, err = e.lease(e.agent, enforcement.LeaseRequest{Tools: []lease.Tool{{Server: "bank", Tool: "pay"}}})
		testenv.WantFault(t, "over nothing", err, fault.Forbidden)
		short, err := e.lease(e.agent, enforcement.LeaseRequest{Life: 10 * time.Second})
		if err != nil || !short.Expires.Equal(e.Now().Add(10*time.Second)) {
			t.Errorf("%+v, %v", short, err)
		}
		if n := e.count(`audit_entry WHERE action = 'agent.leased'`); n != 2 {
			t.Errorf("%d entries about leases", n)
		}
	})
}

// TestWhoGetsNoLease: the stopped, the suspended, those who need a plan, keys that ended, and who asks wrongly.
func TestWhoGetsNoLease(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		e.leases()
		e.register("billing", agent.Profile{Keys: []string{e.agent.KeyID}})
		refused := func(what string, kind fault.Kind, r enforcement.LeaseRequest) {
			t.Helper()
			_, err := e.lease(e.agent, r)
			testenv.WantFault(t, what, err, kind)
		}
		named := enforcement.LeaseRequest{AgentID: "billing"}
		for _, stop := range []struct {
			scope   agent.Scope
			subject string
		}{
			{agent.OfAgent, "billing"}, {agent.OfKey, e.agent.KeyID}, {agent.OfOrganization, ""},
			{agent.OfTool, "read"},
			{agent.OfServer, "fs"},
		} {
			e.kill(stop.scope, stop.subject)
			refused("stopped by "+string(stop.scope), fault.Forbidden, named)
			e.revive(stop.scope, stop.subject)
		}
		for _, to := range []agent.Status{agent.Suspended, agent.Active} {
			if _, err := e.agents.SetStatus(t.Context(), e.owner, "billing", to, "r"); err != nil {
				t.Fatal(err)
			}
			_, err := e.lease(e.agent, enforcement.LeaseRequest{AgentID: "another"})
			if (err == nil) != (to == agent.Active) {
				t.Errorf("%s: %v", to, err)
			}
		}
		session := named
		session.SessionID = "s1"
		e.mint(e.agent, twoSteps, func(r *intent.Request) { r.SessionID = "s1" })
		refused("with the plan of a session", fault.Forbidden, session)
		if _, err := e.agents.Update(t.Context(), e.owner, "billing", agent.Changes{
			IntentRequired: new(true),
		}); err != nil {
			t.Fatal(err)
		}
		refused("an agent that needs a plan", fault.Forbidden, named)
		refused("no tools", fault.Invalid, enforcement.LeaseRequest{Tools: []lease.Tool{}})
		refused("a nameless tool", fault.Invalid, enforcement.LeaseRequest{Tools: []lease.Tool{{Server: "fs"}}})
		refused("too long", fault.Invalid, enforcement.LeaseRequest{Life: 6 * time.Minute})
		if err := e.keys.Revoke(t.Context(), e.owner, e.agent.KeyID); err != nil {
			t.Fatal(err)
		}
		refused("a revoked key", fault.Forbidden, named)
		_, err := e.lease(e.owner, named)
		testenv.WantFault(t, "a person", err, fault.Forbidden)
		for i := range 101 {
			_, err := e.lease(e.other, enforcement.LeaseRequest{})
			if (err == nil) != (i < 100) {
				t.Errorf("lease %d: %v", i, err)
			}
		}
	})
}

// TestNoLeaseStandsBehindAKill, and the kill's answer says when the last lease ends.
func TestNoLeaseStandsBehindAKill(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		e.leases()
		e.register("billing", agent.Profile{Keys: []string{e.agent.KeyID}})
		replica := open(t, e.Replica().DB)
		if stop := e.kill(agent.OfAgent, "billing"); stop.LeasesEndAt != nil {
			t.Errorf("without leases: %v", stop.LeasesEndAt)
		}
		e.revive(agent.OfAgent, "billing")
		for range 4 {
			var asking sync.WaitGroup
			var mu sync.Mutex
			var last time.Time
			for _, on := range []*enforcement.Service{e.decisions, replica.decisions} {
				asking.Go(func() {
					for range 6 {
						e.Pass(time.Second)
						got, err := on.Lease(t.Context(), e.agent, enforcement.LeaseRequest{
							Tools: []lease.Tool{readTool},
						})
						mu.Lock()
						if err == nil && got.Expires.After(last) {
							last = got.Expires
						}
						mu.Unlock()
					}
				})
			}
			stop := e.kill(agent.OfAgent, "billing")
			asking.Wait()
			if n := e.count(`agent_lease WHERE position > ` + strconv.FormatInt(stop.Index, 10)); n != 0 {
				t.Errorf("%d leases behind the kill", n)
			}
			if !last.IsZero() && (stop.LeasesEndAt == nil || stop.LeasesEndAt.Before(last)) {
				t.Errorf("the last lease ends at %s, the kill says %v", last, stop.LeasesEndAt)
			}
			e.revive(agent.OfAgent, "billing")
		}
		if _, err := e.lease(e.other, enforcement.LeaseRequest{}); err != nil {
			t.Fatal(err)
		}
		e.Pass(2 * time.Minute)
		if _, err := e.lease(e.other, enforcement.LeaseRequest{}); err != nil {
			t.Fatal(err)
		}
		if stop := e.kill(agent.OfAgent, "billing"); stop.LeasesEndAt != nil {
			t.Errorf("a lease of another key: %v", stop.LeasesEndAt)
		}
		if stop := e.kill(agent.OfOrganization, ""); stop.LeasesEndAt == nil {
			t.Error("the lease of another key ends with the organization")
		}
		if stop := e.kill(agent.OfOrganization, ""); stop.LeasesEndAt == nil {
			t.Error("a repeated kill says nothing about leases")
		}
		left, err := e.agents.Leases(t.Context(), e.owner)
		if err != nil || len(left) != 1 || left[0].KeyID != e.other.KeyID ||
			!slices.Equal(left[0].Tools, []lease.Tool{readTool}) {
			t.Errorf("%+v, %v", left, err)
		}
	})
}

// TestWhatALeaseDoesNotPermit is told from what it does.
func TestWhatALeaseDoesNotPermit(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		e.leases()
		given, err := e.lease(e.agent, enforcement.LeaseRequest{AgentID: "bot"})
		if err != nil {
			t.Fatal(err)
		}
		fit := agent.LeaseUse{
			OrgID:   e.acme,
			KeyID:   e.agent.KeyID,
			AgentID: "bot",
			LeaseID: given.ID,
			Tool:    readTool,
			Number:  new(int64(1)),
			At:      e.Now().Add(30 * time.Second),
		}
		e.Pass(90 * time.Second) // reported when the lease has ended
		check := func(name, want string, change func(*agent.LeaseUse)) {
			t.Helper()
			use := fit
			use.ExecutionID = database.NewID()
			change(&use)
			var used agent.LeaseUsed
			e.Write(e.acme, func(ctx context.Context, tx *database.Tx) (err error) {
				used, err = agent.UseLease(ctx, tx, use)
				return err
			})
			if want == "" && used.Problem != "" || !strings.Contains(used.Problem, want) {
				t.Errorf("%s: %q, want %q", name, used.Problem, want)
			}
		}
		check("what fits", "", func(*agent.LeaseUse) {})
		check("the same number again", "another call was reported", func(*agent.LeaseUse) {})
		check("the next", "", func(u *agent.LeaseUse) { u.Number = new(int64(2)) })
		check("another key", "another key", func(u *agent.LeaseUse) { u.KeyID = e.other.KeyID })
		check("another agent", "another agent", func(u *agent.LeaseUse) { u.AgentID = "x" })
		check("another user", "another user", func(u *agent.LeaseUse) { u.UserID = "u" })
		check("another tool", "this tool", func(u *agent.LeaseUse) { u.Tool.Tool = "write" })
		check("another server", "this tool", func(u *agent.LeaseUse) { u.Tool.Server = "" })
		check("no time", "when", func(u *agent.LeaseUse) { u.At = time.Time{} })
		check("before it", "before the lease", func(u *agent.LeaseUse) { u.At = given.Issued.Add(-time.Minute) })
		check("after it", "had ended", func(u *agent.LeaseUse) { u.At = given.Expires.Add(leaseTolerance) })
		check("a clock that differs a little", "", func(u *agent.LeaseUse) {
			u.At, u.Number = given.Expires.Add(leaseTolerance-1), new(int64(3))
		})
		check("no number", "number", func(u *agent.LeaseUse) { u.Number = nil })
		check("an unknown lease", "no such lease", func(u *agent.LeaseUse) { u.LeaseID = database.NewID() })
		check("elsewhere", "no such lease", func(u *agent.LeaseUse) { u.OrgID = e.globex })

		signed := strings.Split(given.Text, ".")
		claims, err := base64.RawURLEncoding.DecodeString(signed[1])
		if err != nil {
			t.Fatal(err)
		}
		longer := strings.Replace(string(claims), `"exp":`, `"exp":9`, 1)
		for text, want := range map[string]string{
			given.Text: "", given.ID: "", "x": "altered",
			signed[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(longer)) + "." + signed[2]: "altered",
		} {
			_, problem, err := e.agents.PresentedLease(t.Context(), e.acme, text)
			if err != nil || want == "" && problem != "" || !strings.Contains(problem, want) {
				t.Errorf("%.40s: %q, %v", text, problem, err)
			}
		}
		if _, problem, _ := e.agents.PresentedLease(t.Context(), e.globex, given.Text); problem == "" {
			t.Error("a lease of another organization counts")
		}
	})
}

// TestALeaseEndsWithASuspension, also when the agent is active again.
func TestALeaseEndsWithASuspension(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		e.leases()
		e.register("billing", agent.Profile{Keys: []string{e.agent.KeyID}})
		set := func(to agent.Status) {
			t.Helper()
			e.Pass(time.Second)
			if _, err := e.agents.SetStatus(t.Context(), e.owner, "billing", to, "r"); err != nil {
				t.Fatal(err)
			}
		}
		holders := []principal.Principal{e.agent, e.other} // whom the id is bound to, and a stranger
		var given []enforcement.LeaseAnswer
		for _, by := range holders {
			l, err := e.lease(by, enforcement.LeaseRequest{AgentID: "billing"})
			if err != nil {
				t.Fatal(err)
			}
			given = append(given, l)
		}
		set(agent.Active) // it was
		before := e.Now()
		set(agent.Suspended)
		set(agent.Active)
		for i, by := range holders {
			for number, at := range []time.Time{before, e.Now()} {
				e.Write(e.acme, func(ctx context.Context, tx *database.Tx) error {
					used, err := agent.UseLease(ctx, tx, agent.LeaseUse{
						OrgID:       e.acme,
						KeyID:       by.KeyID,
						LeaseID:     given[i].ID,
						Tool:        readTool,
						Number:      new(int64(number + 1)),
						At:          at,
						ExecutionID: database.NewID(),
					})
					if strings.Contains(used.Problem, "suspended") != (number == 1) {
						t.Errorf("holder %d: a call at %s: %q", i, at, used.Problem)
					}
					return err
				})
			}
		}
	})
}

// TestALeaseEndsWithAKillUnderEverySpelling of its tool.
func TestALeaseEndsWithAKillUnderEverySpelling(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		e.leases()
		for _, tool := range []string{"my_bank-pay", "mcp_my_bank_pay", "mcp__my_bank__pay"} {
			given, err := e.lease(e.agent, enforcement.LeaseRequest{AgentID: "b", Tools: []lease.Tool{{Tool: tool}}})
			if err != nil {
				t.Fatal(err)
			}
			e.kill(agent.OfServer, "my bank")
			e.Pass(time.Second)
			e.Write(e.acme, func(ctx context.Context, tx *database.Tx) error {
				used, err := agent.UseLease(ctx, tx, agent.LeaseUse{
					OrgID:       e.acme,
					KeyID:       e.agent.KeyID,
					LeaseID:     given.ID,
					Tool:        lease.Tool{Tool: tool},
					Number:      new(int64(1)),
					At:          e.Now(),
					ExecutionID: database.NewID(),
				})
				if !strings.Contains(used.Problem, "kill switch") {
					t.Errorf("%s: %q", tool, used.Problem)
				}
				return err
			})
			e.revive(agent.OfServer, "my bank")
		}
	})
}

// TestALeaseEndsWithAKill: what ran after it is found, also when it was lifted since.
func TestALeaseEndsWithAKill(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		e.leases()
		e.register("billing", agent.Profile{Keys: []string{e.agent.KeyID}})
		number := int64(0)
		for _, stop := range []struct {
			scope   agent.Scope
			subject string
			ends    bool
		}{
			{agent.OfAgent, "billing", true}, {agent.OfKey, e.agent.KeyID, true}, {agent.OfOrganization, "", true},
			{agent.OfServer, "FS", true}, {agent.OfTool, "fs.read", true}, {agent.OfTool, "write", false},
			{agent.OfKey, e.other.KeyID, false},
		} {
			given, err := e.lease(e.agent, enforcement.LeaseRequest{AgentID: "billing"})
			if err != nil {
				t.Fatal(err)
			}
			before := e.Now()
			e.Pass(time.Second)
			e.kill(stop.scope, stop.subject)
			e.Pass(time.Second)
			e.revive(stop.scope, stop.subject)
			for at, want := range map[time.Time]bool{before: true, e.Now(): !stop.ends} {
				number++
				e.Write(e.acme, func(ctx context.Context, tx *database.Tx) error {
					used, err := agent.UseLease(ctx, tx, agent.LeaseUse{
						OrgID:       e.acme,
						KeyID:       e.agent.KeyID,
						LeaseID:     given.ID,
						Tool:        readTool,
						Number:      new(number),
						At:          at,
						ExecutionID: database.NewID(),
					})
					if (used.Problem == "") != want {
						t.Errorf("%s %s at %s: %q", stop.scope, stop.subject, at, used.Problem)
					}
					return err
				})
			}
		}
	})
}
