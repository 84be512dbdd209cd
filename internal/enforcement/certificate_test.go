package enforcement_test

import (
	"context"
	"sync"
	"testing"

	"writ/internal/agent"
	"writ/internal/agent/lease"
	"writ/internal/certificate"
	"writ/internal/certificate/authority"
	"writ/internal/decision"
	"writ/internal/enforcement"
	"writ/internal/policy"
	"writ/internal/principal"
	"writ/internal/replay"
	"writ/internal/verdict"
)

const (
	onlyAttested = `id: proven; effect: allow; tools: ["*"]; when: agent.attested`
	notAttested  = `id: claimed; effect: deny; tools: ["*"]; when: "!agent.attested"`
)

// certify issues a certificate for an agent.
func (e *env) certify(agentID string) certificate.Issued {
	e.T.Helper()
	made, err := e.certs.Issue(e.T.Context(), e.owner, certificate.Order{Kind: authority.Agent, Subject: agentID})
	if err != nil {
		e.T.Fatal(err)
	}
	return made
}

// certified is a key whose caller has proven to be an agent.
func (e *env) certified(agentID string, key principal.Principal) principal.Principal {
	e.T.Helper()
	key.Attested = principal.Attestation{AgentID: agentID, CertificateID: e.certify(agentID).ID}
	return key
}

func (e *env) revokeCertificate(id string) {
	e.T.Helper()
	if _, err := e.certs.Revoke(e.T.Context(), e.owner, id, "", "lost"); err != nil {
		e.T.Errorf("revoke: %v", err)
	}
}

// TestAttested: conditions see a certificate that counts, and a call with one that does not is denied, whatever the
// policies say.
func TestAttested(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", notAttested, onlyAttested)
		e.register("pilot", agent.Profile{Keys: []string{e.agent.KeyID}})
		proven := e.certified("pilot", e.agent)
		ask := func(p principal.Principal, agentID string) enforcement.Answer {
			r := call("files", "read", `{}`)
			r.AgentID = agentID
			return e.decisions.Decide(t.Context(), p, r)
		}
		want(t, ask(proven, "pilot"), verdict.Allow, "", "")
		got := ask(proven, "")
		want(t, got, verdict.Allow, "", "")
		if got.AgentID != "pilot" {
			t.Errorf("the call is of agent %q, want the certificate's", got.AgentID)
		}
		if got := ask(e.agent, "pilot"); got.Verdict != verdict.Deny || got.Rule != "claimed" {
			t.Errorf("without a certificate: %+v", got)
		}
		refused := map[string]enforcement.Answer{"another agent": ask(proven, "other")}
		stranger := e.other
		stranger.Attested = proven.Attested
		refused["a key that is not the agent's"] = ask(stranger, "pilot")
		elsewhere := e.foreign
		elsewhere.Attested = proven.Attested
		refused["a key of another organization"] = ask(elsewhere, "pilot")
		unknown := proven
		unknown.Attested.CertificateID = "unknown"
		refused["an unknown certificate"] = ask(unknown, "pilot")
		half := proven
		half.Attested.AgentID = ""
		refused["a certificate of nobody"] = ask(half, "pilot")
		for what, got := range refused {
			if got.Verdict != verdict.Deny || got.PolicyID != policy.ByAgent || got.Rule != "certificate" {
				t.Errorf("%s: %+v", what, got)
			}
		}
	})
}

// TestRevokedWhileACallIsJudged: what was judged by a certificate is judged again if it was revoked before the decision
// was recorded, in this process and in another.
func TestRevokedWhileACallIsJudged(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", asksMeanwhile, allowAll)
		e.register("pilot", agent.Profile{Keys: []string{e.agent.KeyID}})
		proven := e.certified("pilot", e.agent)
		replica := open(t, e.DB)
		wantBoth := func(when string, v verdict.Verdict, rule string) {
			t.Helper()
			for _, decisions := range []*enforcement.Service{e.decisions, replica.decisions} {
				got := decisions.Decide(t.Context(), proven, call("files", "read", `{}`))
				if got.Verdict != v || got.Rule != rule || !got.Recorded {
					t.Errorf("%s: %+v", when, got)
				}
			}
		}
		wantBoth("before", verdict.Allow, "all")
		revoke := func() { e.revokeCertificate(proven.Attested.CertificateID) }
		e.meanwhile.do.Store(&revoke)
		wantBoth("revoked meanwhile", verdict.Deny, "certificate")
		if e.meanwhile.do.Load() != nil {
			t.Error("nothing was revoked while a call was judged")
		}
	})
}

