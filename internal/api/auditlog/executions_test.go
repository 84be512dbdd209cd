package auditlog_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/spelling"
	"writ/internal/testserver"
)

// reporting is a server with an agent of an organization.
type reporting struct {
	*testserver.Server
	owner *testserver.Person
	org   string
	agent []string // headers of a key
}

func eachReporting(t *testing.T, body func(t *testing.T, r *reporting), settings ...string) {
	t.Helper()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		org := s.Organization(owner, "Reports")
		body(t, &reporting{s, owner, org, testserver.Credentials(s.Public.WithKey(s.AgentKey(owner, org).APIKey))})
	}, settings...)
}

// post wants a 201 with a JSON object, as published clients do.
func (r *reporting) post(t *testing.T, path, body string, headers ...string) map[string]any {
	t.Helper()
	answer := r.Request(t, http.MethodPost, path, body, headers...)
	var members map[string]any
	if err := json.Unmarshal(answer.Body, &members); answer.Status != http.StatusCreated || err != nil ||
		answer.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("POST %s %.100q: status %d: %.300s", path, body, answer.Status, answer.Body)
	}
	return members
}

const (
	geminiRow   = `{"source":"armorgemini","event":"AfterTool","at":"2026-11-15T02:07:42.180Z","session_id":"s","tool_name":"read_file","tool_input":{"path":"a"},"result_summary":"fine"}`
	claudeRow   = `{"token":"eyJ.h.s","step_index":0,"action":"Bash","tool":"Bash","input":{"command":"make"},"output":{"output":"ok"},"status":"success","executed_at":"2026-11-15T02:07:42.180Z","duration_ms":0}`
	tokenless   = `{"session_id":"s","user_id":"claude-user","agent_id":"claude-code","client_id":"c","step_index":-1,"action":"Read","tool":"Read","input":{},"output":null,"status":"failed","error_message":"no","executed_at":"2026-11-15T02:07:42.180Z","duration_ms":0}`
	sdkRow      = `{"token":"unknown","plan_id":"unknown","step_index":1,"action":"pay","tool":"pay","mcp":"bank","input":{"amount":5},"output":{"text":"done"},"status":"success","executed_at":"2026-11-15T02:07:42.123456Z"}`
	openClawRow = `{"token":"TOKEN","step_index":0,"action":"read","tool":"read","input":{},"output":{},"status":"success","executed_at":"2026-11-15T02:07:42.180Z","duration_ms":0}`
)

func TestReportsOfEveryClient(t *testing.T) {
	t.Parallel()
	eachReporting(t, func(t *testing.T, r *reporting) {
		rows := []string{geminiRow, claudeRow, tokenless, sdkRow}
		for i, row := range rows {
			got := r.post(t, "/iap/audit", row, r.agent...)
			index, ok := got["iap_audit_index"].(float64)
			if got["iap_sync_status"] != "synced" || got["audit_id"] == "" || !ok ||
				len(got["iap_commitment"].(string)) != 64 {
				t.Fatalf("row %d: %v", i, got)
			}
			again := r.post(t, "/iap/audit", row, r.agent...)
			if again["audit_id"] != got["audit_id"] || again["iap_audit_index"] != index || again["duplicate"] != true {
				t.Errorf("row %d again: %v, then %v", i, got, again)
			}
		}
		batch := `{"rows":[` + strings.Join(append(rows, `{"no":"tool"}`, `{"tool":"new"}`), ",") + `],"extra":1}`
		got := r.post(t, "/iap/audit/batch", batch, r.agent...)
		failures, ok := got["failures"].([]any)
		if got["written"] != 5.0 || got["duplicates"] != 4.0 || !ok || len(failures) != 1 ||
			failures[0].(map[string]any)["index"] != 4.0 {
			t.Errorf("a batch of four known, a bad and a new row: %v", got)
		}
		if n := strings.Count(strings.Join(r.Recorded(r.org), " "), "call.executed"); n != 5 {
			t.Errorf("%d executions in the log, want 5", n)
		}
	})
}

