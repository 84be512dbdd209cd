package apikey_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/internal/apikey"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/testenv"
)

// named makes a key with a name of its own; the clock passes between two.
func (e *env) named(name, userID, orgID string) apikey.Issued {
	e.T.Helper()
	e.Pass(time.Second)
	return e.create(testenv.Person(userID, orgID, principal.Member), apikey.NewKey{Name: name, OrgID: orgID})
}

func TestListShowsWhatTheCallerMaySee(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.named("ada-acme", e.ada, e.acme)
		e.named("ada-globex", e.ada, e.globex)
		e.named("ada-none", e.ada, "")
		e.named("bob-acme", e.bob, e.acme)
		e.named("bob-none", e.bob, "")
		terminal := func(userID, orgID string, role principal.Role) principal.Principal {
			return principal.Principal{
				Kind:   principal.Key,
				KeyID:  database.NewID(),
				UserID: userID,
				OrgID:  orgID,
				Role:   role,
				Scopes: []principal.Scope{principal.CLI},
			}
		}
		tests := []struct {
			name string
			p    principal.Principal
			want string
		}{
			{"owner", testenv.Person(e.ada, e.acme, principal.Owner), " bob-acme ada-acme"},
			{"admin without keys there", testenv.Person(e.bob, e.globex, principal.Admin), " ada-globex"},
			{"member", testenv.Person(e.ada, e.acme, principal.Member), " ada-acme"},
			{"viewer, of old keys", testenv.Person(e.bob, e.acme, principal.Viewer), " bob-acme"},
			{"person without organization", testenv.Person(e.ada, "", ""), " ada-none ada-globex ada-acme"},
			{"role without organization", testenv.Person(e.ada, "", principal.Owner), " ada-none ada-globex ada-acme"},
			{"terminal", terminal(e.ada, e.acme, ""), " ada-acme"},
			{"terminal of an owner", terminal(e.ada, e.acme, principal.Owner), " ada-acme"},
			{"terminal without organization", terminal(e.ada, "", ""), " ada-none"},
		}
		for _, tt := range tests {
			list, err := e.keys.List(t.Context(), tt.p, "", 0)
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			if got := names(list.Items); got != tt.want {
				t.Errorf("%s sees%s, want%s", tt.name, got, tt.want)
			}
		}
	})
}

func TestListRefuses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for name, p := range map[string]principal.Principal{
			"nobody":          {},
			"operator":        principal.Operator(),
			"not a member":    testenv.Person(e.ada, e.acme, ""),
			"key without cli": e.resolve(e.memberKey(e.ada, e.acme)),
		} {
			if _, err := e.keys.List(t.Context(), p, "", 0); !fault.Is(err, fault.Forbidden) {
				t.Errorf("%s: err = %v, want forbidden", name, err)
			}
		}
	})
}

func TestListPages(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		var want []string
		for i := range 7 { // all at one instant, so that the id decides
			issued := e.create(testenv.Person(e.ada, e.acme, principal.Member), apikey.NewKey{
				Name: fmt.Sprint(i), OrgID: e.acme,
			})
			want = append([]string{issued.ID}, want...)
		}
		p := testenv.Person(e.ada, e.acme, principal.Owner)
		var got []string
		cursor := ""
		for pages := 1; ; pages++ {
			list, err := e.keys.List(t.Context(), p, cursor, 3)
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range list.Items {
				got = append(got, k.ID)
			}
			if cursor = list.NextCursor; !list.HasMore {
				if pages != 3 {
					t.Errorf("%d pages, want 3", pages)
				}
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("all pages (-want +got):\n%s", diff)
		}
		list, err := e.keys.List(t.Context(), p, "", 1)
		if err != nil {
			t.Fatal(err)
		}
		for name, other := range map[string]principal.Principal{
			"another organization": testenv.Person(e.ada, e.globex, principal.Owner),
			"another view":         testenv.Person(e.ada, e.acme, principal.Member),
			"no organization":      testenv.Person(e.ada, "", ""),
		} {
			if _, err := e.keys.List(t.Context(), other, list.NextCursor, 1); !fault.Is(err, fault.Invalid) {
				t.Errorf("cursor used in %s: err = %v, want invalid", name, err)
			}
		}
	})
}

