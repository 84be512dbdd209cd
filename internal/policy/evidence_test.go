package policy_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"writ/internal/audit"
	"writ/internal/audit/ledger"
	"writ/internal/database"
	"writ/internal/policy"
	"writ/internal/principal"
	"writ/internal/verdict"
)

// manyDecisions is how many an export is tried with.
const manyDecisions = 100_000

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
		for at := 0; at < manyDecisions; at += 250 {
			w.write(func(ctx context.Context, tx *database.Tx) error { return decideMany(ctx, tx, w.acme, at, 250) }, w.acme)
		}
		var export bytes.Buffer
		if err := log.Export(t.Context(), &export, w.acme, audit.ExportOptions{}); err != nil {
			t.Fatal(err)
		}
		keys, err := ledger.ParseKeys(log.PublicKey())
		if err != nil {
			t.Fatal(err)
		}
		trust := ledger.Trust{Keys: keys}
		report, err := ledger.Verify(bytes.NewReader(export.Bytes()), trust)
		if err != nil || report.Size != manyDecisions || report.Payloads != manyDecisions {
			t.Fatalf("%+v, %v", report, err)
		}
		text := export.Bytes()
		for range 4 { // each reads all of it; package ledger flips every byte of a small one
			at := rand.IntN(len(text))
			text[at] ^= 1
			if _, err := ledger.Verify(bytes.NewReader(text), trust); err == nil {
				t.Errorf("byte %d of %d can be changed", at, len(text))
			}
			text[at] ^= 1
		}
		wantShorterRefused(t, text, log, w.acme, trust)
	})
}

// decideMany records decisions as enforcement does: entry and row in one change.
func decideMany(ctx context.Context, tx *database.Tx, orgID string, from, n int) error {
	for i := from; i < from+n; i++ {
		d := policy.DecisionRecord{
			ID: database.NewID(), OrgID: orgID, KeyID: "key", AgentID: fmt.Sprint("agent", i%7), PlanID: fmt.Sprint("plan", i%100), Server: "bank", Tool: "pay",
			Call: json.RawMessage(`{"args":{"amount":5}}`), Verdict: verdict.Verdict(i % 4), PolicyID: "policy", PolicyName: "pay", PolicyVersion: 1, Rule: "r", Reason: "because",
		}
		added, err := audit.Append(ctx, tx, audit.Entry{
			Log: orgID, Action: "call.decided", Actor: principal.Principal{Kind: principal.Key, KeyID: "key"}, Subject: audit.Subject{Type: "decision", ID: d.ID},
			Decision: audit.Decision{Agent: d.AgentID, Tool: d.Tool, Verdict: d.Verdict.String(), Plan: d.PlanID},
			Payload:  map[string]any{"args": map[string]any{"amount": i}, "reason": d.Reason}, Observation: true,
		})
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

// wantShorterRefused drops the last entry from the file, and then from the log
// that a checkpoint was seen of.
func wantShorterRefused(t *testing.T, text []byte, log *audit.Service, orgID string, trust ledger.Trust) {
	t.Helper()
	end := bytes.LastIndexByte(text[:len(text)-1], '\n') + 1
	if _, err := ledger.Verify(bytes.NewReader(text[:end]), trust); err == nil {
		t.Error("the last entry can be left out")
	}
	seen, err := log.Checkpoint(t.Context(), orgID)
	if err != nil {
		t.Fatal(err)
	}
	trust.Earlier = seen
	if _, err := ledger.Verify(bytes.NewReader(text), trust); err != nil {
		t.Errorf("the log does not begin with itself: %v", err)
	}
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
		w.pass(1)
		if err := log.RetirePayloads(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if n := kept(); n != 0 {
			t.Errorf("%d calls are kept after all payloads were retired", n)
		}
	})
}
