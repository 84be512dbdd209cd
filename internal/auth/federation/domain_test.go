package federation_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/oauth2-proxy/mockoidc"

	"writ/internal/apikey"
	"writ/internal/auth/federation"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/secret"
	"writ/internal/testenv"
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
	testenv.Each(t, func(t *testing.T, e *testenv.Env) {
		records := map[string][]string{}
		service := federation.New(federation.Options{
			Database:  e.DB,
			Log:       e.Log,
			Sealer:    testenv.Sealer(t, 3),
			Web:       openWeb{},
			Keys:      apikey.New(e.DB, e.Log, slog.New(slog.DiscardHandler), nil),
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
		owner := testenv.Person(database.NewID(), e.Organization("Corp"), principal.Owner)
		_, err := service.Put(t.Context(), owner, federation.Settings{
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
		other.OrgID = e.Organization("Corp")
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
		e.Exec(`UPDATE organization SET closed_at = 2 WHERE id = $1`, other.OrgID)
		test("corp.example", true)
		delete(records, "_writ.corp.example")
		test("corp.example", false)
	})
}
