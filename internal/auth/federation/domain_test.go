package federation_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/oauth2-proxy/mockoidc"

	"writ/internal/apikey"
	"writ/internal/audit"
	"writ/internal/auth/federation"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/secret"
)

// openWeb calls whatever it is told to.
type openWeb struct{}

func (openWeb) Check(string) error      { return nil }
func (openWeb) IsPermitted(string) bool { return true }
func (openWeb) WebClient() *http.Client { return http.DefaultClient }

// newProvider starts a provider whose requests wait for each other: it makes the id
// of its key at the first use, unguarded, and tests of both databases share it.
func newProvider(t *testing.T) *mockoidc.MockOIDC {
	t.Helper()
	provider, err := mockoidc.NewServer(nil)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	err = provider.AddMiddleware(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			next.ServeHTTP(w, r)
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := provider.Start(httptest.NewUnstartedServer(nil).Listener, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := provider.Shutdown(); err != nil {
			t.Errorf("stop the provider: %v", err)
		}
	})
	return provider
}

// TestDomainsAreProven by a record that names the organization, and only as long
// as it is there.
func TestDomainsAreProven(t *testing.T) {
	t.Parallel()
	provider := newProvider(t)
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		sealer, err := secret.NewSealer(bytes.Repeat([]byte{3}, secret.MasterKeySize))
		if err != nil {
			t.Fatal(err)
		}
		log, records := audit.Unsigned(db), map[string][]string{}
		service := federation.New(federation.Options{
			Database:  db,
			Log:       log,
			Sealer:    sealer,
			Web:       openWeb{},
			Keys:      apikey.New(db, log, slog.New(slog.DiscardHandler)),
			PublicURL: "https://writ.example.org",
			Members: federation.Members{Role: func(
				context.Context, database.Reader, string, string,
			) (principal.Role, error) {
				return principal.Owner, nil
			}},
			LookupTXT: func(ctx context.Context, name string) ([]string, error) {
				if _, bounded := ctx.Deadline(); !bounded {
					t.Error("a slow server of names holds the request for ever")
				}
				if texts, ok := records[name]; ok {
					return texts, nil
				}
				return nil, errors.New("no such name")
			},
		})
		owner := principal.Principal{
			Kind: principal.User, UserID: database.NewID(), OrgID: addOrganization(t, db), Role: principal.Owner,
		}
		_, err = service.Put(t.Context(), owner, federation.Settings{
			Issuer: provider.Issuer(), ClientID: provider.ClientID, Secret: secret.NewText(provider.ClientSecret),
			Domains: []string{"corp.example", "other.example"}, DefaultRole: principal.Member,
		})
		if err != nil {
			t.Fatal(err)
		}
		test := func(domain string, want bool) {
			t.Helper()
			if _, err := service.Test(t.Context(), owner); err != nil {
				t.Fatal(err)
			}
			found, err := service.ByAddress(t.Context(), "bob@"+domain)
			if want && (err != nil || found != owner.OrgID) || !want && !fault.Is(err, fault.NotFound) {
				t.Errorf("%s leads to %q, %v; want it proven: %v", domain, found, err, want)
			}
		}
		test("corp.example", false)
		records["_writ.corp.example"] = []string{"writ-organization=" + database.NewID()}
		test("corp.example", false)
		records["_writ.corp.example"] = []string{"other", federation.RecordValue(owner.OrgID)}
		test("corp.example", true)
		test("other.example", false)
		other := owner
		other.OrgID = addOrganization(t, db)
		claimed := federation.Settings{
			Issuer: provider.Issuer(), ClientID: provider.ClientID, Secret: secret.NewText(provider.ClientSecret),
			Domains: []string{"corp.example"}, DefaultRole: principal.Member,
		}
		if _, err := service.Put(t.Context(), other, claimed); err != nil {
			t.Fatal(err)
		}
		records["_writ.corp.example"] = append(records["_writ.corp.example"], federation.RecordValue(other.OrgID))
		if _, err := service.Test(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		test("corp.example", false) // two have it
		closeOrganization(t, db, other.OrgID)
		test("corp.example", true)
		delete(records, "_writ.corp.example")
		test("corp.example", false)
	})
}

func closeOrganization(t *testing.T, db *database.DB, id string) {
	t.Helper()
	err := db.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE organization SET closed_at = 2 WHERE id = $1`, id)
		return err
	}})
	if err != nil {
		t.Fatal(err)
	}
}

func addOrganization(t *testing.T, db *database.DB) string {
	t.Helper()
	id := database.NewID()
	err := db.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO organization (id, name, created_at, updated_at) VALUES ($1, 'Corp', 1, 1)`,
			id)
		return err
	}})
	if err != nil {
		t.Fatal(err)
	}
	return id
}
