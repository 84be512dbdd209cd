package apikey_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/internal/apikey"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/secret"
	"writ/internal/testenv"
)

func TestCreate(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		expires := e.DB.Now().Add(time.Hour)
		issued := e.create(testenv.Person(e.ada, e.acme, principal.Member), apikey.NewKey{
			Name: "  build agent ", OrgID: e.acme, Environment: apikey.Production, Product: " checkout ",
			Scopes:    []principal.Scope{principal.Ingest, principal.DraftPolicy, principal.Ingest},
			ExpiresAt: &expires,
		})
		text := issued.Secret.Reveal()
		if !regexp.MustCompile(`^ak_live_[0-9a-f]{64}$`).MatchString(text) {
			t.Errorf("the key has another form than ak_live_ and 64 hex digits: prefix %s, length %d", issued.Prefix,
				len(text))
		}
		want := apikey.Key{
			ID:          issued.ID,
			OrgID:       e.acme,
			OwnerID:     e.ada,
			Name:        "build agent",
			Environment: apikey.Production,
			Product:     "checkout",
			Scopes:      []principal.Scope{principal.Ingest, principal.DraftPolicy},
			Prefix:      text[:16],
			CreatedAt:   e.DB.Now(),
			ExpiresAt:   &expires,
		}
		if diff := cmp.Diff(want, issued.Key); diff != "" {
			t.Errorf("issued (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, e.get(issued.ID, e.ada)); diff != "" {
			t.Errorf("stored (-want +got):\n%s", diff)
		}
		if shown := fmt.Sprintf("%v %+v", issued, issued); strings.Contains(shown, text) {
			t.Error("printing an issued key shows its secret")
		}
		wantLog := []entry{{
			Action:      "key.created",
			ActorKind:   "user",
			ActorID:     e.ada,
			SubjectType: "api_key",
			SubjectID:   issued.ID,
			Payload: map[string]any{
				"name": "build agent", "prefix": text[:16], "scopes": []any{"ingest", "policy.draft"},
				"environment": "production", "product": "checkout", "owner": e.ada,
			},
		}}
		if diff := cmp.Diff(wantLog, e.log(e.acme)); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}

func TestOnlyTheHashIsStored(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		issued := e.memberKey(e.ada, e.acme)
		var hash []byte
		if err := e.DB.QueryRow(t.Context(), `SELECT hash FROM api_key WHERE id = $1`,
			issued.ID).Scan(&hash); err != nil {
			t.Fatal(err)
		}
		if !secret.SameHash(hash, secret.Hash(issued.Secret.Reveal())) {
			t.Error("the stored hash is not the key's SHA-256")
		}
	})
}

func TestCreateDefaultsBoundToNone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		issued := e.create(testenv.Person(e.ada, "", ""), apikey.NewKey{Name: "k"})
		want := apikey.Key{
			ID:          issued.ID,
			OwnerID:     e.ada,
			Name:        "k",
			Environment: apikey.Sandbox,
			Prefix:      issued.Prefix,
			CreatedAt:   e.DB.Now(),
			Scopes: []principal.Scope{
				principal.Audit, principal.RequestDelegation, principal.Enforce, principal.Ingest,
			},
		}
		if diff := cmp.Diff(want, e.get(issued.ID, e.ada)); diff != "" {
			t.Errorf("stored (-want +got):\n%s", diff)
		}
		if !strings.HasPrefix(issued.Prefix, "ak_test_") {
			t.Errorf("prefix = %s, want ak_test_...", issued.Prefix)
		}
		if got := e.actions(""); got != " key.created" {
			t.Errorf("the system's log has%s, want key.created", got)
		}
	})
}

