package policy_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/policy"
	"writ/internal/principal"
	"writ/internal/verdict"
)

// decide stores a decision as enforcement will: with its entry in the log.
func (w *world) decide(d policy.DecisionRecord) error {
	return w.db.Write(w.t.Context(), database.Change{Lane: database.Urgent, Logs: []string{d.OrgID}, Do: func(ctx context.Context, tx *database.Tx) error {
		appended, err := audit.Append(ctx, tx, audit.Entry{
			Log: d.OrgID, Action: "decision", Actor: principal.Operator(), Subject: audit.Subject{Type: "decision", ID: d.ID}, Observation: true,
		})
		if err != nil {
			return err
		}
		d.AuditPosition = appended.Index
		return policy.InsertDecision(ctx, tx, d)
	}})
}

func TestDecisions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		whole := policy.DecisionRecord{
			ID: database.NewID(), OrgID: w.acme, Generation: 7,
			KeyID: "k", UserID: "u", AgentID: "a", SessionID: "s", PlanID: "p", Step: "1", Environment: "sandbox",
			Server: "bank", Tool: "send_money", Labels: []string{"pii"},
			ArgumentsDigest: []byte{1, 2}, Call: json.RawMessage(`{"args":{}}`), Redacted: true,
			Verdict: verdict.Hold, PolicyID: database.NewID(), PolicyName: "pay", PolicyVersion: 3, Rule: "large",
			Reason: "held", Message: "ask", Explanation: json.RawMessage(`{"a":1}`), Claims: json.RawMessage(`[1]`), RequestID: "r", Duration: 15 * time.Microsecond,
		}
		least := policy.DecisionRecord{ID: database.NewID(), OrgID: w.acme, PolicyID: policy.ByDefault, Reason: "no active policy"}
		for _, d := range []policy.DecisionRecord{whole, least, {ID: database.NewID(), OrgID: w.globex, PolicyID: policy.ByAgent, Reason: "killed"}} {
			if err := w.decide(d); err != nil {
				t.Fatal(err)
			}
		}
		got, err := policy.ReadDecisions(t.Context(), w.db, w.acme, 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		whole.At, least.At, least.AuditPosition = w.db.Now(), w.db.Now(), 1
		least.Explanation, least.Claims = json.RawMessage(`{}`), json.RawMessage(`[]`)
		if diff := cmp.Diff([]policy.DecisionRecord{whole, least}, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("read (-want +got):\n%s", diff)
		}
		later, err := policy.ReadDecisions(t.Context(), w.db, w.acme, 1, 10)
		if err != nil || len(later) != 1 || later[0].ID != least.ID || later[0].Verdict != verdict.Deny {
			t.Errorf("from the second on: %+v, %v", later, err)
		}
	})
}

func TestDecisionsThatSayNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		good := policy.DecisionRecord{ID: database.NewID(), OrgID: w.acme, PolicyID: policy.ByDefault, Reason: "r"}
		for name, spoil := range map[string]func(d *policy.DecisionRecord){
			"no id":                     func(d *policy.DecisionRecord) { d.ID = "" },
			"no policy":                 func(d *policy.DecisionRecord) { d.PolicyID = "" },
			"no reason":                 func(d *policy.DecisionRecord) { d.Reason = "" },
			"an organization not there": func(d *policy.DecisionRecord) { d.OrgID = database.NewID() },
		} {
			d := good
			d.ID = database.NewID()
			spoil(&d)
			if err := w.decide(d); err == nil {
				t.Errorf("%s: stored", name)
			}
		}
		if got, err := policy.ReadDecisions(t.Context(), w.db, w.acme, 0, 10); err != nil || len(got) != 0 {
			t.Errorf("stored %+v, %v", got, err)
		}
	})
}
