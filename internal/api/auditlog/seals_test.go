package auditlog_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/audit/ledger"
)

// TestTheSealOfAPayloadCanBeComputedAgain: the answer has the payload as it was sealed, numbers and all.
func TestTheSealOfAPayloadCanBeComputedAgain(t *testing.T) {
	t.Parallel()
	eachEvidence(t, func(t *testing.T, e *evidence) {
		e.Asked(e.AgentKey(e.owner, e.org).APIKey, "billing", "bank", "pay", map[string]any{"note": "é <b>\u2028"})
		found, err := e.owner.LogEntries(t.Context(), e.org, client.LogFilter{Action: "call.decided"})
		if err != nil || len(found.Items) != 1 {
			t.Fatalf("entries = %+v, %v", found, err)
		}
		entry, err := e.owner.LogEntry(t.Context(), e.org, found.Items[0].Index)
		if err != nil {
			t.Fatal(err)
		}
		record, err := ledger.ParseRecord([]byte(entry.Record))
		if err != nil {
			t.Fatal(err)
		}
		salt, err := hex.DecodeString(entry.Salt)
		if err != nil {
			t.Fatal(err)
		}
		if got := ledger.Commitment(salt, []byte(entry.PayloadText)); got != record.Payload {
			t.Errorf("the seal of %s is %s, want %s", entry.PayloadText, got, record.Payload)
		}
		if entry.Reason == "" || entry.Reason != found.Items[0].Reason ||
			!strings.Contains(entry.PayloadText, `"reason":"`) {
			t.Errorf("reason = %q and %q of %s", entry.Reason, found.Items[0].Reason, entry.PayloadText)
		}
	})
}

// TestReasonsAreOfPayloads: whoever may not read payloads gets no reason, and an erasure takes it away.
func TestReasonsAreOfPayloads(t *testing.T) {
	t.Parallel()
	eachEvidence(t, func(t *testing.T, e *evidence) {
		e.Asked(e.AgentKey(e.owner, e.org).APIKey, "billing", "bank", "pay", map[string]any{"to": "mallory"})
		decided := client.LogFilter{Action: "call.decided"}
		viewer := e.Join(e.owner, e.org, "viewer")
		seen, err := viewer.LogEntries(t.Context(), e.org, decided)
		if err != nil || len(seen.Items) != 1 || seen.Items[0].Reason != "" {
			t.Errorf("a viewer sees %+v, %v", seen, err)
		}
		index := seen.Items[0].Index
		one, err := viewer.LogEntry(t.Context(), e.org, index)
		if err != nil || one.Reason != "" || one.PayloadText != "" || one.Record == "" {
			t.Errorf("a viewer sees the entry %+v, %v", one, err)
		}
		if err := e.owner.ErasePayload(t.Context(), e.org, index, "by request"); err != nil {
			t.Fatal(err)
		}
		one, err = e.owner.LogEntry(t.Context(), e.org, index)
		if err != nil || one.Reason != "" || one.PayloadText != "" {
			t.Errorf("after the erasure: %+v, %v", one, err)
		}
	})
}
