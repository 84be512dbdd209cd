package organizations_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/testserver"
)

func TestMembersArePaged(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		owner := s.Person("owner")
		org, other := s.Organization(owner, "Pages"), s.Organization(owner, "Other")
		want := []string{owner.ID}
		for range 4 {
			want = append(want, s.BareMember(org, "member"))
			s.BareMember(other, "member")
		}
		var got []string
		var list client.List
		for pages := 1; ; pages++ {
			list.Limit = 2
			page, err := owner.Members(ctx, org, list)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range page.Items {
				got = append(got, m.UserID)
			}
			if page.HasMore != (pages < 3) || page.HasMore != (page.NextCursor != "") {
				t.Errorf("page %d: hasMore %t, nextCursor %q", pages, page.HasMore, page.NextCursor)
			}
			if !page.HasMore {
				break
			}
			list.Cursor = page.NextCursor
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("members over the pages (-want +got):\n%s", diff)
		}
		whole, err := owner.Members(ctx, org, client.List{})
		if err != nil || len(whole.Items) != 5 || whole.HasMore {
			t.Fatalf("without a limit: %d members, %v", len(whole.Items), err)
		}
		first := client.Member{
			UserID:   owner.ID,
			Email:    owner.Email,
			Name:     "owner",
			Role:     "owner",
			JoinedAt: whole.Items[0].JoinedAt,
		}
		if diff := cmp.Diff(first, whole.Items[0]); diff != "" || first.JoinedAt.IsZero() {
			t.Errorf("the first member (-want +got):\n%s", diff)
		}
	})
}

func TestBadPages(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		owner := s.Person("owner")
		org, other := s.Organization(owner, "Pages"), s.Organization(owner, "Other")
		for range 2 {
			s.BareMember(org, "member")
			s.KeyFor(owner.ID, org)
			s.KeyFor(owner.ID, other)
		}
		members, err := owner.Members(ctx, org, client.List{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		keys, err := owner.Keys(ctx, org, client.List{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		if members.NextCursor == "" || keys.NextCursor == "" {
			t.Fatal("there are no cursors to try")
		}
		wantInvalidCursor := func(what string, err error) {
			t.Helper()
			testserver.WantStatus(t, what, err, http.StatusBadRequest)
			if refusal := refusalOf(t, what, err); refusal.Message != "Invalid cursor" {
				t.Errorf("%s: %q, want exactly Invalid cursor", what, refusal.Message)
			}
		}
		for what, cursor := range map[string]string{
			"nonsense": "nonsense", "not base64": "%%%", "long": strings.Repeat("A", 5000),
			"of another list": keys.NextCursor,
			"cut off":         members.NextCursor[:len(members.NextCursor)-2], "padded": members.NextCursor + "=",
		} {
			_, err := owner.Members(ctx, org, client.List{Cursor: cursor})
			wantInvalidCursor("members after a cursor "+what, err)
		}
		_, err = owner.Members(ctx, other, client.List{Cursor: members.NextCursor})
		wantInvalidCursor("members after a cursor of another organization", err)
		for what, cursor := range map[string]string{"nonsense": "nonsense", "of another list": members.NextCursor} {
			_, err := owner.Keys(ctx, org, client.List{Cursor: cursor})
			wantInvalidCursor("keys after a cursor "+what, err)
		}
		for what, orgID := range map[string]string{"another organization": other, "one's own everywhere": ""} {
			_, err := owner.Keys(ctx, orgID, client.List{Cursor: keys.NextCursor})
			wantInvalidCursor("keys of "+what+" after a cursor of this one", err)
		}
		for _, path := range []string{"/organization/" + org + "/members", "/api-keys"} {
			for _, limit := range []string{"0", "-1", "201", "1.5", "many", "99999999999999999999"} {
				err := owner.Call(ctx, http.MethodGet, path, url.Values{"limit": {limit}}, nil, nil)
				wantInvalidField(t, path+" with the limit "+limit, err, "limit")
			}
			if err := owner.Call(ctx, http.MethodGet, path, url.Values{"limit": {"200"}}, nil, nil); err != nil {
				t.Errorf("%s with the limit 200: %v", path, err)
			}
		}
	})
}

func TestTheLastOwnerStays(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		first := s.Person("first")
		org := s.Organization(first, "Owned")
		second := s.Join(first, org, "admin")
		testserver.WantStatus(t, "the last owner leaves", first.RemoveMember(ctx, org, first.ID), http.StatusConflict)
		_, err := first.ChangeRole(ctx, org, first.ID, "admin")
		testserver.WantStatus(t, "the last owner steps down", err, http.StatusConflict)
		_, err = second.ChangeRole(ctx, org, first.ID, "member")
		testserver.WantStatus(t, "an admin demotes the owner", err, http.StatusForbidden)
		testserver.WantStatus(t, "an admin removes the owner", second.RemoveMember(ctx, org, first.ID),
			http.StatusForbidden)
		if m, err := first.ChangeRole(ctx, org, first.ID, "owner"); err != nil || m.Role != "owner" {
			t.Errorf("the owner stays owner: %+v, %v", m, err)
		}

		m, err := first.ChangeRole(ctx, org, second.ID, "owner")
		want := client.Member{
			UserID:   second.ID,
			Email:    second.Email,
			Name:     "admin",
			Role:     "owner",
			JoinedAt: m.JoinedAt,
		}
		if diff := cmp.Diff(want, m); diff != "" || err != nil {
			t.Fatalf("a second owner: %v (-want +got):\n%s", err, diff)
		}
		if _, err := second.ChangeRole(ctx, org, first.ID, "viewer"); err != nil {
			t.Fatalf("an owner demotes another: %v", err)
		}
		_, err = first.RenameOrganization(ctx, org, "Mine")
		testserver.WantStatus(t, "the demoted owner renames, with the old token", err, http.StatusForbidden)
		testserver.WantStatus(t, "the remaining owner leaves", second.RemoveMember(ctx, org, second.ID),
			http.StatusConflict)
		if err := first.RemoveMember(ctx, org, first.ID); err != nil {
			t.Errorf("the former owner leaves: %v", err)
		}
	})
}

