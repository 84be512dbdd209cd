package app_test

import (
	"fmt"
	"net/http"
	"testing"

	"writ/client"
	"writ/internal/database"
)

// TestRestoreErasesAgain: what was erased after the backup must not come back with
// it, and nothing else may go.
func TestRestoreErasesAgain(t *testing.T) {
	t.Parallel()
	o := options(t, database.Options{})
	server := start(t, o)
	org := server.FirstRun.OrganizationID
	in, err := server.public.Login(t.Context(), server.FirstRun.Email, server.FirstRun.Password)
	if err != nil {
		t.Fatal(err)
	}
	before := entries(t, server.Database, org)
	saved := backup(t, o)
	owner := server.public.As(in.AccessToken)
	erase := func(index int64) {
		t.Helper()
		path := fmt.Sprintf("/audit-log/entries/%d/erase?organizationId=%s", index, org)
		if err := owner.Call(t.Context(), http.MethodPost, path, nil, map[string]string{"reason": "asked for"},
			nil); err != nil {
			t.Fatal(err)
		}
	}
	erase(0)
	if _, err := owner.CreateKey(t.Context(), client.NewKey{Name: "later", OrganizationID: org}); err != nil {
		t.Fatal(err)
	}
	erase(int64(len(before)) + 1) // of an entry that the backup lacks
	server.stop()
	if report := restore(t, o, saved); report.ErasedAgain != 1 {
		t.Errorf("%d payloads were erased again, want 1", report.ErasedAgain)
	}
	after := entries(t, start(t, o).Database, org)
	for i, entry := range after[:len(before)] {
		if erased := entry.Payload == "" && before[i].Payload != ""; erased != (i == 0) ||
			entry.Leaf != before[i].Leaf {
			t.Errorf("entry %d: erased %t", i, erased)
		}
	}
	if last := after[len(after)-1]; last.Action != "payload.erased" {
		t.Errorf("the log ends with %s, which does not tell what was erased", last.Action)
	}
}