// TestReportsAreAlwaysAnswered: a client sends what is refused for ever.
func TestReportsAreAlwaysAnswered(t *testing.T) {
	t.Parallel()
	eachReporting(t, func(t *testing.T, r *reporting) {
		for name, body := range map[string]string{
			"nothing": "", "no JSON": `{"rows":`, "null": `null`, "an array": `[]`, "a string": `"x"`, "no rows": `{}`,
			"rows of another kind": `{"rows":5}`, "bad UTF-8": "{\"rows\":[\"\xff\"],\"tool\":\"\xff\"}",
			"a member twice": `{"tool":"a","tool":"b","rows":[{"tool":1,"tool":2}]}`,
			"too large":      `{"tool":"` + strings.Repeat("x", 2<<20) + `"}`, "deep": strings.Repeat(`[`, 20_000),
			"a secret that cannot be read": `{"tool":5,"password":"` + testserver.TypedSecret + `","rows":[{"x":"` +
				testserver.TypedSecret + `"}]}`,
		} {
			one := r.post(t, "/iap/audit", body, r.agent...)
			if one["iap_sync_status"] != "failed" || one["error"] == "" || one["audit_id"] != "" {
				t.Errorf("%s: %v", name, one)
			}
			many := r.post(t, "/iap/audit/batch", body, r.agent...)
			if failures, ok := many["failures"].([]any); many["written"] != 0.0 || !ok || len(failures) != 1 {
				t.Errorf("%s in a batch: %v", name, many)
			}
			if text, _ := json.Marshal([]any{one, many}); strings.Contains(string(text), testserver.TypedSecret) {
				t.Errorf("%s: the answer repeats what was sent: %s", name, text)
			}
		}
		empty := r.post(t, "/iap/audit/batch", `{"rows":[]}`, r.agent...)
		if empty["written"] != 0.0 || len(empty["failures"].([]any)) != 0 {
			t.Errorf("no rows: %v", empty)
		}
	}, "WRIT_MAX_INGEST_BYTES", "1048576")
}

func TestReportsNeedAKeyOrAToken(t *testing.T) {
	t.Parallel()
	eachReporting(t, func(t *testing.T, r *reporting) {
		minted := r.Declared(r.agent[1], client.PlanRequest{
			Plan: json.RawMessage(testserver.OnePlan), AgentID: "agent", ExpiresIn: 600,
		})
		for name, body := range map[string]string{
			"nothing": "", "no token": tokenless,
			"a token of nobody":        strings.Replace(openClawRow, "TOKEN", "eyJ.h.s", 1),
			"a token that was altered": strings.Replace(openClawRow, "TOKEN", minted.JWT+"x", 1),
		} {
			for _, path := range []string{"/iap/audit", "/iap/audit/batch"} {
				if path == "/iap/audit/batch" {
					body = `{"rows":[` + body + `]}`
				}
				if answer := r.Request(t, http.MethodPost, path, body); answer.Status != http.StatusUnauthorized {
					t.Errorf("%s at %s: status %d: %s", name, path, answer.Status, answer.Body)
				}
			}
		}
		got := r.post(t, "/iap/audit", strings.Replace(openClawRow, "TOKEN", minted.JWT, 1))
		if got["iap_sync_status"] != "synced" {
			t.Fatalf("a report with the plan's token alone: %v", got)
		}
		entries, err := r.owner.LogEntries(t.Context(), r.org, client.LogFilter{
			Plan: minted.PlanID, Action: "call.executed",
		})
		if err != nil || len(entries.Items) != 1 || entries.Items[0].Tool != "read" {
			t.Errorf("entries of the plan: %+v, %v", entries.Items, err)
		}
	})
}

// TestAReportOfTwoPlans: a report is of the plan whose token it shows under any of its names, and of no two.
func TestAReportOfTwoPlans(t *testing.T) {
	t.Parallel()
	eachReporting(t, func(t *testing.T, r *reporting) {
		declared := func() client.PlanToken {
			return r.Declared(r.agent[1], client.PlanRequest{
				Plan: json.RawMessage(testserver.OnePlan), AgentID: "agent", ExpiresIn: 600,
			})
		}
		one, other := declared(), declared()
		for i, name := range spelling.PlanToken {
			beside := spelling.PlanToken[(i+1)%len(spelling.PlanToken)]
			row := func(shown any) string {
				return testserver.JSON(t, map[string]any{"tool": "read", "step_index": i, name: one.JWT, beside: shown})
			}
			got := r.post(t, "/iap/audit", row(other.JWT), r.agent...)
			if got["iap_sync_status"] != "failed" || !strings.Contains(got["error"].(string), "must be the same as") {
				t.Errorf("%s beside %s: %v", name, beside, got)
			}
			// What published clients write where they have no token.
			if got := r.post(t, "/iap/audit", row("unknown"), r.agent...); got["iap_sync_status"] != "synced" {
				t.Errorf("%s: %v", name, got)
			}
		}
		entries, err := r.owner.LogEntries(t.Context(), r.org, client.LogFilter{
			Plan: one.PlanID, Action: "call.executed",
		})
		if err != nil || len(entries.Items) != len(spelling.PlanToken) {
			t.Errorf("%d reports of the plan, %v", len(entries.Items), err)
		}
	})
}
