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
)

// named makes a key with a name of its own; the clock passes between two.
func (w *world) named(name, userID, orgID string) apikey.Issued {
	w.t.Helper()
	w.pass(time.Second)
	return w.create(person(userID, orgID, principal.Member), apikey.NewKey{Name: name, OrgID: orgID})
}

func TestListShowsWhatTheCallerMaySee(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.named("ada-acme", w.ada, w.acme)
		w.named("ada-globex", w.ada, w.globex)
		w.named("ada-none", w.ada, "")
		w.named("bob-acme", w.bob, w.acme)
		w.named("bob-none", w.bob, "")
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
			{"owner", person(w.ada, w.acme, principal.Owner), " bob-acme ada-acme"},
			{"admin without keys there", person(w.bob, w.globex, principal.Admin), " ada-globex"},
			{"member", person(w.ada, w.acme, principal.Member), " ada-acme"},
			{"viewer, of old keys", person(w.bob, w.acme, principal.Viewer), " bob-acme"},
			{"person without organization", person(w.ada, "", ""), " ada-none ada-globex ada-acme"},
			{"role without organization", person(w.ada, "", principal.Owner), " ada-none ada-globex ada-acme"},
			{"terminal", terminal(w.ada, w.acme, ""), " ada-acme"},
			{"terminal of an owner", terminal(w.ada, w.acme, principal.Owner), " ada-acme"},
			{"terminal without organization", terminal(w.ada, "", ""), " ada-none"},
		}
		for _, tt := range tests {
			list, err := w.keys.List(t.Context(), tt.p, "", 0)
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
	each(t, func(t *testing.T, w *world) {
		for name, p := range map[string]principal.Principal{
			"nobody":          {},
			"operator":        principal.Operator(),
			"not a member":    person(w.ada, w.acme, ""),
			"key without cli": w.resolve(w.memberKey(w.ada, w.acme)),
		} {
			if _, err := w.keys.List(t.Context(), p, "", 0); !fault.Is(err, fault.Forbidden) {
				t.Errorf("%s: err = %v, want forbidden", name, err)
			}
		}
	})
}

func TestListPages(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		var want []string
		for i := range 7 { // all at one instant, so that the id decides
			issued := w.create(person(w.ada, w.acme, principal.Member), apikey.NewKey{
				Name: fmt.Sprint(i), OrgID: w.acme,
			})
			want = append([]string{issued.ID}, want...)
		}
		p := person(w.ada, w.acme, principal.Owner)
		var got []string
		cursor := ""
		for pages := 1; ; pages++ {
			list, err := w.keys.List(t.Context(), p, cursor, 3)
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
		list, err := w.keys.List(t.Context(), p, "", 1)
		if err != nil {
			t.Fatal(err)
		}
		for name, other := range map[string]principal.Principal{
			"another organization": person(w.ada, w.globex, principal.Owner),
			"another view":         person(w.ada, w.acme, principal.Member),
			"no organization":      person(w.ada, "", ""),
		} {
			if _, err := w.keys.List(t.Context(), other, list.NextCursor, 1); !fault.Is(err, fault.Invalid) {
				t.Errorf("cursor used in %s: err = %v, want invalid", name, err)
			}
		}
	})
}

// TestWhoMayEndWhichKey holds for Revoke and Rotate alike.
func TestWhoMayEndWhichKey(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		inAcme, unbound := w.memberKey(w.ada, w.acme), w.create(person(w.ada, "", ""), apikey.NewKey{Name: "n"})
		tests := []struct {
			name string
			p    principal.Principal
			id   string
		}{
			{"unknown id", person(w.ada, w.acme, principal.Owner), database.NewID()},
			{"malformed id", person(w.ada, w.acme, principal.Owner), "1' OR '1'='1"},
			{"owner of another organization", person(w.bob, w.globex, principal.Owner), inAcme.ID},
			{"its owner, in another organization", person(w.ada, w.globex, principal.Owner), inAcme.ID},
			{"its owner, without organization", person(w.ada, "", ""), inAcme.ID},
			{"another member", person(w.bob, w.acme, principal.Member), inAcme.ID},
			{"bound to none, by another person", person(w.bob, "", principal.Owner), unbound.ID},
			{"bound to none, by an owner of an organization", person(w.ada, w.acme, principal.Owner), unbound.ID},
		}
		for _, tt := range tests {
			if err := w.keys.Revoke(t.Context(), tt.p, tt.id); !fault.Is(err, fault.NotFound) {
				t.Errorf("revoke, %s: err = %v, want not found", tt.name, err)
			}
			if _, err := w.keys.Rotate(t.Context(), tt.p, tt.id); !fault.Is(err, fault.NotFound) {
				t.Errorf("rotate, %s: err = %v, want not found", tt.name, err)
			}
		}
		w.resolve(inAcme)
		w.resolve(unbound)
		if got := w.actions(w.acme) + w.actions(""); got != " key.created key.created" {
			t.Errorf("refusals left%s in the logs", got)
		}
	})
}

