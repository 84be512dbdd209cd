package auditlog_test

import (
	"net/http"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/testserver"
)

// TestWhatWasAlteredIsNotShownAsFact rewrites a deny to an allow in the database: no list shows an allow, and the entry
// itself is refused with words that say why.
func TestWhatWasAlteredIsNotShownAsFact(t *testing.T) {
	t.Parallel()
	eachEvidence(t, func(t *testing.T, e *evidence) {
		e.ActivePolicy(e.owner, e.org, testserver.PolicyText("pay", "deny"))
		e.Asked(e.AgentKey(e.owner, e.org).APIKey, "billing", "bank", "pay", nil)
		decided := client.LogFilter{Action: "call.decided"}
		found, err := e.owner.LogEntries(t.Context(), e.org, decided)
		if err != nil || len(found.Items) != 1 || found.Items[0].Decision != "deny" || found.Items[0].Altered != "" {
			t.Fatalf("before: %+v, %v", found.Items, err)
		}
		index := found.Items[0].Index
		e.Insert(`UPDATE audit_entry SET verdict = 'allow' WHERE log = $1 AND position = $2`, e.org, index)
		found, err = e.owner.LogEntries(t.Context(), e.org, decided)
		if err != nil || found.Items[0].Decision != "deny" ||
			!strings.Contains(found.Items[0].Altered, "another verdict") {
			t.Errorf("a verdict that is found by another: %+v, %v", found.Items, err)
		}
		if one, err := e.owner.LogEntry(t.Context(), e.org, index); err != nil || one.Altered == "" {
			t.Errorf("the entry itself: %+v, %v", one, err)
		}
		e.Insert(`UPDATE audit_entry SET record = REPLACE(record, '"verdict":"deny"', '"verdict":"allow"')
			WHERE log = $1 AND position = $2`, e.org, index)
		for _, filter := range []client.LogFilter{decided, {Decision: "allow"}} {
			found, err = e.owner.LogEntries(t.Context(), e.org, filter)
			if err != nil || len(found.Items) != 1 || found.Items[0].Decision != "altered" ||
				found.Items[0].Altered == "" || found.Items[0].Tool != "" || found.Items[0].Reason != "" {
				t.Errorf("%+v, %v, want an entry that is altered", found.Items, err)
			}
		}
		_, err = e.owner.LogEntry(t.Context(), e.org, index)
		testserver.WantStatus(t, "the altered entry", err, http.StatusConflict)
		if err == nil || !strings.Contains(err.Error(), "was altered") {
			t.Errorf("%v, want words that say that it was altered", err)
		}
	})
}
