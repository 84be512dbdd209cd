package organizations_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/testserver"
)

func defaultScopes() []string { return []string{"audit", "delegation.request", "enforce", "ingest"} }

func TestCreatedKeys(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		p := s.Person("dev")
		org := s.Organization(p, "Keys")
		soon := s.Database.Now().Add(time.Hour)
		for name, c := range map[string]struct {
			asked  client.NewKey
			mark   string
			change func(*client.Key)
		}{
			"nothing but a name": {
				client.NewKey{Name: " plain "}, "ak_test_", func(k *client.Key) { k.Name = "plain" },
			},
			"in an organization": {
				client.NewKey{Name: "k", OrganizationID: org}, "ak_test_",
				func(k *client.Key) { k.OrganizationID = &org },
			},
			"sandbox": {
				client.NewKey{Name: "k", Environment: "sandbox"}, "ak_test_", func(*client.Key) {},
			},
			"production": {
				client.NewKey{Name: "k", Environment: "production"}, "ak_live_",
				func(k *client.Key) { k.Environment = "production" },
			},
			"a product": {
				client.NewKey{Name: "k", Product: "gemini-cli"}, "ak_test_",
				func(k *client.Key) { k.Product = "gemini-cli" },
			},
			"an end": {
				client.NewKey{Name: "k", ExpiresAt: &soon}, "ak_test_", func(k *client.Key) { k.ExpiresAt = &soon },
			},
			"scopes, one doubled": {
				client.NewKey{Name: "k", Scopes: []string{"policy.draft", "audit", "audit"}}, "ak_test_",
				func(k *client.Key) { k.Scopes = []string{"audit", "policy.draft"} },
			},
			"no scopes in an list": {client.NewKey{Name: "k", Scopes: []string{}}, "ak_test_", func(*client.Key) {}},
		} {
			issued, err := p.CreateKey(ctx, c.asked)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			want := client.Key{
				ID:          issued.ID,
				Name:        "k",
				OwnerID:     p.ID,
				Environment: "sandbox",
				Scopes:      defaultScopes(),
				Prefix:      issued.APIKey[:16],
				Status:      "active",
				CreatedAt:   issued.CreatedAt,
			}
			c.change(&want)
			if diff := cmp.Diff(want, issued.Key); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
			if !strings.HasPrefix(issued.APIKey, c.mark) || len(issued.APIKey) != len(c.mark)+64 {
				t.Errorf("%s: a key %s of %d characters", name, issued.APIKey[:8], len(issued.APIKey))
			}
			current, err := s.Public.WithKey(issued.APIKey).CurrentKey(ctx)
			if err != nil {
				t.Errorf("%s: use it: %v", name, err)
				continue
			}
			can := client.CurrentKey{ID: want.ID, OrganizationID: want.OrganizationID, OwnerID: want.OwnerID,
				Environment: want.Environment, Product: want.Product, Scopes: want.Scopes}
			if diff := cmp.Diff(&can, current); diff != "" {
				t.Errorf("%s: what it is (-want +got):\n%s", name, diff)
			}
		}
	})
}

func TestAKeyIsShownOnce(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		p := s.Person("dev")
		org := s.Organization(p, "Keys")
		created := s.AgentKey(p, org)
		rotated, err := p.RotateKey(ctx, s.AgentKey(p, org).ID)
		if err != nil {
			t.Fatal(err)
		}
		provisioned, err := p.ProvisionKey(ctx, client.NewKey{Product: "gemini-cli", OrganizationID: org})
		if err != nil {
			t.Fatal(err)
		}
		listed := s.Send(http.MethodGet, "/api-keys", testserver.WithBearer(p.Tokens.AccessToken), "")
		if listed.Status != http.StatusOK || !strings.Contains(listed.Body, created.ID) {
			t.Fatalf("list: status %d, %s", listed.Status, listed.Body)
		}
		stored := strings.Join(s.Dump(), "\n")
		for name, secret := range map[string]string{
			"created": created.APIKey, "rotated": rotated.APIKey, "provisioned": provisioned.APIKey,
		} {
			if strings.Contains(listed.Body, secret[16:]) || strings.Contains(listed.Body, "apiKey") {
				t.Errorf("the list shows the %s key", name)
			}
			if strings.Contains(stored, secret[16:]) {
				t.Errorf("the database holds the %s key in clear", name)
			}
		}
	})
}