func TestRevoke(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		_, terminal := w.terminal(w.ada, w.acme)
		key := func(orgID string) apikey.Issued { return w.memberKey(w.ada, orgID) }
		tests := []struct {
			name string
			p    principal.Principal
			key  apikey.Issued
		}{
			{"its owner", person(w.ada, w.acme, principal.Member), key(w.acme)},
			{"its owner, now a viewer", person(w.ada, w.acme, principal.Viewer), key(w.acme)},
			{"an admin", person(w.bob, w.acme, principal.Admin), key(w.acme)},
			{"a terminal of its owner", terminal, key(w.acme)},
			{"bound to none", person(w.ada, "", ""), key("")},
		}
		for _, tt := range tests {
			w.resolve(tt.key) // remembered from here on
			before := len(w.log(tt.p.OrgID))
			for range 2 {
				if err := w.keys.Revoke(t.Context(), tt.p, tt.key.ID); err != nil {
					t.Errorf("%s: %v", tt.name, err)
				}
				_, err := w.keys.Resolve(t.Context(), tt.key.Secret.Reveal())
				wantFault(t, err, fault.Unauthenticated)
			}
			log := w.log(tt.p.OrgID)[before:]
			if len(log) != 1 || log[0].Action != "key.revoked" || log[0].SubjectID != tt.key.ID ||
				log[0].ActorID != tt.p.ActorID() {
				t.Errorf("%s: log = %+v, want one key.revoked by the caller", tt.name, log)
			}
			if k := w.get(tt.key.ID, w.ada); k.RevokedAt == nil || !k.RevokedAt.Equal(w.db.Now()) {
				t.Errorf("%s: revoked at %v", tt.name, k.RevokedAt)
			}
		}
	})
}

func TestRevokeRefusesCallers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		issued := w.memberKey(w.ada, w.acme)
		own, terminal := w.terminal(w.ada, w.acme)
		for name, p := range map[string]principal.Principal{
			"nobody":               {},
			"operator":             principal.Operator(),
			"not a member":         person(w.ada, w.acme, ""),
			"key, of its owner":    w.resolve(w.memberKey(w.ada, w.acme)),
			"key without the cli ": w.resolve(issued),
		} {
			if err := w.keys.Revoke(t.Context(), p, issued.ID); !fault.Is(err, fault.Forbidden) {
				t.Errorf("%s: err = %v, want forbidden", name, err)
			}
		}
		wantFault(t, w.keys.Revoke(t.Context(), terminal, own.ID), fault.Conflict)
		wantFault(t, w.keys.RevokeOwn(t.Context(), terminal, issued.ID), fault.Invalid)
		w.resolve(own)
		_, bobs := w.terminal(w.bob, w.acme)
		bobs.Role = principal.Owner
		wantFault(t, w.keys.Revoke(t.Context(), bobs, issued.ID), fault.NotFound)
	})
}

// TestRevokeOwn: a terminal that has no more than its key ends it, and that is
// recorded; nothing else ends so, and no key that may not manage keys.
func TestRevokeOwn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		own, terminal := w.terminal(w.ada, w.acme)
		agents := w.memberKey(w.ada, w.acme)
		wantFault(t, w.keys.RevokeOwn(t.Context(), w.resolve(agents), agents.ID), fault.Forbidden)
		wantFault(t, w.keys.RevokeOwn(t.Context(), person(w.ada, w.acme, principal.Member), own.ID), fault.Invalid)
		before := w.actions(w.acme)
		if err := w.keys.RevokeOwn(t.Context(), terminal, own.ID); err != nil {
			t.Fatalf("revoke: %v", err)
		}
		if got := w.actions(w.acme); got != before+" key.revoked" {
			t.Errorf("log:%s, want one key.revoked after%s", got, before)
		}
		if _, err := w.keys.Resolve(t.Context(), own.Secret.Reveal()); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("the key still resolves: %v", err)
		}
	})
}

