package policy_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"writ/internal/audit"
	"writ/internal/audit/ledger"
	"writ/internal/database"
	"writ/internal/policy"
	"writ/internal/principal"
	"writ/internal/verdict"
)

// manyDecisions is how many an export is tried with. The entries are the same on
// every database; PostgreSQL, which takes longer for them, has fewer.
func manyDecisions(engine database.Engine) int {
	if engine == database.PostgreSQL {
		return 5_000
	}
	return 100_000
}

// TestEvidenceOfManyDecisions exports the log of many decisions, verifies it
// without the database, and changes bytes of it.
func TestEvidenceOfManyDecisions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
		log, err := audit.Open(t.Context(), w.db, func(context.Context) (ed25519.PrivateKey, error) { return key, nil })
		if err != nil {
			t.Fatal(err)
		}
		many := manyDecisions(w.db.Engine())
		for at := 0; at < many; at += 500 {
			w.write(func(ctx context.Context, tx *database.Tx) error {
				for i := at; i < at+500; i++ {
					if _, err := audit.Append(ctx, tx, decided(w.acme, database.NewID(), i)); err != nil {
						return err
					}
				}
				return nil
			}, w.acme)
		}
		var export bytes.Buffer
		if err := log.Export(t.Context(), &export, w.acme, audit.ExportOptions{}); err != nil {
			t.Fatal(err)
		}
		keys, err := ledger.ParseKeys(log.PublicKey())
		if err != nil {
			t.Fatal(err)
		}
		seen, err := log.Checkpoint(t.Context(), w.acme)
		if err != nil {
			t.Fatal(err)
		}
		trust := ledger.Trust{Keys: keys, Earlier: seen}
		text := export.Bytes()
		report, err := ledger.Verify(bytes.NewReader(text), trust)
		if err != nil || report.Size != int64(many) || report.Payloads != int64(many) {
			t.Fatalf("%+v, %v", report, err)
		}
		// Package ledger changes every byte of a small export; here any one will do.
		at := rand.IntN(len(text))
		text[at] ^= 1
		if _, err := ledger.Verify(bytes.NewReader(text), trust); err == nil {
			t.Errorf("byte %d of %d can be changed", at, len(text))
		}
		text[at] ^= 1
		last := bytes.LastIndexByte(text[:len(text)-1], '\n') + 1
		if _, err := ledger.Verify(bytes.NewReader(text[:last]), trust); err == nil {
			t.Error("the last entry can be left out")
		}
	})
}

// decided is the entry of a decision.
func decided(orgID, id string, i int) audit.Entry {
	return audit.Entry{
		Log: orgID, Action: "call.decided", Actor: principal.Principal{Kind: principal.Key, KeyID: "key"}, Subject: audit.Subject{Type: "decision", ID: id},
		Decision: audit.Decision{Agent: fmt.Sprint("agent", i%7), Tool: "pay", Verdict: verdict.Verdict(i % 4).String(), Plan: fmt.Sprint("plan", i%100)},
		Payload:  map[string]any{"args": map[string]any{"amount": i}, "reason": "because"}, Observation: true,
	}
}

// decideMany records decisions as enforcement does: entry and row in one change.
func decideMany(ctx context.Context, tx *database.Tx, orgID string, from, n int) error {
	for i := from; i < from+n; i++ {
		d := policy.DecisionRecord{
			ID: database.NewID(), OrgID: orgID, KeyID: "key", AgentID: fmt.Sprint("agent", i%7), PlanID: fmt.Sprint("plan", i%100), Server: "bank", Tool: "pay",
			Call: json.RawMessage(`{"args":{"amount":5}}`), Verdict: verdict.Verdict(i % 4), PolicyID: "policy", PolicyName: "pay", PolicyVersion: 1, Rule: "r", Reason: "because",
		}
		added, err := audit.Append(ctx, tx, decided(orgID, d.ID, i))
		if err != nil {
			return err
		}
		d.AuditPosition = added.Index
		if err := policy.InsertDecision(ctx, tx, d); err != nil {
			return err
		}
	}
	return nil
}

// TestErasedCallsAreForgotten: a payload's copy goes with it.
func TestErasedCallsAreForgotten(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
		log, err := audit.Open(t.Context(), w.db, func(context.Context) (ed25519.PrivateKey, error) { return key, nil })
		if err != nil {
			t.Fatal(err)
		}
		log.AlsoErase(policy.EraseCalls)
		w.write(func(ctx context.Context, tx *database.Tx) error { return decideMany(ctx, tx, w.acme, 0, 3) }, w.acme)
		kept := func() (calls int) {
			decisions, err := policy.ReadDecisions(t.Context(), w.db, w.acme, 0, 10)
			if err != nil || len(decisions) != 3 {
				t.Fatalf("%d decisions, %v", len(decisions), err)
			}
			for _, d := range decisions {
				if d.Call != nil && !d.Redacted {
					calls++
				} else if d.Call != nil {
					t.Error("an erased call is still there")
				}
			}
			return calls
		}
		if err := log.ErasePayload(t.Context(), w.owner, w.acme, 1, "asked for"); err != nil {
			t.Fatal(err)
		}
		if n := kept(); n != 2 {
			t.Errorf("%d calls are kept after one was erased, want 2", n)
		}
		w.pass(time.Second)
		if err := log.RetirePayloads(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if n := kept(); n != 0 {
			t.Errorf("%d calls are kept after all payloads were retired", n)
		}
	})
}
