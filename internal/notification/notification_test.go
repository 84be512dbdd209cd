package notification_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/notification"
	"writ/internal/notification/notice"
	"writ/internal/notification/webhook"
	"writ/internal/principal"
	"writ/internal/testenv"
)

// TestWhoIsTold: those whose answer is wanted, then the owner of the agent.
func TestWhoIsTold(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		owner, bob, amy := e.person(principal.Owner), e.person(principal.Approver), e.person(principal.Admin)
		mel, vic := e.person(principal.Member), e.person(principal.Viewer)
		everybody := map[string]principal.Principal{
			"owner": owner, "approver": bob, "admin": amy, "member": mel, "viewer": vic,
		}
		for name, c := range map[string]struct {
			kind    notice.Kind
			request notice.Request
			actor   string
			told    []string
		}{
			"a hold": {
				notice.Opened, notice.Request{OwnerID: mel.UserID}, "", []string{"admin", "approver", "owner"},
			},
			"a hold that is over": {notice.Opened, notice.Request{OwnerID: mel.UserID, Status: "cancelled"}, "", nil},
			"a hold of an approver": {
				notice.Opened, notice.Request{OwnerID: bob.UserID}, "", []string{"admin", "owner"},
			},
			"a hold for an admin": {
				notice.Opened,
				notice.Request{OwnerID: mel.UserID, Email: strings.ToUpper(amy.UserID) + "@example.org"}, "",
				[]string{"approver", "owner"},
			},
			"a hold for admins": {
				notice.Opened, notice.Request{OwnerID: mel.UserID, Role: "admin"}, "", []string{"admin", "owner"},
			},
			// nobody else can
			"a hold of the owner": {
				notice.Opened, notice.Request{OwnerID: owner.UserID, Role: "owner"}, "", []string{"owner"},
			},
			"an ask": {
				notice.Opened, notice.Request{OwnerID: mel.UserID, OwnAsk: true}, "", []string{"member"},
			},
			"a yes": {
				notice.Approved, notice.Request{OwnerID: mel.UserID}, bob.UserID, []string{"member"},
			},
			"an own yes": {notice.Approved, notice.Request{OwnerID: mel.UserID}, mel.UserID, nil},
			"a no": {
				notice.Rejected, notice.Request{OwnerID: mel.UserID}, bob.UserID, []string{"member"},
			},
			"no answer": {notice.Expired, notice.Request{OwnerID: mel.UserID}, "", []string{"member"}},
			"a vote":    {notice.Voted, notice.Request{OwnerID: mel.UserID}, bob.UserID, nil},
			"a use":     {notice.Used, notice.Request{OwnerID: mel.UserID}, "", nil},
		} {
			tool := strings.ReplaceAll(name, " ", "_")
			c.request.ID, c.request.Tool = database.NewID(), tool
			e.happen(c.kind, c.request, c.actor)
			e.tell()
			var told []string
			for _, who := range []string{"admin", "approver", "member", "owner", "viewer"} {
				for _, title := range e.inbox(everybody[who], false) {
					if strings.HasPrefix(title, tool+" ") && title == e.events[len(e.events)-1].Title() {
						told = append(told, who)
					}
				}
			}
			if diff := cmp.Diff(c.told, told); diff != "" {
				t.Errorf("%s is told (-want +got):\n%s", name, diff)
			}
		}
	})
}

// TestAnsweredRequestsReadThemselves: what is unread is what still waits.
func TestAnsweredRequestsReadThemselves(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		mel, bob := e.person(principal.Member), e.person(principal.Approver)
		first, second := notice.Request{ID: database.NewID(), OwnerID: mel.UserID, Tool: "a"},
			notice.Request{ID: database.NewID(), OwnerID: mel.UserID, Tool: "b"}
		e.happen(notice.Opened, first, "")
		e.happen(notice.Opened, second, "")
		e.happen(notice.Voted, first, bob.UserID)
		e.tell()
		if n, err := e.told.Unread(t.Context(), bob); err != nil || n != 2 {
			t.Errorf("%d unread, %v", n, err)
		}
		e.happen(notice.Cancelled, first, "")
		e.tell()
		if diff := cmp.Diff([]string{"b waits for an approval"}, e.inbox(bob, true)); diff != "" {
			t.Errorf("unread (-want +got):\n%s", diff)
		}
		if got := e.inbox(bob, false); len(got) != 2 {
			t.Errorf("all: %v", got)
		}
	})
}

