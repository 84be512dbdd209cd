package notification_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/internal/database"
	"writ/internal/notification/notice"
	"writ/internal/notification/webhook"
	"writ/internal/principal"
)

// propose tells of a profile, as the change does that makes the proposal.
func (e *env) propose(p notice.Proposal) string {
	e.T.Helper()
	p.ID, p.OrgID, p.At = database.NewID(), e.org, e.DB.Now()
	e.write(func(ctx context.Context, tx *database.Tx) error { return e.told.NotifyProposal(ctx, tx, e.people, p) })
	return p.ID
}

func (e *env) settle(orgID, id string) {
	e.T.Helper()
	e.write(func(ctx context.Context, tx *database.Tx) error { return e.told.SettleProposal(ctx, tx, orgID, id) })
}

// TestWhoIsToldOfAProposal: whoever may confirm it, and not who has just proposed it
// in person unless nobody else can.
func TestWhoIsToldOfAProposal(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		owner, admin, approver, member := e.person(principal.Owner), e.person(principal.Admin),
			e.person(principal.Approver), e.person(principal.Member)
		for _, c := range []struct {
			name string
			by   principal.Principal
			key  bool
			told []principal.Principal
		}{
			{"a member's key", member, true, []principal.Principal{owner, admin}},
			{"a member", member, false, []principal.Principal{owner, admin}},
			{"an admin's key", admin, true, []principal.Principal{owner, admin}},
			{"an admin", admin, false, []principal.Principal{owner}},
		} {
			id := e.propose(notice.Proposal{Name: "mine", OwnerID: c.by.UserID, ByKey: c.key})
			told := map[string]bool{}
			for _, p := range c.told {
				told[p.UserID] = true
			}
			for _, p := range []principal.Principal{owner, admin, approver, member} {
				if got := len(e.inbox(p, true)) == 1; got != told[p.UserID] {
					t.Errorf("proposed by %s: %s is told %t", c.name, p.Role, got)
				}
			}
			e.settle(database.NewID(), id) // another organization's
			if len(e.inbox(owner, true)) != 1 {
				t.Error("another organization took it back")
			}
			e.settle(e.org, id)
			if len(e.inbox(owner, true)) != 0 || len(e.inbox(admin, true)) != 0 {
				t.Errorf("proposed by %s: what is settled still waits", c.name)
			}
		}
		e.people = e.people[1:2] // the admin alone may confirm
		e.propose(notice.Proposal{Name: "mine", OwnerID: admin.UserID})
		if len(e.inbox(admin, true)) != 1 {
			t.Error("nobody is told where only the proposer may confirm")
		}
	})
}

// TestMailsOfProposals: they name the profile, wait without an end, and go with
// requests into one mail.
func TestMailsOfProposals(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		admin := e.person(principal.Admin)
		id := e.propose(notice.Proposal{
			Name: "armorgemini-current\r\nBcc: eve@example.org", Reason: "no exfil", OwnerID: "u", ByKey: true,
		})
		e.Pass(48 * time.Hour)
		e.sendMails()
		mails := e.post.take()
		if len(mails) != 1 || mails[0].Subject != "A profile waits for your confirmation on Writ" {
			t.Fatalf("%+v", mails)
		}
		text := mails[0].Text
		if !strings.Contains(text, "https://writ.example.org/ui/policies/proposals/"+id+"\n") ||
			strings.Contains(text, "\nBcc") || strings.Contains(text, "Denied unless") ||
			strings.Contains(text, "no exfil") {
			t.Errorf("text: %q", text)
		}
		var subjects []string
		next := func() {
			e.Pass(11 * time.Minute)
			e.tell()
			e.sendMails()
			for _, m := range e.post.take() {
				subjects = append(subjects, m.Subject)
			}
		}
		settled := e.propose(notice.Proposal{Name: "a", OwnerID: "u"})
		e.settle(e.org, settled)
		next()
		e.propose(notice.Proposal{Name: "b", OwnerID: "u"})
		e.propose(notice.Proposal{Name: "c", OwnerID: "v"})
		next()
		e.propose(notice.Proposal{Name: "d", OwnerID: "u"})
		e.happen(notice.Opened, notice.Request{ID: database.NewID(), ExpiresAt: e.DB.Now().Add(time.Hour)}, "")
		next()
		if err := e.told.SetPreferences(t.Context(), admin, e.wantsMail(false)); err != nil {
			t.Fatal(err)
		}
		e.propose(notice.Proposal{Name: "e", OwnerID: "u"})
		next()
		if diff := cmp.Diff([]string{
			"2 profiles wait for your confirmation on Writ", "2 requests and profiles wait for your answer on Writ",
		}, subjects); diff != "" {
			t.Error(diff)
		}
	})
}

// TestWebhooksOfProposals: those that name the kind get it, in the same change.
func TestWebhooksOfProposals(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		admin := e.person(principal.Admin)
		waiting := map[string]int{}
		for name, events := range map[string][]notice.Kind{"usual": nil, "proposals": {notice.ProfileProposed}} {
			made, err := e.hooks.Create(t.Context(), admin, webhook.New{
				Name: name, Kind: webhook.Generic, URL: "https://hooks.example.org/x", Events: events,
			})
			if err != nil {
				t.Fatal(err)
			}
			id := e.propose(notice.Proposal{Name: "mine", OwnerID: "u"})
			found, err := e.hooks.Deliveries(t.Context(), admin, made.ID, "", "", 0)
			if err != nil {
				t.Fatal(err)
			}
			waiting[name] = len(found.Items)
			if len(found.Items) == 1 &&
				(found.Items[0].Kind != notice.ProfileProposed || found.Items[0].RequestID != id) {
				t.Errorf("%+v", found.Items[0])
			}
		}
		if diff := cmp.Diff(map[string]int{"usual": 0, "proposals": 1}, waiting); diff != "" {
			t.Error(diff)
		}
	})
}
