package auditlog_test

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"

	"writ/internal/audit"
	"writ/internal/audit/ledger"
	"writ/internal/testserver"
	"writ/internal/throttle"
)

// TestDecisionsAreListedByTheirAction: the action that entries say is one that finds them.
func TestDecisionsAreListedByTheirAction(t *testing.T) {
	t.Parallel()
	eachEvidence(t, func(t *testing.T, e *evidence) {
		key := e.AgentKey(e.owner, e.org)
		e.Asked(key.APIKey, "billing", "bank", "pay", nil)
		e.Asked(key.APIKey, "billing", "bank", "pay", nil)
		list := func(query string) testserver.Answer {
			return e.Request(t, http.MethodGet, "/audit-log/entries?organizationId="+e.org+query, "",
				testserver.Credentials(e.owner.Client)...)
		}
		answer := list("&action=call.decided")
		if answer.Status != http.StatusOK || strings.Count(string(answer.Body), `"action":"call.decided"`) != 2 {
			t.Errorf("%d %s, want two decisions", answer.Status, answer.Body)
		}
		mine := list("&action=call.decided&actor=" + key.ID)
		if strings.Count(string(mine.Body), `"action":"call.decided"`) != 2 {
			t.Errorf("%s, want the decisions of the key", mine.Body)
		}
		for _, unknown := range []string{"&verdict=deny", "&Action=call.decided", "&agentId=billing"} {
			if answer := list(unknown); answer.Status != http.StatusBadRequest {
				t.Errorf("%s: %d, want a refusal of what means nothing", unknown, answer.Status)
			}
		}
	})
}

// TestTheServerChecksWhatAnExportDoesNotHold alters what stands beside the log.
func TestTheServerChecksWhatAnExportDoesNotHold(t *testing.T) {
	t.Parallel()
	eachEvidence(t, func(t *testing.T, e *evidence) {
		other := e.Organization(e.owner, "Other")
		policyID := e.ActivePolicy(e.owner, e.org, testserver.PolicyText("pay", "deny"))
		e.Asked(e.AgentKey(e.owner, e.org).APIKey, "billing", "bank", "pay", nil)
		check, err := e.owner.CheckLog(t.Context(), e.org)
		if err != nil || len(check.Problems) != 0 || check.Entries == 0 {
			t.Fatalf("before: %+v, %v", check, err)
		}
		e.Insert(`UPDATE audit_entry SET verdict = 'allow' WHERE log = $1 AND verdict = 'deny'`, e.org)
		e.Insert(`UPDATE policy_version SET source = REPLACE(source, 'deny', 'allow') WHERE policy_id = $1`, policyID)
		found := map[string]bool{}
		if check, err = e.owner.CheckLog(t.Context(), e.org); err != nil {
			t.Fatal(err)
		}
		for _, problem := range check.Problems {
			found[problem.Kind] = true
		}
		if !found["search"] || !found["policy"] {
			t.Errorf("problems = %+v", check.Problems)
		}
		if check, err := e.owner.CheckLog(t.Context(), other); err != nil || len(check.Problems) != 0 {
			t.Errorf("another organization: %+v, %v", check, err)
		}
		stranger := e.Person("stranger")
		if _, err := stranger.CheckLog(t.Context(), e.org); err == nil {
			t.Error("a stranger may check the log")
		}
	})
}

// TestTheLogOfAClosedOrganization is for its operator alone: closing ended its members' rights.
func TestTheLogOfAClosedOrganization(t *testing.T) {
	t.Parallel()
	eachEvidence(t, func(t *testing.T, e *evidence) {
		e.ran(t, "read")
		if err := e.owner.CloseOrganization(t.Context(), e.org); err != nil {
			t.Fatal(err)
		}
		if _, err := e.owner.ExportLog(t.Context(), e.org, 0); err == nil {
			t.Error("a member of a closed organization exports its log")
		}
		var export bytes.Buffer
		if err := e.Audit.Export(t.Context(), &export, e.org, audit.ExportOptions{}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(export.String(), "organization.closed") {
			t.Error("the export does not say that the organization was closed")
		}
		if _, err := ledger.Verify(&export, ledger.Trust{Keys: e.keys}); err != nil {
			t.Error(err)
		}
	})
}

// TestStreamsRefuseWhatMeansNothing: a misspelled parameter of a streamed answer would otherwise give all of it.
func TestStreamsRefuseWhatMeansNothing(t *testing.T) {
	t.Parallel()
	eachEvidence(t, func(t *testing.T, e *evidence) {
		for path, field := range map[string]string{
			"/audit-log/export?from=3":                 "from",
			"/audit-log/export?since=0&Since=3":        "Since",
			"/audit-log/check?organization=" + e.org:   "organization",
			"/audit-log/check?whole=true":              "whole",
			"/audit-log/export?since=0&withoutPayload": "withoutPayload",
		} {
			answer := e.Request(t, http.MethodGet, path+"&organizationId="+e.org, "",
				testserver.Credentials(e.owner.Client)...)
			if fields := answer.ErrorFields(t, http.StatusBadRequest); !slices.Contains(fields, field) {
				t.Errorf("%s: %v, want %s named", path, fields, field)
			}
		}
	})
}

// TestChecksAreThrottled: a check reads a log whole.
func TestChecksAreThrottled(t *testing.T) {
	t.Parallel()
	eachEvidence(t, func(t *testing.T, e *evidence) {
		for range throttle.CheckLog.PerMinute {
			if _, err := e.owner.CheckLog(t.Context(), e.org); err != nil {
				t.Fatal(err)
			}
		}
		_, err := e.owner.CheckLog(t.Context(), e.org)
		testserver.WantStatus(t, "one check too many", err, http.StatusTooManyRequests)
	})
}

// TestAlteredPoliciesDenyWithAReason takes a policy away under the server: calls are denied, and say why.
func TestAlteredPoliciesDenyWithAReason(t *testing.T) {
	t.Parallel()
	eachEvidence(t, func(t *testing.T, e *evidence) {
		e.ActivePolicy(e.owner, e.org, testserver.PolicyText("all", "allow"))
		denying := e.ActivePolicy(e.owner, e.org, testserver.PolicyText("none", "deny"))
		e.Insert(`DELETE FROM policy_version WHERE policy_id = $1`, denying)
		e.Insert(`DELETE FROM policy WHERE id = $1`, denying)
		key := e.AgentKey(e.owner, e.org).APIKey // raises the generation
		answer := e.Request(t, http.MethodPost, "/iap/enforce",
			`{"session_id":"s","tool_name":"mcp__bank__pay","tool_input":{}}`,
			testserver.Credentials(e.Public.WithKey(key))...)
		if !strings.Contains(string(answer.Body), `"allowed":false`) ||
			!strings.Contains(string(answer.Body), "not those that the audit log tells of") {
			t.Errorf("%d %s, want a deny that says why", answer.Status, answer.Body)
		}
		check, err := e.owner.CheckLog(t.Context(), e.org)
		if err != nil || len(check.Problems) == 0 || check.Problems[0].Kind != audit.BadPolicy {
			t.Errorf("problems = %+v, %v", check.Problems, err)
		}
	})
}
