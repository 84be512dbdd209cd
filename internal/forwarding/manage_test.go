package forwarding_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/forwarding"
	"writ/internal/principal"
	"writ/internal/secret"
	"writ/internal/testenv"
)

func TestSettingsAreChecked(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for name, c := range map[string]struct {
			field string
			spoil func(*forwarding.Settings)
		}{
			"private address": {
				"endpoint", func(s *forwarding.Settings) { s.Endpoint = "https://10.0.0.1/v1/traces" },
			},
			"metadata": {
				"endpoint", func(s *forwarding.Settings) { s.Endpoint = "http://169.254.169.254/latest" },
			},
			"no URL": {"endpoint", func(s *forwarding.Settings) { s.Endpoint = "collector" }},
			"without TLS": {
				"endpoint", func(s *forwarding.Settings) { s.Endpoint = "http://collector.example.org/" },
			},
			"a key in the URL": {
				"endpoint",
				func(s *forwarding.Settings) { s.Endpoint = "https://collector.example.org/?key=secret-in-query" },
			},
			"user in the URL": {
				"endpoint",
				func(s *forwarding.Settings) { s.Endpoint = "https://user:secret-in-url@collector.example.org/" },
			},
			"content":        {"content", func(s *forwarding.Settings) { s.Content = "everything" }},
			"no content":     {"content", func(s *forwarding.Settings) { s.Content = "" }},
			"age":            {"maxAgeHours", func(s *forwarding.Settings) { s.MaxAge = time.Minute }},
			"great age":      {"maxAgeHours", func(s *forwarding.Settings) { s.MaxAge = 8 * 24 * time.Hour }},
			"on for nothing": {"enabled", func(s *forwarding.Settings) { s.Traces, s.Decisions = false, false }},
			"header of ours": {
				"headers", func(s *forwarding.Settings) { s.Headers = headers("Content-Type", "text/plain") },
			},
			"host": {"headers", func(s *forwarding.Settings) { s.Headers = headers("host", "internal") }},
			"smuggling": {
				"headers", func(s *forwarding.Settings) { s.Headers = headers("X-A", "b\r\nX-C: secret-in-value") },
			},
			"header name": {
				"headers", func(s *forwarding.Settings) { s.Headers = headers("X A", "secret-in-value") },
			},
			"header twice": {
				"headers", func(s *forwarding.Settings) { s.Headers = headers("X-A", "1", "x-a", "2") },
			},
			"empty header": {"headers", func(s *forwarding.Settings) { s.Headers = headers("X-A", "") }},
			"long header": {
				"headers", func(s *forwarding.Settings) { s.Headers = headers("X-A", strings.Repeat("v", 5000)) },
			},
			"too many headers": {"headers", func(s *forwarding.Settings) { s.Headers = manyHeaders(21) }},
			"NUL in the string": {
				"endpoint", func(s *forwarding.Settings) { s.Endpoint = "https://collector.example.org/\x00" },
			},
		} {
			settings := e.settings()
			c.spoil(&settings)
			_, err := e.out.Put(t.Context(), e.admin, settings)
			testenv.WantFault(t, name, err, fault.Invalid)
			if err != nil &&
				(!strings.HasPrefix(err.Error(), c.field+":") || strings.Contains(err.Error(), "secret-in")) {
				t.Errorf("%s: %v, want it about %s, without a value", name, err, c.field)
			}
		}
		if _, err := e.out.Get(t.Context(), e.admin); !fault.Is(err, fault.NotFound) {
			t.Errorf("something was stored: %v", err)
		}
	})
}

func headers(pairs ...string) map[string]secret.Text {
	all := map[string]secret.Text{}
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = secret.NewText(pairs[i+1])
	}
	return all
}

func manyHeaders(n int) map[string]secret.Text {
	all := map[string]secret.Text{}
	for i := range n {
		all[fmt.Sprintf("X-%d", i)] = secret.NewText("v")
	}
	return all
}

func TestOnlyWhoAdministersMay(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.put(e.settings())
		for _, role := range []principal.Role{principal.Approver, principal.Member, principal.Viewer, ""} {
			p := e.admin
			p.Role = role
			_, err := e.out.Get(t.Context(), p)
			testenv.WantFault(t, "read", err, fault.Forbidden)
			_, err = e.out.Put(t.Context(), p, e.settings())
			testenv.WantFault(t, "set", err, fault.Forbidden)
			_, err = e.out.Status(t.Context(), p)
			testenv.WantFault(t, "status", err, fault.Forbidden)
			_, err = e.out.Test(t.Context(), p)
			testenv.WantFault(t, "test", err, fault.Forbidden)
			testenv.WantFault(t, "delete", e.out.Delete(t.Context(), p), fault.Forbidden)
		}
		other := e.elsewhere()
		_, err := e.out.Get(t.Context(), other.admin)
		testenv.WantFault(t, "another organization's", err, fault.NotFound)
	})
}

