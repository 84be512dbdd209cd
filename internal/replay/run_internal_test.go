package replay

import (
	"context"
	"strings"
	"testing"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/organization"
	"writ/internal/policy"
	"writ/internal/policy/document"
	"writ/internal/principal"
	"writ/internal/testenv"
	"writ/internal/verdict"
)

// decisions are more than two slices, and not a whole number of them.
const decisions = 2*slice + 7

// recordedOrganization is one whose log has decisions, and a person in it.
func recordedOrganization(e *testenv.Env) principal.Principal {
	e.T.Helper()
	by := testenv.Person(database.NewID(), e.Organization("Acme"), principal.Member)
	recordDecisions(e, by)
	return by
}

// recordDecisions adds to the log, each by a key of its own.
func recordDecisions(e *testenv.Env, by principal.Principal) {
	e.T.Helper()
	agent := principal.Principal{Kind: principal.Key, UserID: by.UserID, OrgID: by.OrgID}
	e.Write(audit.LogOf(by.OrgID), func(ctx context.Context, tx *database.Tx) error {
		for range decisions {
			agent.KeyID = database.NewID()
			_, err := decision.Append(ctx, tx, e.Log, agent, &decision.Record{
				ID:      database.NewID(),
				OrgID:   by.OrgID,
				AgentID: "coder",
				Server:  "bank",
				Tool:    "pay",
				Ruling:  verdict.Ruling{Verdict: verdict.Deny, PolicyID: policy.ByDefault, Reason: "no active policy"},
				Details: decision.Details{Arguments: []byte(`{"amount":5}`)},
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// acme is an organization without members.
type acme struct{}

func (acme) PartyOf(context.Context, string, string, string) (organization.Party, error) {
	return organization.Party{OrgName: "Acme"}, nil
}

// ownedKeys are those of one person.
type ownedKeys struct{ asked func() }

func (k ownedKeys) OwnerOf(context.Context, string, string) (string, error) {
	if k.asked != nil {
		k.asked()
	}
	return "owner", nil
}

func serviceOn(db *database.DB) *Service {
	s := New(db, policy.New(db, audit.Unsigned(db), nil, policy.ProposalNotifier{}), Sources{
		People: acme{}, Keys: ownedKeys{},
	})
	s.rest = func(context.Context, time.Duration) {}
	return s
}

// allowFew lets one call of the agent pass every day.
var allowFew = Request{Days: 1, Subject: policy.Subject{Source: &policy.Source{Format: document.YAML, Text: `version: v1
name: few
default: deny
rules:
  - id: one
    effect: allow
    tools: ["bank.pay"]
    limit: {calls: 1, per: 24h, by: agent}
`}}}

// TestAServerThatStopsGivesItsReplayBack: the next one does all of it, and counts
// no call twice.
func TestAServerThatStopsGivesItsReplayBack(t *testing.T) {
	t.Parallel()
	testenv.Each(t, func(t *testing.T, e *testenv.Env) {
		by, s := recordedOrganization(e), serviceOn(e.DB)
		job, err := s.Start(t.Context(), by, allowFew)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		s.rest = func(context.Context, time.Duration) { stop() }
		if err := s.Work(ctx); err == nil {
			t.Error("it was stopped, and says nothing")
		}
		if job, err = s.Get(t.Context(), by, job.ID); err != nil || job.State != Waiting || job.attempts != 0 {
			t.Fatalf("given back: %+v, %v", job, err)
		}
		other := serviceOn(e.DB)
		if err := other.Work(t.Context()); err != nil {
			t.Fatal(err)
		}
		if job, err = s.Get(t.Context(), by, job.ID); err != nil || job.State != Done || job.Report == nil {
			t.Fatalf("done by another: %+v, %v", job, err)
		}
		c := job.Report.Counts
		if c.Decisions != decisions || c.Judged != decisions || c.Drafted["allow"] != 1 ||
			c.Drafted["deny"] != decisions-1 || c.Looser != 1 {
			t.Errorf("counts: %+v", c)
		}
		if len(job.Report.Changes) != 1 || job.Report.Changes[0].Rule != "one" ||
			job.Report.Changes[0].PolicyID != policy.DraftID {
			t.Errorf("changes: %+v", job.Report.Changes)
		}
	})
}

// TestACancelledReplayStaysCancelled, however far it is.
func TestACancelledReplayStaysCancelled(t *testing.T) {
	t.Parallel()
	testenv.Each(t, func(t *testing.T, e *testenv.Env) {
		by, s := recordedOrganization(e), serviceOn(e.DB)
		job, err := s.Start(t.Context(), by, allowFew)
		if err != nil {
			t.Fatal(err)
		}
		cancelled := false
		s.rest = func(ctx context.Context, _ time.Duration) {
			if cancelled {
				return
			}
			cancelled = true
			if _, err := s.Cancel(ctx, by, job.ID); err != nil {
				t.Errorf("cancel: %v", err)
			}
		}
		if err := s.Work(t.Context()); err != nil || !cancelled {
			t.Fatalf("work: %v, cancelled %v", err, cancelled)
		}
		if job, err = s.Get(t.Context(), by, job.ID); err != nil || job.State != Cancelled || job.Report != nil ||
			job.source != nil {
			t.Errorf("%+v, %v", job, err)
		}
	})
}

// TestACancelledReplayStopsAtOnce: not at the end of a slice, which takes minutes
// where each call takes seconds.
func TestACancelledReplayStopsAtOnce(t *testing.T) {
	t.Parallel()
	testenv.Each(t, func(t *testing.T, e *testenv.Env) {
		by, s := recordedOrganization(e), serviceOn(e.DB)
		job, err := s.Start(t.Context(), by, allowFew)
		if err != nil {
			t.Fatal(err)
		}
		judged := 0
		s.renewEvery = 0
		s.sources.Keys = ownedKeys{asked: func() {
			if judged++; judged == 3 {
				if _, err := s.Cancel(t.Context(), by, job.ID); err != nil {
					t.Errorf("cancel: %v", err)
				}
			}
		}}
		if err := s.Work(t.Context()); err != nil || judged != 3 {
			t.Errorf("%d calls were judged of which the third cancelled it, %v", judged, err)
		}
	})
}

// TestAReplayDoesNotRunForever: one that takes too long is broken, and says why.
func TestAReplayDoesNotRunForever(t *testing.T) {
	t.Parallel()
	testenv.Each(t, func(t *testing.T, e *testenv.Env) {
		by, s := recordedOrganization(e), serviceOn(e.DB)
		job, err := s.Start(t.Context(), by, allowFew)
		if err != nil {
			t.Fatal(err)
		}
		s.renewEvery, s.longest = 0, 0
		if err := s.Work(t.Context()); err != nil {
			t.Fatal(err)
		}
		if job, err = s.Get(t.Context(), by, job.ID); err != nil || job.State != Broken ||
			!strings.Contains(job.Problem, "fewer days") || job.Report != nil {
			t.Errorf("%+v, %v", job, err)
		}
	})
}

// TestWhatComesLaterIsNotReplayed: a report is about the time it names, however long
// the replay waited for its turn.
func TestWhatComesLaterIsNotReplayed(t *testing.T) {
	t.Parallel()
	testenv.Each(t, func(t *testing.T, e *testenv.Env) {
		by, s := recordedOrganization(e), serviceOn(e.DB)
		job, err := s.Start(t.Context(), by, allowFew)
		if err != nil {
			t.Fatal(err)
		}
		e.Pass(time.Second)
		recordDecisions(e, by)
		if err := s.Work(t.Context()); err != nil {
			t.Fatal(err)
		}
		if job, err = s.Get(t.Context(), by, job.ID); err != nil || job.State != Done ||
			job.Report.Counts.Decisions != decisions || job.Done != job.Total {
			t.Errorf("%+v, %v", job, err)
		}
	})
}
