package auditlog_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/audit/ledger"
	"writ/internal/testserver"
)

// evidence is an organization with something in its log.
type evidence struct {
	*testserver.Server
	owner *testserver.Person
	org   string
	agent *client.Client
	keys  ledger.Keys
}

func eachEvidence(t *testing.T, body func(t *testing.T, e *evidence)) {
	t.Helper()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		e := &evidence{Server: s, owner: s.Person("owner")}
		e.org = s.Organization(e.owner, "Evidence")
		e.agent = s.Public.WithKey(s.AgentKey(e.owner, e.org).APIKey)
		texts, err := e.owner.LogKeys(t.Context(), e.org)
		if err != nil || len(texts) != 1 {
			t.Fatalf("keys: %v, %v", texts, err)
		}
		if e.keys, err = ledger.ParseKeys(strings.Join(texts, "\n")); err != nil {
			t.Fatal(err)
		}
		body(t, e)
	})
}

// ran reports a call of a tool, and gives its entry.
func (e *evidence) ran(t *testing.T, tool string) int64 {
	t.Helper()
	got, err := e.agent.ReportExecution(t.Context(), map[string]any{
		"tool": tool, "agent_id": "agent-" + tool, "input": map[string]any{"path": "/etc"},
	})
	if err != nil || got.AuditIndex == nil {
		t.Fatalf("report: %+v, %v", got, err)
	}
	return *got.AuditIndex
}