// TestToldOnce however many replicas tell, and whenever they start.
func TestToldOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.person(principal.Approver)
		hook, err := e.hooks.Create(t.Context(),
			principal.Principal{Kind: principal.User, UserID: bob.UserID, OrgID: e.org, Role: principal.Owner},
			webhook.New{Name: "ops", Kind: webhook.Generic, URL: "https://hooks.example.org/"})
		if err != nil {
			t.Fatal(err)
		}
		const events = 120 // more than one change takes
		for i := range events {
			e.happen(notice.Opened, notice.Request{ID: database.NewID(), Tool: fmt.Sprint("t", i)}, "")
		}
		var all sync.WaitGroup
		for range 3 {
			replica := e.replica()
			all.Go(func() {
				for range 5 {
					if err := replica.ProcessEvents(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if n, err := e.told.Unread(t.Context(), bob); err != nil || n != events {
			t.Errorf("%d unread, %v", n, err)
		}
		admin := principal.Principal{Kind: principal.User, UserID: bob.UserID, OrgID: e.org, Role: principal.Owner}
		if got, err := e.hooks.Get(t.Context(), admin, hook.ID); err != nil || got.Waiting != events {
			t.Errorf("%d deliveries, %v", got.Waiting, err)
		}
	})
}

func TestReading(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		ctx, bob, amy := t.Context(), e.person(principal.Approver), e.person(principal.Admin)
		for i := range 5 {
			e.happen(notice.Opened, notice.Request{ID: database.NewID(), Tool: fmt.Sprint("t", i)}, "")
			e.Pass(time.Second)
		}
		e.tell()
		titles, cursor := []string{}, ""
		for range 3 {
			got, err := e.told.List(ctx, bob, false, cursor, 2)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range got.Items {
				titles = append(titles, n.Title[:2])
			}
			cursor = got.NextCursor
		}
		if diff := cmp.Diff([]string{"t4", "t3", "t2", "t1", "t0"}, titles); diff != "" || cursor != "" {
			t.Errorf("pages (-want +got):\n%s", diff)
		}
		first, err := e.told.List(ctx, bob, false, "", 2)
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.told.List(ctx, amy, false, first.NextCursor, 2)
		testenv.WantFault(t, "another's cursor", err, fault.Invalid)
		id := first.Items[0].ID
		for name, p := range map[string]principal.Principal{
			"a colleague":   amy,
			"elsewhere":     {Kind: principal.User, UserID: bob.UserID, OrgID: database.NewID(), Role: principal.Owner},
			"another's own": {Kind: principal.User, UserID: database.NewID(), OrgID: e.org, Role: principal.Owner},
		} {
			testenv.WantFault(t, name, e.told.MarkRead(ctx, p, id), fault.NotFound)
		}
		testenv.WantFault(t, "no id", e.told.MarkRead(ctx, bob, "x"), fault.NotFound)
		for range 2 {
			if err := e.told.MarkRead(ctx, bob, id); err != nil {
				t.Fatal(err)
			}
		}
		if n, err := e.told.MarkAllRead(ctx, bob); err != nil || n != 4 {
			t.Errorf("%d were unread, %v", n, err)
		}
		if got := e.inbox(bob, true); len(got) != 0 {
			t.Errorf("unread: %v", got)
		}
		if got := e.inbox(amy, true); len(got) != 5 {
			t.Errorf("a colleague's unread: %v", got)
		}
		e.Pass(91 * 24 * time.Hour)
		if err := e.told.Prune(ctx); err != nil || len(e.inbox(amy, false)) != 0 {
			t.Errorf("after 91 days: %v, %v", e.inbox(amy, false), err)
		}
	})
}

func TestOnlyPeopleHaveAnInbox(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for name, p := range map[string]principal.Principal{
			"nobody":       {},
			"a key":        {Kind: principal.Key, UserID: database.NewID(), OrgID: e.org, Role: principal.Owner},
			"without role": {Kind: principal.User, UserID: database.NewID(), OrgID: e.org},
			"nowhere":      {Kind: principal.User, UserID: database.NewID(), Role: principal.Owner},
		} {
			_, err := e.told.List(t.Context(), p, false, "", 0)
			testenv.WantFault(t, name+" lists", err, fault.Forbidden)
			_, err = e.told.Unread(t.Context(), p)
			testenv.WantFault(t, name+" counts", err, fault.Forbidden)
			testenv.WantFault(t, name+" reads", e.told.MarkRead(t.Context(), p, database.NewID()), fault.Forbidden)
			_, err = e.told.MarkAllRead(t.Context(), p)
			testenv.WantFault(t, name+" reads all", err, fault.Forbidden)
			_, err = e.told.Preferences(t.Context(), p)
			testenv.WantFault(t, name+" prefers", err, fault.Forbidden)
			testenv.WantFault(t, name+" changes", e.told.SetPreferences(t.Context(), p, e.wantsMail(true)),
				fault.Forbidden)
		}
	})
}

// TestDisabledWebhooksAreTold to who administers, once.
func TestDisabledWebhooksAreTold(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		amy, bob := e.person(principal.Admin), e.person(principal.Approver)
		if _, err := e.hooks.Create(t.Context(), amy, webhook.New{
			Name: "ops", Kind: webhook.Generic, URL: "https://hooks.example.org/",
		}); err != nil {
			t.Fatal(err)
		}
		for range 74 {
			e.happen(notice.Expired, notice.Request{ID: database.NewID()}, "")
			e.tell()
			if err := e.hooks.Deliver(t.Context()); err != nil {
				t.Fatal(err)
			}
			e.Pass(time.Hour)
		}
		e.tell()
		e.tell()
		if diff := cmp.Diff([]string{`The webhook "ops" was disabled: nothing arrived at the target for three days`},
			e.inbox(amy, false)); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
		if got := e.inbox(bob, false); len(got) != 0 {
			t.Errorf("an approver is told: %v", got)
		}
	})
}

// TestARestoreAsksNobody: what a backup brings back is over, and may have been sent.
func TestARestoreAsksNobody(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		amy := e.person(principal.Admin)
		hook, err := e.hooks.Create(t.Context(), amy, webhook.New{
			Name: "ops", Kind: webhook.Generic, URL: "https://hooks.example.org/",
		})
		if err != nil {
			t.Fatal(err)
		}
		e.happen(notice.Opened, notice.Request{ID: database.NewID()}, "")
		e.tell()
		e.write(notification.EndAll)
		e.sendMails()
		if mails, left := e.post.take(), e.inbox(amy, true); len(mails) != 0 || len(left) != 0 {
			t.Errorf("after a restore %v is unread, and %v was sent", left, mails)
		}
		if got, err := e.hooks.Get(t.Context(), amy, hook.ID); err != nil || got.Waiting != 0 || got.Dead != 1 {
			t.Errorf("the webhook: %+v, %v", got, err)
		}
	})
}
