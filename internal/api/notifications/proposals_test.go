package notifications_test

import (
	"net/http"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/testserver"
)

// TestWhoMayConfirmIsTold: of a proposal, once, in the application, by mail and by a
// webhook that wants it; never what the profile says; and until it is settled.
func TestWhoMayConfirmIsTold(t *testing.T) {
	t.Parallel()
	eachOffice(t, func(t *testing.T, o *office) {
		ctx := t.Context()
		admin, elsewhere := o.Join(o.owner, o.org, "admin"), o.Person("elsewhere")
		other := o.Organization(elsewhere, "Elsewhere")
		plugin := o.Public.WithKey(o.PluginKey(o.member, o.org))
		hook, err := o.owner.CreateWebhook(ctx, o.org, client.NewWebhook{
			Name: "chat", Kind: "generic", URL: "http://127.0.0.1:9/x", Events: []string{"profile.proposed"},
		})
		if err != nil {
			t.Fatal(err)
		}
		first := o.Proposed(plugin, o.org, testserver.Profile("mine", "Bash"))
		o.Proposed(plugin, o.org, testserver.Profile("mine", "Bash")) // the same again is the same
		for name, p := range map[string]*testserver.Person{"owner": o.owner, "admin": admin} {
			told := o.unread(p)
			if len(told) != 1 || told[0].Kind != "profile.proposed" || told[0].SubjectID != first.ID ||
				told[0].Title != "The profile mine waits for a confirmation" {
				t.Errorf("%s is told %+v", name, told)
			}
			link := o.URL + "/ui/policies/proposals/" + first.ID
			testserver.Soon(t, name+" is mailed", func() bool { return strings.Contains(o.LastMail(p.Email), link) })
			if text := o.LastMail(p.Email); strings.Contains(text, "Bash") || strings.Contains(text, "forbid") ||
				strings.Contains(text, "for a test") {
				t.Errorf("%s is mailed the profile, or its reason: %q", name, text)
			}
		}
		for name, p := range map[string]*testserver.Person{"approver": o.approver, "member": o.member} {
			if told := o.unread(p); len(told) != 0 {
				t.Errorf("%s is told %+v", name, told)
			}
		}
		if found, err := elsewhere.Notifications(ctx, other, true, client.List{}); err != nil || len(found.Items) != 0 {
			t.Errorf("another organization is told %+v, %v", found.Items, err)
		}
		sent, err := o.owner.WebhookDeliveries(ctx, o.org, hook.ID, "", client.List{})
		if err != nil || len(sent.Items) != 1 || sent.Items[0].Kind != "profile.proposed" ||
			sent.Items[0].RequestID != first.ID {
			t.Errorf("deliveries: %+v, %v", sent.Items, err)
		}
		if page := o.Request(t, "GET", "/ui/policies/proposals/"+first.ID, "",
			testserver.Credentials(o.owner.Client)...); page.Status != http.StatusOK {
			t.Errorf("the link leads to %d", page.Status)
		}
		if read, err := o.owner.Proposal(ctx, o.org, first.ID); err != nil || read.State != "open" {
			t.Errorf("after the link was opened: %+v, %v", read, err)
		}
	})
}

// TestWhatIsSettledIsNotToldAnyMore: by another proposal, a withdrawal, the deletion
// of its policy, or the confirmation of one of several people.
func TestWhatIsSettledIsNotToldAnyMore(t *testing.T) {
	t.Parallel()
	eachOffice(t, func(t *testing.T, o *office) {
		ctx := t.Context()
		admin := o.Join(o.owner, o.org, "admin")
		waits := func(what string, want ...string) {
			t.Helper()
			for _, p := range []*testserver.Person{o.owner, admin} {
				var got []string
				for _, n := range o.unread(p) {
					got = append(got, n.SubjectID)
				}
				if strings.Join(got, " ") != strings.Join(want, " ") {
					t.Errorf("%s: %s is asked about %v, want %v", what, p.Email, got, want)
				}
			}
		}
		first := o.Proposed(o.member.Client, o.org, testserver.Profile("mine", "Bash"))
		waits("proposed", first.ID)
		second := o.Proposed(o.member.Client, o.org, testserver.Profile("mine", "WebFetch"))
		waits("replaced", second.ID)
		if err := o.member.WithdrawProposal(ctx, o.org, second.ID); err != nil {
			t.Fatal(err)
		}
		waits("withdrawn")
		third := o.Proposed(o.member.Client, o.org, testserver.Profile("mine", "Read"))
		waits("proposed again", third.ID)
		if err := o.owner.DeletePolicy(ctx, third.PolicyID); err != nil {
			t.Fatal(err)
		}
		waits("deleted")
		fourth := o.Proposed(o.member.Client, o.org, testserver.Profile("mine", "Write"))
		if _, err := admin.ConfirmProfile(ctx, o.org, fourth.ID, fourth.Hash); err != nil {
			t.Fatal(err)
		}
		waits("confirmed")
		if again, err := o.member.ProposeProfile(ctx, o.org, "once more"); err == nil {
			t.Errorf("what is in force already was proposed: %+v", again)
		}
		waits("active already")
	})
}
