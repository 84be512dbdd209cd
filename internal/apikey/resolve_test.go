package apikey_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/internal/apikey"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/testenv"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		issued := e.create(testenv.Person(e.ada, e.acme, principal.Member), apikey.NewKey{
			Name: "k", OrgID: e.acme, Product: "checkout", Scopes: []principal.Scope{principal.Ingest, principal.Audit},
		})
		want := principal.Principal{
			Kind:        principal.Key,
			KeyID:       issued.ID,
			UserID:      e.ada,
			OrgID:       e.acme,
			Product:     "checkout",
			Environment: "sandbox",
			Scopes:      []principal.Scope{principal.Audit, principal.Ingest},
		}
		for _, way := range []string{"from the database", "remembered"} {
			if diff := cmp.Diff(want, e.resolve(issued)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", way, diff)
			}
		}
	})
}

// TestResolveGivesOneAnswer has every key that does not work refused in the
// same words.
func TestResolveGivesOneAnswer(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		good := e.memberKey(e.ada, e.acme).Secret.Reveal()
		digits := good[len("ak_test_"):]
		soon := e.DB.Now().Add(time.Minute)
		expired := e.create(testenv.Person(e.ada, "", ""), apikey.NewKey{Name: "k", ExpiresAt: &soon})
		revoked := e.create(testenv.Person(e.ada, "", ""), apikey.NewKey{Name: "k"})
		if err := e.keys.Revoke(t.Context(), testenv.Person(e.ada, "", ""), revoked.ID); err != nil {
			t.Fatal(err)
		}
		closed := e.memberKey(e.ada, e.globex)
		e.Exec(`UPDATE organization SET closed_at = 1 WHERE id = $1`, e.globex)
		e.Pass(time.Minute)
		for name, key := range map[string]string{
			"empty":                     "",
			"unknown":                   "ak_test_" + strings.Repeat("0", 64),
			"other environment":         "ak_live_" + digits,
			"other mark":                "ak_claw_" + digits,
			"upper case":                "ak_test_" + strings.ToUpper(strings.Repeat("a", 64)),
			"not hex":                   good[:71] + "g",
			"too short":                 good[:71],
			"too long":                  good + "0",
			"very long":                 strings.Repeat(good, 1000),
			"expired":                   expired.Secret.Reveal(),
			"revoked":                   revoked.Secret.Reveal(),
			"of a closed organization ": closed.Secret.Reveal(),
		} {
			got, err := e.keys.Resolve(t.Context(), key)
			f, ok := err.(*fault.Error)
			if !ok || f.Kind != fault.Unauthenticated || f.Message != "the API key is not valid" || f.Details != nil {
				t.Errorf("%s: err = %v", name, err)
			}
			if diff := cmp.Diff(principal.Principal{}, got); diff != "" {
				t.Errorf("%s: a caller beside the error: %s", name, diff)
			}
		}
		if _, err := e.keys.Resolve(t.Context(), good); err != nil {
			t.Errorf("the good key: %v", err)
		}
	})
}

func TestResolveFailsClosed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		issued := e.memberKey(e.ada, e.acme)
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // the database cannot be asked
		got, err := e.keys.Resolve(ctx, issued.Secret.Reveal())
		testenv.WantFault(t, "resolve", err, fault.Unavailable)
		if got.Kind != "" {
			t.Errorf("caller %+v beside the error", got)
		}
	})
}

func TestRememberedKeyExpires(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		soon := e.DB.Now().Add(500 * time.Millisecond)
		issued := e.create(testenv.Person(e.ada, "", ""), apikey.NewKey{Name: "k", ExpiresAt: &soon})
		e.Pass(499 * time.Millisecond)
		e.resolve(issued)
		e.Pass(time.Millisecond)
		_, err := e.keys.Resolve(t.Context(), issued.Secret.Reveal())
		testenv.WantFault(t, "resolve", err, fault.Unauthenticated)
	})
}