func TestRevokeAtOnceByMany(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		issued := w.memberKey(w.ada, w.acme)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if err := w.keys.Revoke(t.Context(), person(w.ada, w.acme, principal.Member), issued.ID); err != nil {
					t.Errorf("revoke: %v", err)
				}
			})
		}
		wg.Wait()
		if got := w.actions(w.acme); got != " key.created key.revoked" {
			t.Errorf("log:%s, want one key.revoked", got)
		}
	})
}

func TestRotate(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		expires := w.db.Now().Add(time.Hour)
		old := w.create(person(w.ada, w.acme, principal.Member), apikey.NewKey{
			Name: "agent", OrgID: w.acme, Environment: apikey.Production, Product: "p",
			Scopes: []principal.Scope{principal.Ingest}, ExpiresAt: &expires,
		})
		w.pass(time.Minute)
		w.resolve(old) // remembered from here on
		issued, err := w.keys.Rotate(t.Context(), person(w.bob, w.acme, principal.Admin), old.ID)
		if err != nil {
			t.Fatal(err)
		}
		want := old.Key
		want.ID, want.Prefix, want.CreatedAt, want.OwnerID = issued.ID, issued.Prefix, w.db.Now(), w.bob
		if diff := cmp.Diff(want, issued.Key); diff != "" || issued.ID == old.ID {
			t.Errorf("new key (-want +got):\n%s", diff)
		}
		if got := w.resolve(issued); got.UserID != w.bob {
			t.Errorf("the new key acts as %s, want who has seen it, %s", got.UserID, w.bob)
		}
		_, err = w.keys.Resolve(t.Context(), old.Secret.Reveal())
		wantFault(t, err, fault.Unauthenticated)
		log := w.log(w.acme)
		last := log[len(log)-1]
		wantNext := map[string]any{"id": issued.ID, "prefix": issued.Prefix, "owner": w.bob}
		if len(log) != 2 || last.Action != "key.rotated" || last.SubjectID != old.ID || last.ActorID != w.bob ||
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
	each(t, func(t *testing.T, w *world) {
		ada := person(w.ada, w.acme, principal.Member)
		revoked, active := w.memberKey(w.ada, w.acme), w.memberKey(w.ada, w.acme)
		soon := w.db.Now().Add(time.Minute)
		expired := w.create(ada, apikey.NewKey{Name: "k", OrgID: w.acme, ExpiresAt: &soon})
		own, terminal := w.terminal(w.ada, w.acme)
		if err := w.keys.Revoke(t.Context(), ada, revoked.ID); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Minute)
		before := w.actions(w.acme)
		tests := []struct {
			name string
			p    principal.Principal
			id   string
			want fault.Kind
		}{
			{"revoked", ada, revoked.ID, fault.Conflict},
			{"expired", ada, expired.ID, fault.Conflict},
			{"a terminal's, by an admin", person(w.bob, w.acme, principal.Admin), own.ID, fault.Conflict},
			{"by a terminal", terminal, active.ID, fault.Forbidden},
			{"by a viewer", person(w.ada, w.acme, principal.Viewer), active.ID, fault.Forbidden},
			{"by the operator", principal.Operator(), active.ID, fault.Forbidden},
			{"by nobody", principal.Principal{}, active.ID, fault.Forbidden},
		}
		for _, tt := range tests {
			issued, err := w.keys.Rotate(t.Context(), tt.p, tt.id)
			if got := fault.KindOf(err); got != tt.want || issued.Secret.IsSet() {
				t.Errorf("%s: err = %v, want %s and no secret", tt.name, err, tt.want)
			}
		}
		if got := w.actions(w.acme); got != before {
			t.Errorf("log:%s, want%s", got, before)
		}
		w.resolve(active)
		if _, err := w.keys.Rotate(t.Context(), ada, own.ID); err != nil {
			t.Errorf("a terminal's key by its owner: %v", err)
		}
	})
}

func TestOrgOf(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		for orgID, id := range map[string]string{
			w.acme: w.memberKey(w.ada, w.acme).ID,
			"":     w.create(person(w.ada, "", ""), apikey.NewKey{Name: "k"}).ID,
		} {
			if got, err := w.keys.OrgOf(t.Context(), id); err != nil || got != orgID {
				t.Errorf("OrgOf = %q, %v, want %q", got, err, orgID)
			}
		}
		for _, id := range []string{"", "x", "\x00", database.NewID()} {
			if _, err := w.keys.OrgOf(t.Context(), id); !fault.Is(err, fault.NotFound) {
				t.Errorf("OrgOf(%q): err = %v, want not found", id, err)
			}
		}
	})
}
