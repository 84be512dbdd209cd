package decision_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"writ/internal/audit"
	"writ/internal/audit/ledger"
	"writ/internal/database"
	"writ/internal/decision"
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
	each(t, func(t *testing.T, e *env) {
		many := manyDecisions(e.DB.Engine())
		for at := 0; at < many; at += 500 {
			some := make([]decision.Record, 500)
			for i := range some {
				some[i] = e.whole()
				some[i].Failed, some[i].Labels, some[i].Paths, some[i].Shadows = nil, nil, nil, nil
				some[i].AgentID, some[i].PlanID, some[i].Verdict = fmt.Sprint("agent", i%7), fmt.Sprint("plan", i%100),
					verdict.Verdict(i%4)
			}
			if err := e.decide(some...); err != nil {
				t.Fatal(err)
			}
		}
		var export bytes.Buffer
		if err := e.log.Export(t.Context(), &export, e.acme, audit.ExportOptions{}); err != nil {
			t.Fatal(err)
		}
		keys, err := ledger.ParseKeys(e.log.PublicKey())
		if err != nil {
			t.Fatal(err)
		}
		seen, err := e.log.Checkpoint(t.Context(), e.acme)
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