// TestNobodyCanTell: if certificates cannot be read, nothing is allowed.
func TestNobodyCanTell(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		e.register("pilot", agent.Profile{Keys: []string{e.agent.KeyID}})
		proven := e.certified("pilot", e.agent)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		id := proven.Attested.CertificateID
		if _, ok, err := e.agents.Attest(ctx, e.acme, "pilot", e.agent.KeyID, id); ok || err == nil {
			t.Errorf("Attest of a request that has ended: %v, %v", ok, err)
		}
		bare := agent.New(e.DB, e.audit.Log, agent.Sources{}) // a server without certificates
		if _, ok, err := bare.Attest(t.Context(), e.acme, "pilot", e.agent.KeyID, id); ok || err != nil {
			t.Errorf("Attest of a server without certificates: %v, %v", ok, err)
		}
	})
}

// TestLeasesProveNothing: a lease is used by whoever has the key, so that it is judged without a certificate.
func TestLeasesProveNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", onlyAttested)
		e.register("pilot", agent.Profile{Keys: []string{e.agent.KeyID}})
		e.leases()
		given, err := e.decisions.Lease(t.Context(), e.certified("pilot", e.agent), enforcement.LeaseRequest{
			AgentID: "pilot", Tools: []lease.Tool{{Server: "files", Tool: "read"}},
		})
		if err == nil && len(given.Tools) > 0 {
			t.Errorf("a lease was given for %v", given.Tools)
		}
	})
}

// TestAttestedIsReplayed: a replay judges by what was proven then.
func TestAttestedIsReplayed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		e.register("pilot", agent.Profile{Keys: []string{e.agent.KeyID}})
		e.decisions.Decide(t.Context(), e.certified("pilot", e.agent), call("files", "read", `{}`))
		e.decisions.Decide(t.Context(), e.agent, call("files", "read", `{}`))
		rows, err := decision.Read(t.Context(), e.db, e.acme, 0, 10)
		if err != nil || len(rows) != 2 {
			t.Fatalf("%d decisions, %v", len(rows), err)
		}
		first, _ := replay.CallOf(rows[0])
		second, _ := replay.CallOf(rows[1])
		if !first.Agent.Attested || second.Agent.Attested {
			t.Errorf("attested %v and %v, want true and false", first.Agent.Attested, second.Agent.Attested)
		}
		erased := rows[0]
		erased.Erased, erased.Judged = true, decision.Judged{}
		if _, known := replay.CallOf(erased); !known.Gaps().Cover("agent", "attested") {
			t.Error("a replay takes what was erased for not attested")
		}
	})
}

// TestReplicasAgreeOnTheFirstAuthority: several first uses at once make one authority.
func TestReplicasAgreeOnTheFirstAuthority(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.register("pilot", agent.Profile{})
		made := make([]certificate.Issued, 4)
		var all sync.WaitGroup
		for i := range made {
			replica := open(t, e.DB)
			all.Go(func() {
				var err error
				made[i], err = replica.certs.Issue(t.Context(), e.owner, certificate.Order{
					Kind: authority.Agent, Subject: "pilot",
				})
				if err != nil {
					t.Errorf("issue: %v", err)
				}
			})
		}
		all.Wait()
		for _, m := range made {
			if m.AuthorityID == "" || m.AuthorityID != made[0].AuthorityID {
				t.Errorf("authorities %q and %q", m.AuthorityID, made[0].AuthorityID)
			}
		}
	})
}
