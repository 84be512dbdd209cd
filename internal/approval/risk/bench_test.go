package risk_test

import (
	"context"
	"path/filepath"
	"testing"

	"writ/internal/approval/risk"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/principal"
)

// BenchmarkHistory is what weighing a request adds to the transaction that opens
// it, where there is as much past as is ever looked at.
func BenchmarkHistory(b *testing.B) {
	db, err := database.Open(b.Context(), database.Options{SQLitePath: filepath.Join(b.TempDir(), "writ.db")})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	log := audit.Unsigned(db)
	err = db.Write(b.Context(), database.Change{Logs: []string{"acme"}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		for range 60 {
			_, err := log.Append(ctx, tx, audit.Entry{
				Log: "acme", Action: "call.decided", Actor: principal.Principal{Kind: principal.Key, KeyID: "k1"},
				Observation: true,
				Decision:    audit.Decision{Tool: "pay", Verdict: "allow"}, Payload: said("bank", "A", 10),
			})
			if err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		past, err := risk.History(b.Context(), db, risk.Caller{
			OrgID:  "acme",
			KeyID:  "k1",
			Server: "bank",
			Tool:   "pay",
			At:     db.Now(),
		})
		if err != nil {
			b.Fatal(err)
		}
		risk.Assess(risk.Facts{Server: "bank", Tool: "pay", Arguments: paid, Past: past})
	}
}