func TestCreateRefusesCallers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		_, terminal := e.terminal(e.ada, e.acme)
		before := e.actions(e.acme)
		for name, p := range map[string]principal.Principal{
			"nobody":               {},
			"viewer":               testenv.Person(e.ada, e.acme, principal.Viewer),
			"no role":              testenv.Person(e.ada, e.acme, ""),
			"another organization": testenv.Person(e.ada, e.globex, principal.Owner),
			"no organization":      testenv.Person(e.ada, "", ""),
			"key":                  e.resolve(e.memberKey(e.ada, e.globex)),
			"terminal":             terminal,
			"terminal of an owner": {
				Kind:   principal.Key,
				UserID: e.ada,
				OrgID:  e.acme,
				Scopes: terminal.Scopes,
				Role:   principal.Owner,
			},
			"operator, who has no keys ": principal.Operator(),
		} {
			_, err := e.keys.Create(t.Context(), p, apikey.NewKey{Name: "k", OrgID: e.acme})
			if !fault.Is(err, fault.Forbidden) {
				t.Errorf("%s: err = %v, want forbidden", name, err)
			}
		}
		if got := e.actions(e.acme); got != before {
			t.Errorf("refusals left%s in the log, want%s", got, before)
		}
	})
}

func TestCreateValidates(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		now := e.DB.Now()
		at := func(t time.Time) *time.Time { return &t }
		tests := []struct {
			name    string
			change  func(n *apikey.NewKey)
			field   string // empty: accepted
			message string
		}{
			{"100 characters", func(n *apikey.NewKey) { n.Name = strings.Repeat("é", 100) }, "", ""},
			{"101 characters", func(n *apikey.NewKey) { n.Name = strings.Repeat("é", 101) }, "name", ""},
			{"no name", func(n *apikey.NewKey) { n.Name = " \t " }, "name", ""},
			{"control character", func(n *apikey.NewKey) { n.Name = "a\x00b" }, "name", ""},
			{"not UTF-8", func(n *apikey.NewKey) { n.Name = "a\xff" }, "name", ""},
			{"product of 100", func(n *apikey.NewKey) { n.Product = strings.Repeat("p", 100) }, "", ""},
			{"product of 101", func(n *apikey.NewKey) { n.Product = strings.Repeat("p", 101) }, "product", ""},
			{"product of two lines", func(n *apikey.NewKey) { n.Product = "a\nb" }, "product", ""},
			{"unknown environment", func(n *apikey.NewKey) { n.Environment = "staging" }, "environment", ""},
			{"expires now", func(n *apikey.NewKey) { n.ExpiresAt = at(now) }, "expiresAt", ""},
			{"expires soon", func(n *apikey.NewKey) { n.ExpiresAt = at(now.Add(time.Microsecond)) }, "", ""},
			{"expires in ten years", func(n *apikey.NewKey) { n.ExpiresAt = at(now.AddDate(10, 0, 0)) }, "", ""},
			{
				"expires later",
				func(n *apikey.NewKey) { n.ExpiresAt = at(now.AddDate(10, 0, 0).Add(time.Microsecond)) }, "expiresAt",
				"",
			},
			{
				"unknown scope", func(n *apikey.NewKey) { n.Scopes = []principal.Scope{"ingest", "admin"} }, "scopes",
				"must be among audit",
			},
			{
				"two scopes in one", func(n *apikey.NewKey) { n.Scopes = []principal.Scope{"ingest cli"} }, "scopes",
				"must be among audit",
			},
			{
				"cli", func(n *apikey.NewKey) { n.Scopes = []principal.Scope{"cli"} }, "scopes",
				"only signing in from a terminal",
			},
			{"20 scopes", func(n *apikey.NewKey) { n.Scopes = repeat(principal.Ingest, 20) }, "", ""},
			{"21 scopes", func(n *apikey.NewKey) { n.Scopes = repeat(principal.Ingest, 21) }, "scopes", "at most 20"},
		}
		for _, tt := range tests {
			n := apikey.NewKey{Name: "k"}
			tt.change(&n)
			_, err := e.keys.Create(t.Context(), testenv.Person(e.ada, "", ""), n)
			checkFields(t, tt.name, err, tt.field, tt.message)
		}
		_, err := e.keys.Create(t.Context(), testenv.Person(e.ada, "", ""), apikey.NewKey{
			Environment: "x", Scopes: []principal.Scope{"y"},
		})
		checkFields(t, "all problems at once", err, "name environment scopes", "")
	})
}

