package decisions_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"writ/client"
	"writ/internal/api/decisions"
	"writ/internal/enforcement"
	"writ/internal/testserver"
)

// TestWhomACallIsFor: the header counts where the body names nobody, and nothing that names two people is read.
func TestWhomACallIsFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		email, userID string
		header        []string
		want          string
		refused       bool
	}{
		"nobody":                  {},
		"the header alone":        {header: []string{" Al@Example.org "}, want: "al@example.org"},
		"an empty header":         {email: "al@example.org", header: []string{" "}, want: "al@example.org"},
		"both, the same":          {email: "Al@x.org", header: []string{"al@x.org"}, want: "Al@x.org"},
		"both, two people":        {email: "al@example.org", header: []string{"bob@example.org"}, refused: true},
		"two headers":             {header: []string{"al@example.org", "bob@example.org"}, refused: true},
		"an id":                   {userID: "u7", header: []string{"al@example.org"}, want: "al@example.org"},
		"an id that is an e-mail": {userID: "al@example.org", header: []string{"al@example.org"}},
		"an id of somebody else":  {userID: "bob@example.org", header: []string{"al@example.org"}, refused: true},
	} {
		call := enforcement.Request{UserEmail: c.email, UserID: c.userID}
		err := decisions.NamePerson(&call, http.Header{decisions.PersonHeader: c.header})
		if (err != nil) != c.refused || !c.refused && call.UserEmail != c.want {
			t.Errorf("%s: %q, %v", name, call.UserEmail, err)
		}
	}
}

// TestThePersonOfTheHeaderCounts on every route that decides: a rejection is for one person, nobody approves a call
// that is for themselves, and a call for two people is denied.
func TestThePersonOfTheHeaderCounts(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		bob := w.Join(w.Owner, w.Org, "approver")
		w.Join(w.Owner, w.Org, "admin") // while nobody else may, people approve their own
		ask := func(path, body, person string) (d m) {
			t.Helper()
			answer := w.Request(t, "POST", path, body, append(w.SDK(), "X-User-Email", person)...)
			if err := json.Unmarshal(answer.Body, &d); err != nil || answer.Status != http.StatusOK {
				t.Fatalf("%s: %d %s", path, answer.Status, answer.Body)
			}
			return d
		}
		const call = `{"tool":"pay","mcp":"bank","arguments":{"n":1}}`
		held := ask("/iap/enforce", call, bob.Email)
		id, _ := held["approvalId"].(string)
		_, err := bob.Approve(t.Context(), w.Org, client.Approval{ID: id})
		if client.StatusOf(err) != http.StatusForbidden {
			t.Errorf("bob approves a call for bob: %v", err)
		}
		if _, err := w.Owner.Reject(t.Context(), w.Org, id, "no"); err != nil {
			t.Fatal(err)
		}
		if got := ask("/iap/enforce", call, bob.Email); got["action"] != "deny" {
			t.Errorf("what was rejected for bob: %v", got)
		}
		if got := ask("/iap/enforce", call, "zoe@example.org"); got["action"] != "hold" {
			t.Errorf("the same for zoe: %v", got)
		}
		const named = `{"tool":"pay","mcp":"bank","user_email":"al@example.org","arguments":{"n":1}}`
		for _, path := range []string{"/iap/enforce", "/iap/sdk/enforce"} {
			if got := ask(path, named, "zoe@example.org"); got["allowed"] != false || got["action"] != "deny" {
				t.Errorf("%s for two people: %v", path, got)
			}
		}
	})
}