func TestLeavingAnOrganization(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		owner := s.Person("owner")
		org := s.Organization(owner, "Left")
		member := s.Join(owner, org, "member")
		elsewhere := s.Organization(member, "Elsewhere")
		agent, terminal := s.Public.WithKey(s.AgentKey(member, org).APIKey), s.TerminalKey(member, org)
		left, err := member.RemoveMemberListingKeys(ctx, org, member.ID)
		if err != nil {
			t.Fatalf("leave: %v", err)
		}
		current, err := agent.CurrentKey(ctx)
		if err != nil || len(left) != 1 || left[0].ID != current.ID {
			t.Errorf("keys that go on deciding: %+v, want the agent's alone, %s (%v)", left, current.ID, err)
		}
		entries, err := audit.ReadEntries(ctx, s.Database, org, 0, 10_000)
		if last := entries[len(entries)-1]; err != nil || last.Action != "member.removed" ||
			!strings.Contains(string(last.Payload), current.ID) {
			t.Errorf("the entry %s does not name the key (%v): %s", last.Action, err, last.Payload)
		}
		_, err = member.Organization(ctx, org)
		testserver.WantStatus(t, "read after leaving", err, http.StatusForbidden)
		testserver.WantStatus(t, "leave again", member.RemoveMember(ctx, org, member.ID), http.StatusForbidden)
		mine, err := member.Organizations(ctx)
		if err != nil || len(mine) != 1 || mine[0].ID != elsewhere {
			t.Errorf("organizations after: %v, %v", mine, err)
		}
		s.Advance(time.Second) // how long a key is trusted without asking
		_, err = terminal.CurrentKey(ctx)
		testserver.WantStatus(t, "the terminal of who left", err, http.StatusUnauthorized)
		if _, err := agent.CurrentKey(ctx); err != nil {
			t.Errorf("an agent's key is the organization's and goes on: %v", err)
		}
		seen, err := owner.Organization(ctx, org)
		if err != nil || seen.MemberCount != 1 {
			t.Errorf("the owner sees %+v, %v", seen, err)
		}
	})
}

func TestRefusedChangesOfMembers(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		owner := s.Person("owner")
		org := s.Organization(owner, "Strict")
		target := s.BareMember(org, "member")
		for what, body := range map[string]any{
			"no role": map[string]any{}, "an unknown role": map[string]any{"role": "king"},
			"a role in other case": map[string]any{"role": "Admin"},
			"no text":              map[string]any{"role": 1}, "null": map[string]any{"role": nil},
			"another name": map[string]any{"ROLE": "admin"},
		} {
			err := owner.Call(ctx, http.MethodPatch, "/organization/"+org+"/members/"+target+"/role", nil, body, nil)
			wantInvalidField(t, "change a role with "+what, err, "role")
		}
		for what, id := range map[string]string{
			"unknown":     database.NewID(),
			"malformed":   "nobody",
			"in capitals": strings.ToUpper(target),
			"hostile":     "' OR 1=1 --\x00",
		} {
			_, err := owner.ChangeRole(ctx, org, id, "viewer")
			testserver.WantStatus(t, "change the role of one "+what, err, http.StatusNotFound)
			testserver.WantStatus(t, "remove one "+what, owner.RemoveMember(ctx, org, id), http.StatusNotFound)
			testserver.WantStatus(t, "withdraw an invitation "+what, owner.WithdrawInvite(ctx, org, id),
				http.StatusNotFound)
		}
		before := len(s.Recorded(org))
		if _, err := owner.ChangeRole(ctx, org, target, "member"); err != nil {
			t.Errorf("give the same role: %v", err)
		}
		if after := len(s.Recorded(org)); after != before {
			t.Errorf("a change that is none recorded %d entries", after-before)
		}
	})
}