// TestHeadersStayWithTheirHost: who may change the endpoint must not be able to have
// keys sent to a host of their own.
func TestHeadersStayWithTheirHost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.put(e.settings())
		moved := e.settings()
		moved.Headers = nil
		moved.Endpoint = "https://elsewhere.example.org/v1/traces"
		_, err := e.out.Put(t.Context(), e.admin, moved)
		testenv.WantFault(t, "another host without headers", err, fault.Invalid)
		path := e.settings()
		path.Headers = nil
		path.Endpoint = e.receiver.URL
		if got := e.put(path); !slices.Equal(got.HeaderNames, []string{"X-Api-Key"}) ||
			!strings.HasSuffix(got.Endpoint, "/v1/traces") {
			t.Errorf("another path: %+v", got)
		}
		moved.Headers = map[string]secret.Text{}
		if got := e.put(moved); len(got.HeaderNames) != 0 {
			t.Errorf("headers taken away: %+v", got)
		}
	})
}

// TestSecretsAreSealed looks for the key in everything that is stored.
func TestSecretsAreSealed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.put(e.settings())
		var sealed []byte
		if err := e.DB.QueryRow(t.Context(), `SELECT sealed_headers FROM forwarding WHERE org_id = $1`,
			e.org).Scan(&sealed); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(sealed), "k3y-of") {
			t.Error("the header is stored in the clear")
		}
		entries, err := database.Collect(t.Context(), e.DB, func(r database.Scanner) (text string, err error) {
			var action, record, payload string
			err = r.Scan(&action, &record, &payload)
			return action + record + payload, err
		}, `SELECT action, record, COALESCE(payload, '') FROM audit_entry WHERE log = $1`, audit.LogOf(e.org))
		if err != nil || len(entries) != 1 || !strings.Contains(entries[0], "forwarding.set") ||
			!strings.Contains(entries[0], "X-Api-Key") || strings.Contains(entries[0], "k3y-of") {
			t.Errorf("the log says %v, %v", entries, err)
		}
		// A row that is moved to another organization does not open there.
		other := e.elsewhere()
		other.put(other.settings())
		other.write(func(ctx context.Context, tx *database.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE forwarding SET sealed_headers = $2 WHERE org_id = $1`, other.org, sealed)
			return err
		})
		got, err := e.out.Test(t.Context(), other.admin)
		if err != nil || got.Taken || !strings.Contains(got.Problem, "headers cannot be read") ||
			e.receiver.tries() != 0 {
			t.Errorf("with another's headers: %+v, %v", got, err)
		}
	})
}

func TestATestTellsWhatCameOfIt(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		off := e.settings()
		off.Enabled = false
		e.put(off)
		if got, err := e.out.Test(t.Context(), e.admin); err != nil ||
			got != (forwarding.Tested{Taken: true, HTTPStatus: 200}) {
			t.Errorf("a test: %+v, %v", got, err)
		}
		e.wantNames("the test", []string{"writ.test"})
		e.receiver.become(http.StatusUnauthorized)
		if got, err := e.out.Test(t.Context(), e.admin); err != nil || got.Taken || got.HTTPStatus != 401 ||
			got.Problem == "" {
			t.Errorf("with a wrong key: %+v, %v", got, err)
		}
		e.receiver.become(0)
		e.decide(1)
		e.rest()
		e.wantNames("while it is off", []string{"writ.test"})
	})
}

// TestPrivateAddressesAreNotCalled: not by name when it resolves to one, and not by a
// redirect of a receiver that is allowed.
func TestPrivateAddressesAreNotCalled(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		inside := newReceiver(t) // on another port of this machine, which the permit does not name
		permitted := strings.TrimPrefix(e.receiver.URL, "http://")
		e.out = e.replicaFor(permitted)
		e.put(e.settings())
		e.decide(1)
		e.receiver.become(http.StatusTemporaryRedirect, "Location", inside.URL+"/v1/traces")
		e.rest()
		if got := e.status(); !strings.Contains(got.Problem, "redirects") || got.SentDecisions != 0 ||
			inside.tries() != 0 || e.receiver.tries() != 1 {
			t.Errorf("a redirect: %+v; the inside was called %d times", got, inside.tries())
		}
		// The permit is taken back: the next try is refused when it is dialled.
		e.out = e.replicaFor()
		e.Pass(time.Hour)
		e.receiver.forget()
		e.rest()
		if got := e.status(); !strings.Contains(got.Problem, "not a public one") || e.receiver.tries() != 0 ||
			got.LostDecisions != 0 {
			t.Errorf("without a permit: %+v", got)
		}
	})
}

func TestDeletedClosedAndRestored(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.put(e.settings())
		if err := e.out.Delete(t.Context(), e.admin); err != nil {
			t.Fatal(err)
		}
		testenv.WantFault(t, "delete again", e.out.Delete(t.Context(), e.admin), fault.NotFound)
		e.decide(1)
		e.rest()
		e.put(e.settings())
		e.decide(1)
		e.write(forwarding.EndAll)
		e.rest()
		if got := e.status(); got.Enabled || !strings.Contains(got.DisabledReason, "restored") {
			t.Errorf("after a restore: %+v", got.Forwarding)
		}
		e.put(e.settings())
		e.write(func(ctx context.Context, tx *database.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE organization SET closed_at = 1 WHERE id = $1`, e.org)
			return err
		})
		e.decide(1)
		e.rest()
		if names := e.receiver.names(); len(names) > 0 {
			t.Errorf("sent %v", names)
		}
	})
}
