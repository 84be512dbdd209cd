package enforcement_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"writ/internal/agent"
	"writ/internal/agent/lease"
	"writ/internal/audit"
	"writ/internal/audit/ledger"
	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/principal"
	"writ/internal/verdict"
)

// plant records an allow that nobody decided.
func (e *env) plant(by principal.Principal, change func(*decision.Record)) {
	e.T.Helper()
	e.Write(e.acme, func(ctx context.Context, tx *database.Tx) error {
		r := decision.Record{OrgID: e.acme, AgentID: "another", Server: "fs", Tool: "read"}
		r.ID, r.Verdict, r.PolicyID, r.Reason = database.NewID(), verdict.Allow, "p", "planted"
		change(&r)
		_, err := decision.Append(ctx, tx, e.audit.Log, by, &r)
		return err
	})
}

// plantLease records a lease that nobody judged.
func (e *env) plantLease(by principal.Principal, agentID string, tools ...lease.Tool) {
	e.T.Helper()
	e.Write(e.acme, func(ctx context.Context, tx *database.Tx) error {
		now := tx.Now().Truncate(time.Second)
		_, err := e.agents.AddLease(ctx, tx, by, &lease.Lease{
			ID:      database.NewID(),
			OrgID:   e.acme,
			KeyID:   by.KeyID,
			AgentID: agentID,
			Issued:  now,
			Expires: now.Add(time.Minute),
			Tools:   tools,
		})
		return err
	})
}

// TestPlantedAllowsAreFound behind a kill of every scope, and nothing else is.
func TestPlantedAllowsAreFound(t *testing.T) {
	t.Parallel()
	const planID = "0199aaaa-0000-7000-8000-000000000001"
	read := lease.Tool{Server: "fs", Tool: "read"}
	for name, c := range map[string]struct {
		scope   agent.Scope
		subject string
		planted func(e *env)
		passes  func(e *env)
	}{
		"agent": {
			agent.OfAgent, "bot",
			func(e *env) { e.plant(e.other, func(r *decision.Record) { r.AgentID = "bot" }) },
			func(e *env) { e.plant(e.other, func(*decision.Record) {}) },
		},
		"key of the agent": {
			agent.OfAgent, "bot", func(e *env) { e.plant(e.agent, func(*decision.Record) {}) }, func(*env) {},
		},
		"key": {
			agent.OfKey, "", func(e *env) { e.plant(e.agent, func(*decision.Record) {}) },
			func(e *env) { e.plant(e.other, func(*decision.Record) {}) },
		},
		"organization": {
			agent.OfOrganization, "", func(e *env) { e.plant(e.other, func(*decision.Record) {}) },
			func(e *env) { e.plant(e.other, func(r *decision.Record) { r.Verdict = verdict.Hold }) },
		},
		"server": {
			agent.OfServer, "My Bank",
			func(e *env) { e.plant(e.other, func(r *decision.Record) { r.Server, r.Tool = "my_bank", "pay" }) },
			func(e *env) { e.plant(e.other, func(r *decision.Record) { r.Tool = "my bank" }) },
		},
		"tool": {
			agent.OfTool, "bank.pay",
			func(e *env) {
				e.plant(e.other, func(r *decision.Record) { r.Server, r.Tool = "Bank", "mcp__bank__pay" })
			},
			func(e *env) { e.plant(e.other, func(r *decision.Record) { r.Server, r.Tool = "bank", "list" }) },
		},
		"tool by the name that the log shows": {
			agent.OfTool, "mcp__bank__pay",
			func(e *env) {
				e.plant(e.other, func(r *decision.Record) { r.Server, r.Tool = "bank", "mcp__bank__pay" })
			},
			func(e *env) { e.plant(e.other, func(r *decision.Record) { r.Tool = "pay" }) },
		},
		"plan": {
			agent.OfPlan, planID, func(e *env) { e.plant(e.other, func(r *decision.Record) { r.PlanID = planID }) },
			func(e *env) { e.plant(e.other, func(r *decision.Record) { r.PlanID = e.acme }) },
		},
		"plan under the plan": {
			agent.OfPlan, planID,
			func(e *env) {
				e.plant(e.other, func(r *decision.Record) { r.PlanID, r.UnderPlan = e.acme, planID })
			},
			func(*env) {},
		},
		"lease of the agent": {
			agent.OfAgent, "bot", func(e *env) { e.plantLease(e.other, "bot", read) },
			func(e *env) { e.plantLease(e.other, "another", read) },
		},
		"lease of the key": {agent.OfKey, "", func(e *env) { e.plantLease(e.agent, "another", read) }, func(*env) {}},
		"lease of the tool": {
			agent.OfTool, "read", func(e *env) { e.plantLease(e.other, "another", read) },
			func(e *env) { e.plantLease(e.other, "another", lease.Tool{Server: "fs", Tool: "list"}) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, e *env) {
				e.active("rules", allowAll)
				e.decide(as("bot"))
				subject := c.subject
				if c.scope == agent.OfKey {
					subject = e.agent.KeyID
				}
				stop := e.kill(c.scope, subject)
				e.decide(as("bot"))
				c.passes(e)
				if _, err := e.exported(); err != nil {
					t.Fatalf("before: %v", err)
				}
				c.planted(e)
				_, err := e.exported()
				if found, ok := errors.AsType[*ledger.StoppedError](err); !ok || found.Since != stop.Index {
					t.Errorf("%v, want the allow behind entry %d", err, stop.Index)
				}
			})
		})
	}
}

