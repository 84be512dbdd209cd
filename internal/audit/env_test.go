package audit_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"testing"

	"writ/internal/audit"
	"writ/internal/audit/ledger"
	"writ/internal/database"
	"writ/internal/principal"
)

// checkpointKey is the key of every test's installation.
var checkpointKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))

func withKey(key ed25519.PrivateKey) audit.KeySource {
	return func(context.Context, *audit.Log) (ed25519.PrivateKey, error) { return key, nil }
}

func open(t testing.TB, db *database.DB) *audit.Service {
	t.Helper()
	log, err := audit.Open(context.Background(), db, withKey(checkpointKey), nil)
	if err != nil {
		t.Fatal(err)
	}
	return audit.New(log, nil)
}

func keysOf(t testing.TB, s *audit.Service) ledger.Keys {
	t.Helper()
	keys, err := ledger.ParseKeys(s.PublicKey())
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// decision is the entry of a judged call.
func decision(log string, n int) audit.Entry {
	verdicts := []string{"allow", "deny", "hold"}
	return audit.Entry{
		Log: log, Action: "call.decided", Actor: principal.Principal{Kind: principal.Key, KeyID: fmt.Sprint("k", n%2)},
		Subject: audit.Subject{Type: "decision", ID: fmt.Sprint(n)},
		Decision: audit.Decision{
			Agent:   fmt.Sprint("agent", n%3),
			Tool:    fmt.Sprint("tool", n%5),
			Verdict: verdicts[n%3],
			Plan:    fmt.Sprint("plan", n%7),
			Server:  fmt.Sprint("server", n%2),
			Session: fmt.Sprint("session", n%4),
			Policy:  fmt.Sprint("policy", n%2),
			Rule:    fmt.Sprint("rule", n%4),
		},
		Payload: map[string]any{"n": n}, Observation: true,
	}
}

// decide appends entries in one change and gives what was appended.
func decide(
	ctx context.Context, db *database.DB, log *audit.Log, entries ...audit.Entry,
) (appended []*audit.Appended, err error) {
	var logs []string
	for _, e := range entries {
		logs = append(logs, e.Log)
	}
	err = db.Write(ctx, database.Change{Lane: database.Urgent, Logs: logs, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		appended = appended[:0]
		for _, e := range entries {
			a, err := log.Append(ctx, tx, e)
			if err != nil {
				return err
			}
			appended = append(appended, a)
		}
		return nil
	}})
	return appended, err
}

func mustDecide(t testing.TB, db *database.DB, log *audit.Log, entries ...audit.Entry) []*audit.Appended {
	t.Helper()
	appended, err := decide(context.Background(), db, log, entries...)
	if err != nil {
		t.Fatal(err)
	}
	return appended
}

// fill appends n decisions in changes of a hundred.
func fill(t testing.TB, db *database.DB, log *audit.Log, name string, from, n int) {
	t.Helper()
	for n > 0 {
		var entries []audit.Entry
		for range min(n, 100) {
			entries = append(entries, decision(name, from))
			from++
			n--
		}
		mustDecide(t, db, log, entries...)
	}
}

// export exports a log and verifies it.
func export(t testing.TB, s *audit.Service, log, earlier string, o audit.ExportOptions) ledger.Report {
	t.Helper()
	var out bytes.Buffer
	if err := s.Export(context.Background(), &out, log, o); err != nil {
		t.Fatal(err)
	}
	report, err := ledger.Verify(&out, ledger.Trust{Keys: keysOf(t, s), Earlier: earlier})
	if err != nil {
		t.Fatalf("the export does not verify: %v", err)
	}
	return report
}
