package decision_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/principal"
	"writ/internal/testenv"
	"writ/internal/verdict"
)

// env is the log of an organization that has an auditor.
type env struct {
	*testenv.Env
	log  *audit.Service
	acme string

	recent *decision.Recent
}

var key = principal.Principal{Kind: principal.Key, KeyID: "key"}

func each(t *testing.T, body func(t *testing.T, e *env)) {
	t.Helper()
	testenv.Each(t, func(t *testing.T, base *testenv.Env) { body(t, newEnv(base, database.NewID())) })
}

// newEnv is one process on the database.
func newEnv(base *testenv.Env, acme string) *env {
	recent := decision.NewRecent()
	return &env{Env: base, log: audit.New(base.SignedLog(recent), nil), acme: acme, recent: recent}
}

// decide appends decisions in one change.
func (e *env) decide(records ...decision.Record) error {
	return e.DB.Write(e.T.Context(), database.Change{Lane: database.Urgent, Logs: []string{records[0].OrgID}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		for i := range records {
			if _, err := decision.Append(ctx, tx, e.log.Log, key, &records[i]); err != nil {
				return err
			}
		}
		return nil
	}})
}

func (e *env) read(orgID string, from int64) []decision.Record {
	e.T.Helper()
	records, err := decision.Read(e.T.Context(), e.DB, orgID, from, 100)
	if err != nil {
		e.T.Fatal(err)
	}
	return records
}

// unset are what a record has only once it is in the log.
var unset = []cmp.Option{cmpopts.EquateEmpty(), cmpopts.IgnoreFields(decision.Record{}, "At")}

// whole is a decision with everything.
func (e *env) whole() decision.Record {
	return decision.Record{
		ID:        database.NewID(),
		OrgID:     e.acme,
		KeyID:     "key",
		AgentID:   "a",
		SessionID: "s",
		PlanID:    "p",
		Step:      "1",
		Server:    "bank",
		Tool:      "send_money",
		Ruling: verdict.Ruling{
			Verdict:       verdict.Hold,
			PolicyID:      database.NewID(),
			PolicyVersion: 3,
			Rule:          "large",
			PolicyName:    "pay",
			Reason:        "says \"no\"\n\u00e9\u007f",
			Message:       "ask",
		},
		Details: decision.Details{
			Arguments:   []byte(`{"a":1,"b":"\u00e9"}`),
			Digest:      []byte{1, 2},
			Incomplete:  true,
			Paths:       []byte(`{"a":"2","b":"1"}`),
			PlacedOn:    "shop",
			Failed:      []decision.Failure{{Error: "x", Policy: "p", Rule: "r"}},
			ApprovalID:  "r",
			StandingID:  "w",
			Duration:    15 * time.Microsecond,
			UserID:      "u",
			Email:       "e@example.org",
			ContextID:   "c",
			Source:      "o",
			Environment: "sandbox",
			Labels:      []string{"pii"},
			Shadows: []decision.Shadow{{
				Active:    "hold",
				DecidedBy: "d",
				Failed:    1,
				Policy:    "p",
				Rule:      "r",
				Uncounted: true,
				Verdict:   "deny",
				Version:   4,
			}, {Active: "hold", Policy: "q", Problem: "late", Version: 1}},
		},
	}
}

func TestDecisionsAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		whole, plain := e.whole(), e.whole()
		plain.Failed, plain.Labels, plain.Paths, plain.Shadows = nil, nil, nil, nil
		least := decision.Record{
			ID:      database.NewID(),
			OrgID:   e.acme,
			Ruling:  verdict.Ruling{PolicyID: "writ:default", Reason: "no active policy"},
			Details: decision.Details{},
		}
		elsewhere := decision.Record{
			ID:      database.NewID(),
			OrgID:   database.NewID(),
			Ruling:  verdict.Ruling{PolicyID: "writ:agent", Reason: "killed"},
			Details: decision.Details{},
		}
		for _, some := range [][]decision.Record{{whole, plain}, {least}, {elsewhere}} {
			if err := e.decide(some...); err != nil {
				t.Fatal(err)
			}
		}
		want := []decision.Record{whole, plain, least}
		for i := range want {
			want[i].Index, want[i].KeyID = int64(i), "key"
		}
		if diff := cmp.Diff(want, e.read(e.acme, 0), unset...); diff != "" {
			t.Errorf("read (-want +got):\n%s", diff)
		}
		if later := e.read(e.acme, 2); len(later) != 1 || later[0].ID != least.ID ||
			later[0].Verdict != verdict.Deny || later[0].At.IsZero() {
			t.Errorf("from the third on: %+v", later)
		}
	})
}

func TestDecisionsThatSayNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for name, spoil := range map[string]func(d *decision.Record){
			"no id":             func(d *decision.Record) { d.ID = "" },
			"no policy":         func(d *decision.Record) { d.PolicyID = "" },
			"no reason":         func(d *decision.Record) { d.Reason = "" },
			"text that is none": func(d *decision.Record) { d.Reason = "\xff" },
		} {
			d := e.whole()
			d.Failed, d.Labels, d.Paths, d.Shadows = nil, nil, nil, nil
			spoil(&d)
			if err := e.decide(d); err == nil {
				t.Errorf("%s: recorded", name)
			}
		}
		if got := e.read(e.acme, 0); len(got) != 0 {
			t.Errorf("recorded %+v", got)
		}
	})
}

// TestWhatErasingLeaves: the details go, and what the log proves stays.
func TestWhatErasingLeaves(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		first, second := e.whole(), e.whole()
		if err := e.decide(first, second); err != nil {
			t.Fatal(err)
		}
		owner := principal.Principal{Kind: principal.User, UserID: "owner", OrgID: e.acme, Role: principal.Owner}
		if err := e.log.ErasePayload(t.Context(), owner, e.acme, 0, "asked for"); err != nil {
			t.Fatal(err)
		}
		want := first
		want.Details, want.Erased = decision.Details{}, true
		want.PolicyName, want.Reason, want.Message = "", "", ""
		got := e.read(e.acme, 0)
		if len(got) != 2 || got[1].Erased || got[1].Reason != second.Reason {
			t.Fatalf("read %+v", got)
		}
		if diff := cmp.Diff(want, got[0], unset...); diff != "" {
			t.Errorf("erased (-want +got):\n%s", diff)
		}
	})
}

func TestCountsAndTallies(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for i := range 12 {
			d := e.whole()
			d.Verdict, d.Step, d.Tool = verdict.Verdict(i%4), fmt.Sprint(i%2), fmt.Sprint("tool", i%2)
			switch {
			case i >= 8:
				d.SessionID, d.PlanID = "other", "other"
			case i == 7:
				d.SessionID, d.PlanID, d.Step = "", "", ""
			}
			if err := e.decide(d); err != nil {
				t.Fatal(err)
			}
		}
		for session, want := range map[string]int64{"s": 1, "other": 1, "none": 0} {
			if n, err := decision.AllowedIn(t.Context(), e.DB, e.acme, session); err != nil || n != want {
				t.Errorf("session %s: %d, %v; want %d", session, n, err, want)
			}
		}
		tallies, err := decision.TallyOf(t.Context(), e.DB, e.acme, "p")
		if err != nil {
			t.Fatal(err)
		}
		counted := map[string]int64{}
		for _, tally := range tallies {
			counted[fmt.Sprint(tally.Step, " ", tally.Server, ".", tally.Tool, " ", tally.Verdict)] = tally.Count
		}
		want := map[string]int64{
			"0 bank.tool0 deny": 2, "1 bank.tool1 hold": 2, "0 bank.tool0 ask": 2, "1 bank.tool1 allow": 1,
		}
		if diff := cmp.Diff(want, counted); diff != "" {
			t.Errorf("tallies (-want +got):\n%s", diff)
		}
		if none, err := decision.TallyOf(t.Context(), e.DB, database.NewID(), "p"); err != nil || len(none) != 0 {
			t.Errorf("of another organization: %v, %v", none, err)
		}
	})
}