// TestALiftEndsOneStop: of two of the same name, the other one still holds for whoever verifies the log.
func TestALiftEndsOneStop(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		e.kill(agent.OfServer, "Bank")
		second := e.kill(agent.OfServer, "bank")
		e.revive(agent.OfServer, "Bank")
		want(t, e.decide(call("bank", "pay", `{}`)), verdict.Deny, "", "stopped")
		e.plant(e.other, func(r *decision.Record) { r.Server, r.Tool = "bank", "pay" })
		_, err := e.exported()
		if found, ok := errors.AsType[*ledger.StoppedError](err); !ok || found.Since != second.Index {
			t.Errorf("%v, want the allow behind entry %d", err, second.Index)
		}
	})
}

// TestAPartOfALogSaysThatKillsBeforeItAreUnknown: it would verify with an allow behind one.
func TestAPartOfALogSaysThatKillsBeforeItAreUnknown(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		stop := e.kill(agent.OfOrganization, "")
		e.plant(e.agent, func(*decision.Record) {})
		keys, err := ledger.ParseKeys(e.audit.PublicKey())
		if err != nil {
			t.Fatal(err)
		}
		for _, from := range []int64{0, stop.Index + 1} {
			var file bytes.Buffer
			if err := e.audit.Export(t.Context(), &file, e.acme, audit.ExportOptions{Since: from}); err != nil {
				t.Fatal(err)
			}
			report, err := ledger.Verify(&file, ledger.Trust{Keys: keys})
			if (err == nil) != (from > 0) || report.KillsBefore != (from > 0) {
				t.Errorf("from entry %d: kills before it are unknown: %t, %v", from, report.KillsBefore, err)
			}
		}
	})
}

// TestALogVerifiesUnderEverySpelling: whatever name is killed and called, no decision contradicts the log.
func TestALogVerifiesUnderEverySpelling(t *testing.T) {
	t.Parallel()
	spellings := []struct{ server, tool string }{
		{"", "mcp__my bank__pay now"},
		{"", "mcp__my_bank__pay_now"},
		{"", "mcp_my_bank_pay_now"},
		{"my bank", "pay now"},
		{"my bank", "mcp__my bank__pay now"},
		{"", "my bank-pay now"},
		{"", "my bank.pay now"},
		{"MY BANK", "Pay Now"},
		{"", "pay now"},
		{"", "İpay"},
		{"i", "pay"},
	}
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		for _, killed := range spellings {
			e.kill(agent.OfTool, killed.tool)
			for _, called := range spellings {
				e.decide(call(called.server, called.tool, `{}`))
			}
			e.revive(agent.OfTool, killed.tool)
		}
		for _, server := range []string{"my bank", "my_bank", "MY BANK", "İ", "my"} {
			e.kill(agent.OfServer, server)
			for _, called := range spellings {
				e.decide(call(called.server, called.tool, `{}`))
			}
			e.revive(agent.OfServer, server)
		}
		if _, err := e.exported(); err != nil {
			t.Error(err)
		}
	})
}