func (e *evidence) export(t *testing.T, as *client.Client, since int64) []byte {
	t.Helper()
	body, err := as.ExportLog(t.Context(), e.org, since)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestEntriesAreFoundByFilters(t *testing.T) {
	t.Parallel()
	eachEvidence(t, func(t *testing.T, e *evidence) {
		for _, tool := range []string{"a", "b", "a"} {
			e.ran(t, tool)
		}
		for name, test := range map[string]struct {
			filter client.LogFilter
			want   int
		}{
			"tool":           {client.LogFilter{Tool: "a"}, 1}, // the third is the first again
			"agent":          {client.LogFilter{Agent: "agent-b"}, 1},
			"action":         {client.LogFilter{Action: "call.executed"}, 2},
			"action of none": {client.LogFilter{Action: "nothing"}, 0},
			"decision":       {client.LogFilter{Decision: "deny"}, 0},
			"time":           {client.LogFilter{Action: "call.executed", From: time.Now().Add(time.Hour)}, 0},
			"time before":    {client.LogFilter{Action: "call.executed", Until: time.Now().Add(time.Hour)}, 2},
		} {
			found, err := e.owner.LogEntries(t.Context(), e.org, test.filter)
			if err != nil || len(found.Items) != test.want {
				t.Errorf("%s: %d entries, want %d (%v)", name, len(found.Items), test.want, err)
			}
		}
		var indexes []int64
		for list := (client.List{Limit: 2}); ; {
			found, err := e.owner.LogEntries(t.Context(), e.org, client.LogFilter{List: list})
			if err != nil {
				t.Fatal(err)
			}
			for _, entry := range found.Items {
				indexes = append(indexes, entry.Index)
			}
			if list.Cursor = found.NextCursor; !found.HasMore {
				break
			}
		}
		slices.Reverse(indexes)
		for i, index := range indexes {
			if index != int64(i) {
				t.Fatalf("pages give %v", indexes)
			}
		}
	})
}

func TestAnEntryWithItsProof(t *testing.T) {
	t.Parallel()
	eachEvidence(t, func(t *testing.T, e *evidence) {
		index := e.ran(t, "a")
		before, err := e.owner.LogCheckpoint(t.Context(), e.org)
		if err != nil {
			t.Fatal(err)
		}
		e.ran(t, "b")
		entry, err := e.owner.LogEntry(t.Context(), e.org, index)
		if err != nil {
			t.Fatal(err)
		}
		var receipt ledger.Receipt
		if err := json.Unmarshal(entry.Receipt, &receipt); err != nil {
			t.Fatal(err)
		}
		record, err := receipt.CheckRecord([]byte(entry.Record), e.keys)
		if err != nil || record.Tool != "a" {
			t.Fatalf("the receipt: %+v, %v", record, err)
		}
		now, err := ledger.OpenCheckpoint(receipt.Checkpoint, e.keys)
		if err != nil {
			t.Fatal(err)
		}
		seen, err := ledger.OpenCheckpoint(before, e.keys)
		if err != nil {
			t.Fatal(err)
		}
		included, err := e.owner.InclusionProof(t.Context(), e.org, index, seen.Size)
		if err == nil {
			err = ledger.CheckInclusion(hashes(included), index, ledger.LeafHash([]byte(entry.Record)), seen.Size,
				seen.Root)
		}
		if err != nil {
			t.Errorf("inclusion in the earlier log: %v", err)
		}
		grown, err := e.owner.ConsistencyProof(t.Context(), e.org, seen.Size, now.Size)
		if err == nil {
			err = ledger.CheckConsistency(hashes(grown), seen.Size, seen.Root, now.Size, now.Root)
		}
		if err != nil {
			t.Errorf("consistency of %d and %d: %v", seen.Size, now.Size, err)
		}
		_, err = e.owner.InclusionProof(t.Context(), e.org, 0, now.Size+1)
		testserver.WantStatus(t, "a proof in a log that is not that large", err, http.StatusBadRequest)
	})
}

func hashes(raw [][]byte) (hashes []ledger.Hash) {
	for _, r := range raw {
		hashes = append(hashes, ledger.Hash(r))
	}
	return hashes
}

func TestExportVerifies(t *testing.T) {
	t.Parallel()
	eachEvidence(t, func(t *testing.T, e *evidence) {
		e.ran(t, "a")
		seen, err := e.owner.LogCheckpoint(t.Context(), e.org)
		if err != nil {
			t.Fatal(err)
		}
		e.ran(t, "b")
		whole := e.export(t, e.owner.Client, 0)
		report, err := ledger.Verify(bytes.NewReader(whole), ledger.Trust{Keys: e.keys, Earlier: seen})
		if err != nil || report.Log != e.org || report.Payloads == 0 || report.Erased != 0 {
			t.Fatalf("%+v, %v", report, err)
		}
		if _, err := ledger.Verify(bytes.NewReader(e.export(t, e.owner.Client, 2)), ledger.Trust{
			Keys: e.keys, Earlier: seen,
		}); err != nil {
			t.Errorf("since 2: %v", err)
		}
		changed := bytes.Replace(whole, []byte(`"tool":"b"`), []byte(`"tool":"c"`), 1)
		if _, err := ledger.Verify(bytes.NewReader(changed), ledger.Trust{Keys: e.keys}); err == nil {
			t.Error("a changed export verifies")
		}
		viewer := e.Join(e.owner, e.org, "viewer")
		masked := e.export(t, viewer.Client, 0)
		report, err = ledger.Verify(bytes.NewReader(masked), ledger.Trust{Keys: e.keys})
		if err != nil || report.Payloads != 0 || bytes.Contains(masked, []byte("/etc")) {
			t.Errorf("a viewer's export: %+v, %v", report, err)
		}
		_, err = e.owner.ExportLog(t.Context(), e.org, 1000)
		testserver.WantStatus(t, "an export from beyond the end", err, http.StatusBadRequest)
		answer := e.Request(t, http.MethodGet, "/audit-log/export?since=x&organizationId="+e.org, "",
			testserver.Credentials(e.owner.Client)...)
		answer.ErrorFields(t, http.StatusBadRequest)
	})
}

func TestPayloadsAreErasedAndProofsStay(t *testing.T) {
	t.Parallel()
	eachEvidence(t, func(t *testing.T, e *evidence) {
		index := e.ran(t, "a")
		admin := e.Join(e.owner, e.org, "admin")
		testserver.WantStatus(t, "erasing by an admin", admin.ErasePayload(t.Context(), e.org, index, "no"),
			http.StatusForbidden)
		if err := e.owner.ErasePayload(t.Context(), e.org, index, "asked for"); err != nil {
			t.Fatal(err)
		}
		entry, err := e.owner.LogEntry(t.Context(), e.org, index)
		if err != nil || string(entry.Payload) != "null" || entry.Salt != "" {
			t.Errorf("after erasing: payload %s, salt %q, %v", entry.Payload, entry.Salt, err)
		}
		report, err := ledger.Verify(bytes.NewReader(e.export(t, e.owner.Client, 0)), ledger.Trust{Keys: e.keys})
		if err != nil || report.Erased != 1 {
			t.Errorf("the export after erasing: %+v, %v", report, err)
		}
		testserver.WantStatus(t, "erasing what is not there", e.owner.ErasePayload(t.Context(), e.org, 9999, "x"),
			http.StatusNotFound)
	})
}

func TestViewersSeeNoPayloads(t *testing.T) {
	t.Parallel()
	eachEvidence(t, func(t *testing.T, e *evidence) {
		index := e.ran(t, "a")
		viewer := e.Join(e.owner, e.org, "viewer")
		entry, err := viewer.LogEntry(t.Context(), e.org, index)
		if err != nil || string(entry.Payload) != "null" || entry.Salt != "" || entry.Record == "" {
			t.Errorf("a viewer sees %+v, %v", entry, err)
		}
		found, err := viewer.LogEntries(t.Context(), e.org, client.LogFilter{})
		if err != nil || len(found.Items) == 0 {
			t.Fatal(err)
		}
		for _, entry := range found.Items {
			if string(entry.Payload) != "null" || entry.Salt != "" {
				t.Errorf("a viewer sees the payload of entry %d", entry.Index)
			}
		}
		mine, err := e.owner.LogEntry(t.Context(), e.org, index)
		if err != nil || !strings.Contains(string(mine.Payload), "/etc") {
			t.Errorf("the owner sees %s, %v", mine.Payload, err)
		}
	})
}

// TestFindingsOverHTTP reports what nobody allowed.
func TestFindingsOverHTTP(t *testing.T) {
	t.Parallel()
	eachEvidence(t, func(t *testing.T, e *evidence) {
		index := e.ran(t, "rogue")
		if err := e.Executions.Reconcile(t.Context()); err != nil {
			t.Fatal(err)
		}
		found, err := e.owner.Findings(t.Context(), e.org, "execution_without_decision", client.List{})
		if err != nil || len(found.Items) != 1 || found.Items[0].Tool != "rogue" || found.Items[0].Index != index ||
			found.Items[0].AgentID != "agent-rogue" {
			t.Fatalf("findings: %+v, %v", found.Items, err)
		}
		if others, err := e.owner.Findings(t.Context(), e.org, "sequence_gap", client.List{}); err != nil ||
			len(others.Items) != 0 {
			t.Errorf("gaps: %+v, %v", others.Items, err)
		}
	})
}