// TestWhoMayEndWhichKey holds for Revoke and Rotate alike.
func TestWhoMayEndWhichKey(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		inAcme, unbound := e.memberKey(e.ada, e.acme), e.create(testenv.Person(e.ada, "", ""), apikey.NewKey{Name: "n"})
		tests := []struct {
			name string
			p    principal.Principal
			id   string
		}{
			{"unknown id", testenv.Person(e.ada, e.acme, principal.Owner), database.NewID()},
			{"malformed id", testenv.Person(e.ada, e.acme, principal.Owner), "1' OR '1'='1"},
			{"owner of another organization", testenv.Person(e.bob, e.globex, principal.Owner), inAcme.ID},
			{"its owner, in another organization", testenv.Person(e.ada, e.globex, principal.Owner), inAcme.ID},
			{"its owner, without organization", testenv.Person(e.ada, "", ""), inAcme.ID},
			{"another member", testenv.Person(e.bob, e.acme, principal.Member), inAcme.ID},
			{"bound to none, by another person", testenv.Person(e.bob, "", principal.Owner), unbound.ID},
			{
				"bound to none, by an owner of an organization", testenv.Person(e.ada, e.acme, principal.Owner),
				unbound.ID,
			},
		}
		for _, tt := range tests {
			if err := e.keys.Revoke(t.Context(), tt.p, tt.id); !fault.Is(err, fault.NotFound) {
				t.Errorf("revoke, %s: err = %v, want not found", tt.name, err)
			}
			if _, err := e.keys.Rotate(t.Context(), tt.p, tt.id); !fault.Is(err, fault.NotFound) {
				t.Errorf("rotate, %s: err = %v, want not found", tt.name, err)
			}
		}
		e.resolve(inAcme)
		e.resolve(unbound)
		if got := e.actions(e.acme) + e.actions(""); got != " key.created key.created" {
			t.Errorf("refusals left%s in the logs", got)
		}
	})
}

func TestRevoke(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		_, terminal := e.terminal(e.ada, e.acme)
		key := func(orgID string) apikey.Issued { return e.memberKey(e.ada, orgID) }
		tests := []struct {
			name string
			p    principal.Principal
			key  apikey.Issued
		}{
			{"its owner", testenv.Person(e.ada, e.acme, principal.Member), key(e.acme)},
			{"its owner, now a viewer", testenv.Person(e.ada, e.acme, principal.Viewer), key(e.acme)},
			{"an admin", testenv.Person(e.bob, e.acme, principal.Admin), key(e.acme)},
			{"a terminal of its owner", terminal, key(e.acme)},
			{"bound to none", testenv.Person(e.ada, "", ""), key("")},
		}
		for _, tt := range tests {
			e.resolve(tt.key) // remembered from here on
			before := len(e.log(tt.p.OrgID))
			for range 2 {
				if err := e.keys.Revoke(t.Context(), tt.p, tt.key.ID); err != nil {
					t.Errorf("%s: %v", tt.name, err)
				}
				_, err := e.keys.Resolve(t.Context(), tt.key.Secret.Reveal())
				testenv.WantFault(t, "resolve", err, fault.Unauthenticated)
			}
			log := e.log(tt.p.OrgID)[before:]
			if len(log) != 1 || log[0].Action != "key.revoked" || log[0].SubjectID != tt.key.ID ||
				log[0].ActorID != tt.p.ActorID() {
				t.Errorf("%s: log = %+v, want one key.revoked by the caller", tt.name, log)
			}
			if k := e.get(tt.key.ID, e.ada); k.RevokedAt == nil || !k.RevokedAt.Equal(e.DB.Now()) {
				t.Errorf("%s: revoked at %v", tt.name, k.RevokedAt)
			}
		}
	})
}

func TestRevokeRefusesCallers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		issued := e.memberKey(e.ada, e.acme)
		own, terminal := e.terminal(e.ada, e.acme)
		for name, p := range map[string]principal.Principal{
			"nobody":               {},
			"operator":             principal.Operator(),
			"not a member":         testenv.Person(e.ada, e.acme, ""),
			"key, of its owner":    e.resolve(e.memberKey(e.ada, e.acme)),
			"key without the cli ": e.resolve(issued),
		} {
			if err := e.keys.Revoke(t.Context(), p, issued.ID); !fault.Is(err, fault.Forbidden) {
				t.Errorf("%s: err = %v, want forbidden", name, err)
			}
		}
		testenv.WantFault(t, "revoke", e.keys.Revoke(t.Context(), terminal, own.ID), fault.Conflict)
		testenv.WantFault(t, "revoke own", e.keys.RevokeOwn(t.Context(), terminal, issued.ID), fault.Invalid)
		e.resolve(own)
		_, bobs := e.terminal(e.bob, e.acme)
		bobs.Role = principal.Owner
		testenv.WantFault(t, "revoke", e.keys.Revoke(t.Context(), bobs, issued.ID), fault.NotFound)
	})
}

// TestRevokeOwn: a terminal that has no more than its key ends it, and that is
// recorded; nothing else ends so, and no key that may not manage keys.
func TestRevokeOwn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		own, terminal := e.terminal(e.ada, e.acme)
		agents := e.memberKey(e.ada, e.acme)
		testenv.WantFault(t, "revoke own", e.keys.RevokeOwn(t.Context(), e.resolve(agents), agents.ID), fault.Forbidden)
		testenv.WantFault(t, "revoke own",
			e.keys.RevokeOwn(t.Context(), testenv.Person(e.ada, e.acme, principal.Member), own.ID), fault.Invalid)
		before := e.actions(e.acme)
		if err := e.keys.RevokeOwn(t.Context(), terminal, own.ID); err != nil {
			t.Fatalf("revoke: %v", err)
		}
		if got := e.actions(e.acme); got != before+" key.revoked" {
			t.Errorf("log:%s, want one key.revoked after%s", got, before)
		}
		if _, err := e.keys.Resolve(t.Context(), own.Secret.Reveal()); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("the key still resolves: %v", err)
		}
	})
}