func TestRefusedKeys(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		p := s.Person("dev")
		key := s.TerminalKey(p, s.Organization(p, "Keys"))
		now := s.Database.Now()
		type members map[string]any
		with := func(name string, value any) members { return members{"name": "k", "product": "p", name: value} }
		const secret = "hunter2-hunter2"
		for _, c := range []struct {
			body  members
			field string
		}{
			{members{"product": "p", "name": strings.Repeat("a", 101)}, "name"},
			{with("name", "two\nlines"), "name"},
			{with("name", 5), "name"},
			{with("environment", "staging"), "environment"},
			{with("environment", ""), "environment"},
			{with("product", strings.Repeat("p", 101)), "product"},
			{with("product", "two\nlines"), "product"},
			{with("expiresAt", now.Add(-time.Second)), "expiresAt"},
			{with("expiresAt", now.AddDate(10, 0, 1)), "expiresAt"},
			{with("expiresAt", "tomorrow"), "expiresAt"},
		} {
			wantInvalidField(t, "create", p.Call(ctx, http.MethodPost, "/api-keys", nil, c.body, nil), c.field)
			wantInvalidField(t, "provision", key.Call(ctx, http.MethodPost, "/api-keys/provision", nil, c.body, nil),
				c.field)
		}
		for what, c := range map[string]struct {
			scopes any
			says   string
		}{
			"the terminal's": {[]string{"cli"}, "signing in from a terminal"},
			"among others":   {[]string{"audit", "cli"}, "signing in from a terminal"},
			"unknown":        {[]string{secret}, "ingest"},
			"any":            {[]string{"any"}, "ingest"},
			"empty":          {[]string{""}, "ingest"},
			"in capitals":    {[]string{"AUDIT"}, "ingest"},
			"two in one":     {[]string{"audit cli"}, "ingest"},
			"too many":       {slices.Repeat([]string{"audit"}, 21), "20"},
			"no list":        {"audit", "array"},
			"numbers":        {[]int{1}, "string"},
		} {
			err := p.Call(ctx, http.MethodPost, "/api-keys", nil, with("scopes", c.scopes), nil)
			wantInvalidField(t, "scopes: "+what, err, "scopes")
			if refusal := refusalOf(t, what, err); !strings.Contains(refusal.Message, c.says) ||
				strings.Contains(refusal.Message, secret) {
				t.Errorf("scopes: %s: %q, want it to say %q and not the value", what, refusal.Message, c.says)
			}
		}
		for _, name := range []string{"", "  "} {
			wantInvalidField(t, "create without a name",
				p.Call(ctx, http.MethodPost, "/api-keys", nil, members{"name": name}, nil), "name")
			wantInvalidField(t, "provision without a product",
				p.Call(ctx, http.MethodPost, "/api-keys/provision", nil, members{"product": name}, nil), "product")
		}
		if keys, err := p.Keys(ctx, "", client.List{}); err != nil || len(keys.Items) != 1 {
			t.Errorf("keys after all refusals: %+v, %v", keys.Items, err)
		}
	})
}

// TestWhoSeesWhichKeys covers keys bound to no organization too.
func TestWhoSeesWhichKeys(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		owner := s.Person("owner")
		org, other := s.Organization(owner, "Keys"), s.Organization(owner, "Other")
		admin, member := s.Join(owner, org, "admin"), s.Join(owner, org, "member")
		ids := map[string]string{}
		for name, p := range map[string]*testserver.Person{"owner": owner, "admin": admin, "member": member} {
			ids[name+"'s"] = s.AgentKey(p, org).ID
			unbound, err := p.CreateKey(ctx, client.NewKey{Name: "unbound"})
			if err != nil {
				t.Fatal(err)
			}
			if unbound.OrganizationID != nil {
				t.Errorf("an unbound key in %s", *unbound.OrganizationID)
			}
			ids[name+"'s unbound"] = unbound.ID
		}
		ids["owner's elsewhere"] = s.AgentKey(owner, other).ID
		for _, c := range []struct {
			who  string
			call *client.Client
			org  string
			sees []string
		}{
			{"owner", owner.Client, org, []string{"admin's", "member's", "owner's"}},
			{"admin", admin.Client, org, []string{"admin's", "member's", "owner's"}},
			{"member", member.Client, org, []string{"member's"}},
			{"owner", owner.Client, "", []string{"owner's", "owner's elsewhere", "owner's unbound"}},
			{"admin", admin.Client, "", []string{"admin's", "admin's unbound"}},
			{"member", member.Client, "", []string{"member's", "member's unbound"}},
		} {
			for name, id := range ids {
				var one struct{ Data []client.Key }
				query := url.Values{"organizationId": {c.org}, "id": {id}}
				if err := c.call.Call(ctx, http.MethodGet, "/api-keys", query, nil, &one); err != nil {
					t.Fatal(err)
				}
				// Without an organization only keys that are bound to none are looked up.
				want := slices.Contains(c.sees, name) && (c.org != "" || strings.HasSuffix(name, "unbound"))
				if got := len(one.Data) == 1 && one.Data[0].ID == id; got != want || one.Data == nil {
					t.Errorf("%s in %q asks for %s: %+v, want it: %t", c.who, c.org, name, one.Data, want)
				}
			}
			listed, err := c.call.Keys(ctx, c.org, client.List{})
			if err != nil {
				t.Fatal(err)
			}
			sees := []string{}
			for name, id := range ids {
				if slices.ContainsFunc(listed.Items, func(k client.Key) bool { return k.ID == id }) {
					sees = append(sees, name)
				}
			}
			slices.Sort(sees)
			if diff := cmp.Diff(c.sees, sees); diff != "" || len(listed.Items) != len(c.sees) {
				t.Errorf("%s in %q sees (-want +got):\n%s", c.who, c.org, diff)
			}
		}
		testserver.WantStatus(t, "revoke an admin's unbound key as owner", owner.RevokeKey(ctx, ids["admin's unbound"]),
			http.StatusNotFound)
		if err := admin.RevokeKey(ctx, ids["admin's unbound"]); err != nil {
			t.Errorf("revoke one's own unbound key: %v", err)
		}
		if log := s.Recorded("system"); log[len(log)-1] != "key.revoked" {
			t.Errorf("recorded %v, want key.revoked at the end", log)
		}
	})
}