// TestOthersLearnWithinASecond has a key revoked, and an organization closed,
// by another process.
func TestOthersLearnWithinASecond(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		other := newService(e.DB)
		revoked, closed := e.memberKey(e.ada, e.acme), e.memberKey(e.ada, e.globex)
		for _, issued := range []apikey.Issued{revoked, closed} {
			if _, err := other.Resolve(t.Context(), issued.Secret.Reveal()); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.keys.Revoke(t.Context(), testenv.Person(e.ada, e.acme, principal.Member), revoked.ID); err != nil {
			t.Fatal(err)
		}
		e.Exec(`UPDATE organization SET closed_at = 1 WHERE id = $1`, e.globex)
		e.Pass(time.Second - time.Microsecond)
		for _, issued := range []apikey.Issued{revoked, closed} {
			if _, err := other.Resolve(t.Context(), issued.Secret.Reveal()); err != nil {
				t.Errorf("within the second the database was asked again: %v", err)
			}
		}
		e.Pass(time.Microsecond)
		for _, issued := range []apikey.Issued{revoked, closed} {
			_, err := other.Resolve(t.Context(), issued.Secret.Reveal())
			testenv.WantFault(t, "resolve", err, fault.Unauthenticated)
		}
	})
}

// TestRevocationBeatsLookups revokes keys while they are looked up. The clock
// stands, so an entry put back after the revocation would be trusted for ever.
func TestRevocationBeatsLookups(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for range 10 {
			issued := e.memberKey(e.ada, e.acme)
			stop := make(chan struct{})
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
							_, err := e.keys.Resolve(t.Context(), issued.Secret.Reveal())
							if err != nil && !fault.Is(err, fault.Unauthenticated) {
								t.Errorf("resolve: %v", err)
							}
						}
					}
				})
			}
			if err := e.keys.Revoke(t.Context(), testenv.Person(e.ada, e.acme, principal.Member),
				issued.ID); err != nil {
				t.Errorf("revoke: %v", err)
			}
			_, err := e.keys.Resolve(t.Context(), issued.Secret.Reveal())
			close(stop)
			wg.Wait()
			testenv.WantFault(t, "resolve", err, fault.Unauthenticated)
			_, err = e.keys.Resolve(t.Context(), issued.Secret.Reveal())
			testenv.WantFault(t, "resolve", err, fault.Unauthenticated)
		}
	})
}

func TestLastUsed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		issued, idle := e.memberKey(e.ada, e.acme), e.memberKey(e.ada, e.acme)
		flush := func() {
			t.Helper()
			if err := e.keys.FlushLastUsed(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		check := func(when string, want *time.Time) {
			t.Helper()
			if diff := cmp.Diff(want, e.get(issued.ID, e.ada).LastUsedAt); diff != "" {
				t.Errorf("%s: last used (-want +got):\n%s", when, diff)
			}
		}
		flush()
		check("before any use", nil)
		e.resolve(issued)
		check("before it is written", nil)
		first := e.DB.Now()
		flush()
		check("written", &first)
		e.Pass(time.Hour)
		e.resolve(issued)
		second := e.DB.Now()
		flush()
		check("used again", &second)
		e.Pass(-time.Hour)
		e.resolve(issued)
		flush()
		check("the clock was set back", &second)
		if k := e.get(idle.ID, e.ada); k.LastUsedAt != nil {
			t.Errorf("a key nobody used was used at %v", k.LastUsedAt)
		}
		if got := e.actions(e.acme); got != " key.created key.created" {
			t.Errorf("log:%s, want no entry for a use", got)
		}
	})
}

func TestLastUsedOfManyKeys(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		const many = 103 // more than one slice
		for range many {
			e.resolve(e.memberKey(e.ada, e.acme))
		}
		if err := e.keys.FlushLastUsed(t.Context()); err != nil {
			t.Fatal(err)
		}
		var written int
		if err := e.DB.QueryRow(t.Context(),
			`SELECT COUNT(*) FROM api_key WHERE last_used_at IS NOT NULL`).Scan(&written); err != nil {
			t.Fatal(err)
		}
		if written != many {
			t.Errorf("%d keys have a last use, want %d", written, many)
		}
	})
}

func TestResolveAfterTheOwnerLeft(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		terminal, _ := e.terminal(e.ada, e.acme)
		agent := e.memberKey(e.ada, e.acme)
		e.Exec(`DELETE FROM organization_member WHERE org_id = $1 AND user_id = $2`, e.acme, e.ada)
		e.Pass(2 * time.Second) // longer than an answer is remembered
		if _, err := e.keys.Resolve(t.Context(), terminal.Secret.Reveal()); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("the terminal's key: %v, want unauthenticated", err)
		}
		e.resolve(agent) // belongs to the organization, and goes on
	})
}
