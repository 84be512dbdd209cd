package api_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/testserver"
)

// storedState is what a person sees of their data.
type storedState struct {
	Organizations []client.Organization
	Members       []client.Member
	Invites       []client.Invite
	Keys          []client.Key
	Sessions      int
}

func readState(t *testing.T, p *testserver.Person, orgID string) storedState {
	t.Helper()
	organizations, err := p.Organizations(t.Context())
	members, err2 := p.Members(t.Context(), orgID, client.List{})
	invites, err3 := p.Invites(t.Context(), orgID)
	keys, err4 := p.Keys(t.Context(), orgID, client.List{})
	sessions, err5 := p.Sessions(t.Context())
	for _, err := range []error{err, err2, err3, err4, err5} {
		if err != nil {
			t.Fatalf("read what is stored: %v", err)
		}
	}
	for i := range keys.Items {
		keys.Items[i].LastUsedAt = nil // written when there is time
	}
	return storedState{organizations, members.Items, invites, keys.Items, len(sessions)}
}

// TestDatabaseOutage cuts the line to PostgreSQL under a running server.
func TestDatabaseOutage(t *testing.T) {
	t.Parallel()
	options, line := dbtest.PostgresOnALine(t)
	s := testserver.Start(t, options)
	owner := s.Person("owner")
	orgID := s.Organization(owner, "Outage")
	key := s.AgentKey(owner, orgID)
	before, logged := readState(t, owner, orgID), s.Recorded(orgID)

	line.Cut()
	if _, err := s.Public.Health(t.Context()); err != nil {
		t.Errorf("/health: %v", err)
	}
	refusesEverything(t, s, owner, orgID, key.ID)

	line.Mend()
	if err := testserver.Eventually(func() error { _, err := s.Public.Ready(t.Context()); return err }); err != nil {
		t.Fatalf("the server is not ready after the database is back: %v", err)
	}
	if diff := cmp.Diff(before, readState(t, owner, orgID)); diff != "" {
		t.Errorf("the outage left something behind (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(logged, s.Recorded(orgID)); diff != "" {
		t.Errorf("the outage is in the log (-before +after):\n%s", diff)
	}
	again := s.SignIn(owner.Email)
	s.Organization(again, "After")
	if _, err := s.Public.WithKey(key.APIKey).CurrentKey(t.Context()); err != nil {
		t.Errorf("the key after the outage: %v", err)
	}
	if _, err := s.Public.Refresh(t.Context(), owner.Tokens.RefreshToken); err != nil {
		t.Errorf("the refresh token that was sent during the outage: %v", err)
	}
}

// refusesEverything wants a 503 from each area, for reads and changes.
func refusesEverything(t *testing.T, s *testserver.Server, owner *testserver.Person, orgID, keyID string) {
	t.Helper()
	me := testserver.Credentials(owner.Client)
	for _, request := range []struct {
		method, path, body string
		headers            []string
	}{
		{"GET", "/ready", "", nil},
		{"POST", "/auth/login", `{"email":"` + owner.Email + `","password":"` + testserver.Password + `"}`, nil},
		{"POST", "/auth/register", `{"email":"new@example.org","password":"long enough"}`, nil},
		{"POST", "/auth/refresh", `{"refreshToken":"` + owner.Tokens.RefreshToken + `"}`, nil},
		{"GET", "/auth/me", "", me},
		{"POST", "/organization", `{"name":"Half"}`, me},
		{"PATCH", "/organization/" + orgID, `{"name":"Half"}`, me},
		{"POST", "/organization/" + orgID + "/members/invite", `{"email":"new@example.org"}`, me},
		{"DELETE", "/organization/" + orgID, "", me},
		{"POST", "/api-keys", `{"name":"half"}`, me},
		{"POST", "/api-keys/" + keyID + "/revoke", `{}`, me},
		{"GET", "/api-keys/current", "", testserver.Credentials(s.Public.WithKey(unknownKey))},
	} {
		t.Run(request.method+request.path, func(t *testing.T) {
			answer := s.Request(t, request.method, request.path, request.body, request.headers...)
			answer.ErrorFields(t, http.StatusServiceUnavailable)
			if wait := answer.RetryAfter(t); wait < 1 || wait > 60 {
				t.Errorf("Retry-After is %d s", wait)
			}
		})
	}
}

// TestAnOutageCountsAsDecisionsNotRecorded: in an outage not even the key is known, so that no decision begins. The
// alert must see it all the same, on each route that decides, and see nothing else.
func TestAnOutageCountsAsDecisionsNotRecorded(t *testing.T) {
	t.Parallel()
	options, line := dbtest.PostgresOnALine(t)
	s := testserver.Start(t, options, "WRIT_METRICS_TOKEN", testserver.MetricsToken)
	owner := s.Person("owner")
	key := s.KeyFor(owner.ID, s.Organization(owner, "Outage")).Secret.Reveal()
	ask := func(method, path string, want int) {
		t.Helper()
		answer := s.Request(t, method, path, `{"tool_name":"Bash","tool_input":{}}`, "X-Api-Key", key)
		if answer.Status != want {
			t.Errorf("%s %s: status %d, want %d: %s", method, path, answer.Status, want, answer.Body)
		}
	}
	wantUnrecorded := func(when string, want int) {
		t.Helper()
		text := s.Request(t, "GET", "/metrics", "", "Authorization", "Bearer "+testserver.MetricsToken).Body
		if line := fmt.Sprintf("\nwrit_decisions_unrecorded_total %d\n", want); !strings.Contains(string(text), line) {
			t.Errorf("%s: the metrics do not say %q", when, strings.TrimSpace(line))
		}
	}
	ask("POST", "/iap/enforce", http.StatusOK)
	wantUnrecorded("before the outage", 0)
	line.Cut()
	s.Advance(time.Second) // a key is believed for less
	for _, path := range []string{
		"/iap/enforce", "/iap/sdk/enforce", "/iap/verify-step", "/invoke", "/proxy/mcp", "/proxy/mcp/bank",
	} {
		ask("POST", path, http.StatusServiceUnavailable)
	}
	ask("GET", "/api-keys/current", http.StatusServiceUnavailable)
	wantUnrecorded("in the outage", 6)
}

// unknownKey has the form of a key; only the database can tell.
const unknownKey = "ak_test_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// TestKeysAreNotTrustedThroughAnOutage: a key that was good a moment ago may
// have been revoked since, elsewhere.
func TestKeysAreNotTrustedThroughAnOutage(t *testing.T) {
	t.Parallel()
	options, line := dbtest.PostgresOnALine(t)
	s := testserver.Start(t, options)
	owner := s.Person("owner")
	agent := s.Public.WithKey(s.AgentKey(owner, "").APIKey)
	if _, err := agent.CurrentKey(t.Context()); err != nil {
		t.Fatalf("before the outage: %v", err)
	}
	line.Cut()
	s.Advance(time.Second)
	_, err := agent.CurrentKey(t.Context())
	testserver.WantStatus(t, "a second into the outage", err, http.StatusServiceUnavailable)
	line.Mend()
	if err := testserver.Eventually(func() error { _, err := agent.CurrentKey(t.Context()); return err }); err != nil {
		t.Errorf("after the outage: %v", err)
	}
}

// TestLockedSQLite: another program holds the file, a backup tool perhaps.
func TestLockedSQLite(t *testing.T) {
	t.Parallel()
	s := testserver.Start(t, database.Options{}) // the product's own limit of a change
	owner := s.Person("owner")
	orgID := s.Organization(owner, "Locked")

	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.Config.DataDir, "writ.db")+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	lock, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatalf("lock the database: %v", err)
	}
	locked := s.Request(t, "PATCH", "/organization/"+orgID, `{"name":"Renamed"}`,
		testserver.Credentials(owner.Client)...)
	locked.ErrorFields(t, http.StatusServiceUnavailable)
	if locked.RetryAfter(t) < 1 {
		t.Error("Retry-After asks for no wait at all")
	}
	for path, want := range map[string]int{
		"/health": http.StatusOK, "/auth/me": http.StatusOK, "/organization/" + orgID: http.StatusOK,
		"/ready": http.StatusServiceUnavailable, // every decision is denied
	} {
		if answer := s.Request(t, "GET", path, "",
			testserver.Credentials(owner.Client)...); answer.Status != want {
			t.Errorf("%s while writing is locked: status %d, want %d: %s", path, answer.Status, want, answer.Body)
		}
	}
	if err := lock.Rollback(); err != nil {
		t.Fatal(err)
	}
	if org, err := owner.Organization(t.Context(), orgID); err != nil || org.Name != "Locked" {
		t.Errorf("after a refused renaming: %+v, %v", org, err)
	}
	if _, err := owner.RenameOrganization(t.Context(), orgID, "Renamed"); err != nil {
		t.Errorf("after the lock: %v", err)
	}
}