func TestKeysArePagedNewestFirst(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		p := s.Person("dev")
		org := s.Organization(p, "Keys")
		var want []string
		for range 5 {
			want = append([]string{s.KeyFor(p.ID, org).ID}, want...)
		}
		var got []string
		list := client.List{Limit: 2}
		for range 3 {
			page, err := p.Keys(t.Context(), org, list)
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range page.Items {
				got = append(got, k.ID)
			}
			if page.HasMore != (len(got) < 5) || page.HasMore != (page.NextCursor != "") {
				t.Errorf("after %d keys: hasMore %t, nextCursor %q", len(got), page.HasMore, page.NextCursor)
			}
			list.Cursor = page.NextCursor
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("over the pages (-want +got):\n%s", diff)
		}
	})
}

func TestProvisionedKeys(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		p := s.Person("dev")
		org := s.Organization(p, "Keys")
		terminal := s.TerminalKey(p, org)
		for name, c := range map[string]struct {
			call *client.Client
			new  client.NewKey
			key  client.Key
		}{
			"a terminal, in its organization": {
				terminal, client.NewKey{Product: "gemini-cli"}, client.Key{Name: "gemini-cli", OrganizationID: &org},
			},
			"a terminal that names it": {
				terminal, client.NewKey{Product: "gemini-cli", Name: "n", OrganizationID: org},
				client.Key{Name: "n", OrganizationID: &org},
			},
			"a person": {
				p.Client, client.NewKey{Product: "gemini-cli", OrganizationID: org},
				client.Key{Name: "gemini-cli", OrganizationID: &org},
			},
			"a person, in none": {
				p.Client, client.NewKey{Product: "gemini-cli"}, client.Key{Name: "gemini-cli"},
			},
			"more scopes are not heard": {
				p.Client, client.NewKey{Product: "gemini-cli", Scopes: []string{"cli", "policy.draft"}},
				client.Key{Name: "gemini-cli"},
			},
		} {
			issued, err := c.call.ProvisionKey(ctx, c.new)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			want := c.key
			want.ID, want.OwnerID, want.Environment, want.Product, want.Scopes = issued.ID, p.ID, "sandbox",
				"gemini-cli", defaultScopes()
			want.Prefix, want.Status, want.CreatedAt = issued.APIKey[:16], "active", issued.CreatedAt
			if diff := cmp.Diff(want, issued.Key); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
		viewer := s.Person("viewer")
		s.PutMember(org, viewer.ID, "viewer")
		_, err := s.TerminalKey(viewer, org).ProvisionKey(ctx, client.NewKey{Product: "p"})
		testserver.WantStatus(t, "a viewer's terminal", err, http.StatusForbidden)
		_, err = s.TerminalKey(p, "").ProvisionKey(ctx, client.NewKey{Product: "p"})
		testserver.WantStatus(t, "a terminal in no organization", err, http.StatusForbidden)
	})
}