func repeat(scope principal.Scope, n int) []principal.Scope {
	var scopes []principal.Scope
	for range n {
		scopes = append(scopes, scope)
	}
	return scopes
}

// checkFields checks which fields an Invalid fault names, and words of it.
func checkFields(t *testing.T, name string, err error, fields, message string) {
	t.Helper()
	if fields == "" {
		if err != nil {
			t.Errorf("%s: %v, want it accepted", name, err)
		}
		return
	}
	f, ok := err.(*fault.Error)
	if !ok || f.Kind != fault.Invalid {
		t.Errorf("%s: err = %v, want an invalid fault", name, err)
		return
	}
	var got []string
	for _, d := range f.Details {
		got = append(got, d.Field)
	}
	if strings.Join(got, " ") != fields || !strings.Contains(f.Message, message) {
		t.Errorf("%s: fault about %v: %q, want about %s with %q", name, got, f.Message, fields, message)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	past, future := now.Add(-1), now.Add(1)
	tests := []struct {
		name string
		give apikey.Key
		want string
	}{
		{"without expiry", apikey.Key{}, "active"},
		{"before its expiry", apikey.Key{ExpiresAt: &future}, "active"},
		{"at its expiry", apikey.Key{ExpiresAt: &now}, "expired"},
		{"after its expiry", apikey.Key{ExpiresAt: &past}, "expired"},
		{"revoked", apikey.Key{RevokedAt: &past}, "revoked"},
		{"revoked and expired", apikey.Key{RevokedAt: &past, ExpiresAt: &past}, "revoked"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.give.Status(now); got != tt.want {
				t.Errorf("Status = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestProvision(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		_, terminal := e.terminal(e.ada, e.acme)
		demoted := terminal
		demoted.Role = principal.Viewer
		promoted := terminal
		promoted.Role = principal.Member
		_, unbound := e.terminal(e.ada, "")
		product := apikey.NewKey{Name: "p", OrgID: e.acme, Product: "checkout"}
		with := func(change func(n *apikey.NewKey)) apikey.NewKey {
			n := product
			change(&n)
			return n
		}
		tests := []struct {
			name string
			p    principal.Principal
			n    apikey.NewKey
			want fault.Kind
		}{
			{"terminal", terminal, product, ""},
			{"terminal of a member", promoted, product, ""},
			{"terminal of a viewer", demoted, product, fault.Forbidden},
			{"terminal elsewhere", terminal, with(func(n *apikey.NewKey) { n.OrgID = e.globex }), fault.Forbidden},
			{"terminal, bound to none", terminal, with(func(n *apikey.NewKey) { n.OrgID = "" }), fault.Forbidden},
			{"terminal without organization", unbound, with(func(n *apikey.NewKey) { n.OrgID = "" }), fault.Forbidden},
			{"person", testenv.Person(e.ada, e.acme, principal.Member), product, ""},
			{"viewer", testenv.Person(e.ada, e.acme, principal.Viewer), product, fault.Forbidden},
			{"person elsewhere", testenv.Person(e.ada, e.globex, principal.Owner), product, fault.Forbidden},
			{"key without cli", e.resolve(e.memberKey(e.ada, e.acme)), product, fault.Forbidden},
			{"operator", principal.Operator(), product, fault.Forbidden},
			{"no product", terminal, with(func(n *apikey.NewKey) { n.Product = " " }), fault.Invalid},
			{
				"fewer scopes", terminal,
				with(func(n *apikey.NewKey) { n.Scopes = []principal.Scope{principal.Ingest} }), "",
			},
			{
				"more scopes", terminal,
				with(func(n *apikey.NewKey) { n.Scopes = []principal.Scope{principal.DraftPolicy} }), fault.Invalid,
			},
			{
				"cli", terminal, with(func(n *apikey.NewKey) { n.Scopes = []principal.Scope{principal.CLI} }),
				fault.Invalid,
			},
		}
		for _, tt := range tests {
			issued, err := e.keys.Provision(t.Context(), tt.p, tt.n)
			if got := fault.KindOf(err); got != tt.want {
				t.Errorf("%s: err = %v, want kind %q", tt.name, err, tt.want)
			}
			if err == nil && (issued.OwnerID != e.ada || issued.OrgID != e.acme || issued.Product != "checkout") {
				t.Errorf("%s: issued %+v", tt.name, issued.Key)
			}
		}
		if got := strings.Count(e.actions(e.acme), "key.provisioned"); got != 4 {
			t.Errorf("%d entries key.provisioned, want 4", got)
		}
	})
}

func TestIssueCLI(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		_, terminal := e.terminal(e.ada, e.acme)
		terminal.Environment = string(apikey.Production)
		issued, err := e.keys.IssueCLI(t.Context(), terminal, e.globex, "cli-2030-05-01")
		if err != nil {
			t.Fatal(err)
		}
		want := principal.Principal{
			Kind:        principal.Key,
			KeyID:       issued.ID,
			UserID:      e.ada,
			OrgID:       e.globex,
			Environment: "production",
			Scopes: []principal.Scope{
				principal.Audit, principal.CLI, principal.RequestDelegation, principal.Enforce, principal.Ingest,
				principal.ProposeProfile,
			},
		}
		if diff := cmp.Diff(want, e.resolve(issued)); diff != "" {
			t.Errorf("caller (-want +got):\n%s", diff)
		}
		if got := e.actions(e.globex); got != " key.created" {
			t.Errorf("log of the new organization:%s, want key.created", got)
		}
		if _, err := e.keys.IssueCLI(t.Context(), testenv.Person(e.ada, "", ""), e.globex, "web"); err != nil {
			t.Errorf("person: %v", err)
		}
		for name, p := range map[string]principal.Principal{
			"key without cli": e.resolve(e.memberKey(e.ada, e.acme)),
			"operator":        principal.Operator(),
			"nobody":          {},
			"viewer there":    testenv.Person(e.ada, e.globex, principal.Viewer),
		} {
			if _, err := e.keys.IssueCLI(t.Context(), p, e.globex, "k"); !fault.Is(err, fault.Forbidden) {
				t.Errorf("%s: err = %v, want forbidden", name, err)
			}
		}
		_, err = e.keys.IssueCLI(t.Context(), terminal, "", "k")
		testenv.WantFault(t, "issue a terminal key", err, fault.Invalid)
		_, err = e.keys.IssueCLI(t.Context(), terminal, e.globex, "")
		testenv.WantFault(t, "issue a terminal key", err, fault.Invalid)
	})
}

func TestAdd(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		issued, caller := e.terminal(e.ada, e.acme)
		if !caller.HasScope(principal.CLI) || caller.UserID != e.ada {
			t.Errorf("caller = %+v, want ada's with the scope cli", caller)
		}
		log := e.log(e.acme)
		if len(log) != 1 || log[0].Action != "key.created" || log[0].ActorKind != "system" ||
			log[0].SubjectID != issued.ID {
			t.Errorf("log = %+v, want one key.created by the system", log)
		}
		add := func(logs []string, n apikey.NewKey) error {
			return e.DB.Write(t.Context(), database.Change{Logs: logs, Do: func(
				ctx context.Context, tx *database.Tx,
			) error {
				_, err := e.keys.Add(ctx, tx, principal.Operator(), e.ada, n)
				return err
			}})
		}
		testenv.WantFault(t, "add",
			add([]string{e.acme}, apikey.NewKey{Name: "k", OrgID: e.acme, Scopes: []principal.Scope{"root"}}),
			fault.Invalid)
		if err := add([]string{"system"}, apikey.NewKey{Name: "k", OrgID: e.acme}); err == nil {
			t.Error("a key was added without the lock of its organization's log")
		}
		if got := e.actions(e.acme); got != " key.created" {
			t.Errorf("refusals left%s in the log", got)
		}
	})
}
