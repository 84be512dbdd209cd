package risk_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/approval/risk"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/principal"
)

// decided is a decision as the log has it.
type decided struct {
	org, key, agent, tool, verdict string
	of                             details
}

type details struct {
	server, policy string
	arguments      map[string]any // nil: the payload was erased
}

func record(t *testing.T, db *database.DB, decisions ...decided) {
	t.Helper()
	for _, d := range decisions {
		err := db.Write(t.Context(), database.Change{Logs: []string{d.org}, Do: func(
			ctx context.Context, tx *database.Tx,
		) error {
			entry := audit.Entry{
				Log: d.org, Action: "call.decided", Actor: principal.Principal{Kind: principal.Key, KeyID: d.key},
				Observation: true,
				Decision: audit.Decision{
					Agent:   d.agent,
					Tool:    d.tool,
					Verdict: d.verdict,
					Server:  d.of.server,
					Policy:  d.of.policy,
				},
			}
			if d.of.arguments != nil {
				entry.Payload = map[string]any{"arguments": d.of.arguments}
			}
			_, err := audit.Unsigned(db).Append(ctx, tx, entry)
			return err
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func said(server, to string, amount int) details {
	return details{server: server, arguments: map[string]any{"to": to, "amount": amount}}
}

// TestHistory: only calls of the same organization, key, agent and server that
// ran are the past.
func TestHistory(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		record(t, db,
			decided{"acme", "k1", "bot", "pay", "allow", said("bank", "A", 10)},
			decided{"acme", "k1", "bot", "bank__pay", "allow", said("bank", "B", 20)},
			decided{"acme", "k1", "bot", "mcp__bank__pay", "allow", said("bank", "C", 30)},
			decided{"acme", "k1", "bot", "pay", "allow", details{server: "bank"}}, // erased
			decided{"acme", "k1", "bot", "pay", "hold", said("bank", "held", 1)},
			decided{"acme", "k1", "bot", "pay", "deny", said("bank", "denied", 1)},
			decided{"acme", "k1", "bot", "pay", "deny", details{server: "bank", policy: "writ:intent"}},
			decided{"acme", "k2", "bot", "pay", "allow", said("bank", "other key", 1)},
			decided{"acme", "k1", "other", "pay", "allow", said("bank", "other agent", 40)},
			decided{"acme", "k1", "bot", "pay", "allow", said("shop", "other server", 1)},
			decided{"acme", "k1", "bot", "read", "allow", said("bank", "other tool", 1)},
			decided{"evil", "k1", "bot", "pay", "allow", said("bank", "other organization", 1)},
		)
		past, err := risk.History(t.Context(), db, risk.Caller{
			OrgID:   "acme",
			KeyID:   "k1",
			AgentID: "bot",
			Server:  "bank",
			Tool:    "pay",
			At:      db.Now(),
		})
		if err != nil {
			t.Fatal(err)
		}
		want := risk.Past{
			Looked:  10,
			Ran:     4,
			Drifted: 1,
			Amounts: []float64{10, 20, 30},
			Names:   map[string]bool{"to": true, "amount": true},
			Values:  map[string]bool{"to\x00a": true, "to\x00b": true, "to\x00c": true},
		}
		if diff := cmp.Diff(want, past); diff != "" {
			t.Errorf("past (-want +got):\n%s", diff)
		}
		past, err = risk.History(t.Context(), db, risk.Caller{
			OrgID:  "acme",
			KeyID:  "k1",
			Server: "bank",
			Tool:   "pay",
			At:     db.Now(),
		})
		if err != nil || past.Ran != 5 {
			t.Errorf("without an agent %d calls ran, %v; want 5", past.Ran, err)
		}
		later := db.Now().Add(2 * risk.DriftWindow)
		past, err = risk.History(t.Context(), db, risk.Caller{
			OrgID:  "acme",
			KeyID:  "k1",
			Server: "bank",
			Tool:   "pay",
			At:     later,
		})
		if err != nil || past.Drifted != 0 {
			t.Errorf("long after it drifted: %+v, %v", past, err)
		}
		past, err = risk.History(t.Context(), db, risk.Caller{
			OrgID:  "acme",
			KeyID:  "k9",
			Server: "bank",
			Tool:   "pay",
			At:     db.Now(),
		})
		if err != nil || past.Ran != 0 || past.Looked != 10 || past.Drifted != 0 {
			t.Errorf("a new key: %+v, %v", past, err)
		}
	})
}

// TestHistoryIsBounded: however much was done, fifty decisions are looked at, the
// newest, and long ones are not taken apart.
func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, dbtest.SQLite(t))
	long := details{server: "bank", arguments: map[string]any{"text": strings.Repeat("a", 20<<10)}}
	record(t, db, decided{"acme", "k1", "", "pay", "allow", said("bank", "old", 1)})
	for range 60 {
		record(t, db, decided{"acme", "k1", "", "pay", "allow", said("bank", "new", 2)})
	}
	record(t, db, decided{"acme", "k1", "", "pay", "allow", long})
	past, err := risk.History(t.Context(), db, risk.Caller{
		OrgID:  "acme",
		KeyID:  "k1",
		Server: "bank",
		Tool:   "pay",
		At:     db.Now(),
	})
	if err != nil || past.Looked != 50 || past.Ran != 50 || len(past.Amounts) != 49 || past.Names["text"] ||
		past.Values["to\x00old"] || !past.Values["to\x00new"] {
		t.Errorf("past = %+v, %v", past, err)
	}
}