func TestRevokeAtOnceByMany(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		issued := e.memberKey(e.ada, e.acme)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if err := e.keys.Revoke(t.Context(), testenv.Person(e.ada, e.acme, principal.Member),
					issued.ID); err != nil {
					t.Errorf("revoke: %v", err)
				}
			})
		}
		wg.Wait()
		if got := e.actions(e.acme); got != " key.created key.revoked" {
			t.Errorf("log:%s, want one key.revoked", got)
		}
	})
}

func TestRotate(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		expires := e.DB.Now().Add(time.Hour)
		old := e.create(testenv.Person(e.ada, e.acme, principal.Member), apikey.NewKey{
			Name: "agent", OrgID: e.acme, Environment: apikey.Production, Product: "p",
			Scopes: []principal.Scope{principal.Ingest}, ExpiresAt: &expires,
		})
		e.Pass(time.Minute)
		e.resolve(old) // remembered from here on
		issued, err := e.keys.Rotate(t.Context(), testenv.Person(e.bob, e.acme, principal.Admin), old.ID)
		if err != nil {
			t.Fatal(err)
		}
		want := old.Key
		want.ID, want.Prefix, want.CreatedAt, want.OwnerID = issued.ID, issued.Prefix, e.DB.Now(), e.bob
		if diff := cmp.Diff(want, issued.Key); diff != "" || issued.ID == old.ID {
			t.Errorf("new key (-want +got):\n%s", diff)
		}
		if got := e.resolve(issued); got.UserID != e.bob {
			t.Errorf("the new key acts as %s, want who has seen it, %s", got.UserID, e.bob)
		}
		_, err = e.keys.Resolve(t.Context(), old.Secret.Reveal())
		testenv.WantFault(t, "resolve", err, fault.Unauthenticated)
		log := e.log(e.acme)
		last := log[len(log)-1]
		wantNext := map[string]any{"id": issued.ID, "prefix": issued.Prefix, "owner": e.bob}
		if len(log) != 2 || last.Action != "key.rotated" || last.SubjectID != old.ID || last.ActorID != e.bob ||
			last.Payload["prefix"] != old.Prefix {
			t.Errorf("log = %+v, want one key.rotated about the old key", log)
		}
		if diff := cmp.Diff(wantNext, last.Payload["replacement"]); diff != "" {
			t.Errorf("replacement in the log (-want +got):\n%s", diff)
		}
	})
}

func TestRotateRefuses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		ada := testenv.Person(e.ada, e.acme, principal.Member)
		revoked, active := e.memberKey(e.ada, e.acme), e.memberKey(e.ada, e.acme)
		soon := e.DB.Now().Add(time.Minute)
		expired := e.create(ada, apikey.NewKey{Name: "k", OrgID: e.acme, ExpiresAt: &soon})
		own, terminal := e.terminal(e.ada, e.acme)
		if err := e.keys.Revoke(t.Context(), ada, revoked.ID); err != nil {
			t.Fatal(err)
		}
		e.Pass(time.Minute)
		before := e.actions(e.acme)
		tests := []struct {
			name string
			p    principal.Principal
			id   string
			want fault.Kind
		}{
			{"revoked", ada, revoked.ID, fault.Conflict},
			{"expired", ada, expired.ID, fault.Conflict},
			{"a terminal's, by an admin", testenv.Person(e.bob, e.acme, principal.Admin), own.ID, fault.Conflict},
			{"by a terminal", terminal, active.ID, fault.Forbidden},
			{"by a viewer", testenv.Person(e.ada, e.acme, principal.Viewer), active.ID, fault.Forbidden},
			{"by the operator", principal.Operator(), active.ID, fault.Forbidden},
			{"by nobody", principal.Principal{}, active.ID, fault.Forbidden},
		}
		for _, tt := range tests {
			issued, err := e.keys.Rotate(t.Context(), tt.p, tt.id)
			if got := fault.KindOf(err); got != tt.want || issued.Secret.IsSet() {
				t.Errorf("%s: err = %v, want %s and no secret", tt.name, err, tt.want)
			}
		}
		if got := e.actions(e.acme); got != before {
			t.Errorf("log:%s, want%s", got, before)
		}
		e.resolve(active)
		if _, err := e.keys.Rotate(t.Context(), ada, own.ID); err != nil {
			t.Errorf("a terminal's key by its owner: %v", err)
		}
	})
}

func TestOrgOf(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for orgID, id := range map[string]string{
			e.acme: e.memberKey(e.ada, e.acme).ID,
			"":     e.create(testenv.Person(e.ada, "", ""), apikey.NewKey{Name: "k"}).ID,
		} {
			if got, err := e.keys.OrgOf(t.Context(), id); err != nil || got != orgID {
				t.Errorf("OrgOf = %q, %v, want %q", got, err, orgID)
			}
		}
		for _, id := range []string{"", "x", "\x00", database.NewID()} {
			if _, err := e.keys.OrgOf(t.Context(), id); !fault.Is(err, fault.NotFound) {
				t.Errorf("OrgOf(%q): err = %v, want not found", id, err)
			}
		}
	})
}
