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
)

// TestWhoIsTold: those whose answer is wanted, then the owner of the agent.
func TestWhoIsTold(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		owner, bob, amy := w.person(principal.Owner), w.person(principal.Approver), w.person(principal.Admin)
		mel, vic := w.person(principal.Member), w.person(principal.Viewer)
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
			w.happen(c.kind, c.request, c.actor)
			w.tell()
			var told []string
			for _, who := range []string{"admin", "approver", "member", "owner", "viewer"} {
				for _, title := range w.inbox(everybody[who], false) {
					if strings.HasPrefix(title, tool+" ") && title == w.events[len(w.events)-1].Title() {
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
	each(t, func(t *testing.T, w *world) {
		mel, bob := w.person(principal.Member), w.person(principal.Approver)
		first, second := notice.Request{ID: database.NewID(), OwnerID: mel.UserID, Tool: "a"},
			notice.Request{ID: database.NewID(), OwnerID: mel.UserID, Tool: "b"}
		w.happen(notice.Opened, first, "")
		w.happen(notice.Opened, second, "")
		w.happen(notice.Voted, first, bob.UserID)
		w.tell()
		if n, err := w.told.Unread(t.Context(), bob); err != nil || n != 2 {
			t.Errorf("%d unread, %v", n, err)
		}
		w.happen(notice.Cancelled, first, "")
		w.tell()
		if diff := cmp.Diff([]string{"b waits for an approval"}, w.inbox(bob, true)); diff != "" {
			t.Errorf("unread (-want +got):\n%s", diff)
		}
		if got := w.inbox(bob, false); len(got) != 2 {
			t.Errorf("all: %v", got)
		}
	})
}

// TestToldOnce however many replicas tell, and whenever they start.
func TestToldOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		bob := w.person(principal.Approver)
		hook, err := w.hooks.Create(t.Context(),
			principal.Principal{Kind: principal.User, UserID: bob.UserID, OrgID: w.org, Role: principal.Owner},
			webhook.New{Name: "ops", Kind: webhook.Generic, URL: "https://hooks.example.org/"})
		if err != nil {
			t.Fatal(err)
		}
		const events = 120 // more than one change takes
		for i := range events {
			w.happen(notice.Opened, notice.Request{ID: database.NewID(), Tool: fmt.Sprint("t", i)}, "")
		}
		var all sync.WaitGroup
		for range 3 {
			replica := w.replica()
			all.Go(func() {
				for range 5 {
					if err := replica.Tell(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if n, err := w.told.Unread(t.Context(), bob); err != nil || n != events {
			t.Errorf("%d unread, %v", n, err)
		}
		admin := principal.Principal{Kind: principal.User, UserID: bob.UserID, OrgID: w.org, Role: principal.Owner}
		if got, err := w.hooks.Get(t.Context(), admin, hook.ID); err != nil || got.Waiting != events {
			t.Errorf("%d deliveries, %v", got.Waiting, err)
		}
	})
}

func TestReading(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx, bob, amy := t.Context(), w.person(principal.Approver), w.person(principal.Admin)
		for i := range 5 {
			w.happen(notice.Opened, notice.Request{ID: database.NewID(), Tool: fmt.Sprint("t", i)}, "")
			w.advance(time.Second)
		}
		w.tell()
		titles, cursor := []string{}, ""
		for range 3 {
			got, err := w.told.List(ctx, bob, false, cursor, 2)
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
		first, err := w.told.List(ctx, bob, false, "", 2)
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.told.List(ctx, amy, false, first.NextCursor, 2)
		wantFault(t, "another's cursor", err, fault.Invalid)
		id := first.Items[0].ID
		for name, p := range map[string]principal.Principal{
			"a colleague":   amy,
			"elsewhere":     {Kind: principal.User, UserID: bob.UserID, OrgID: database.NewID(), Role: principal.Owner},
			"another's own": {Kind: principal.User, UserID: database.NewID(), OrgID: w.org, Role: principal.Owner},
		} {
			wantFault(t, name, w.told.MarkRead(ctx, p, id), fault.NotFound)
		}
		wantFault(t, "no id", w.told.MarkRead(ctx, bob, "x"), fault.NotFound)
		for range 2 {
			if err := w.told.MarkRead(ctx, bob, id); err != nil {
				t.Fatal(err)
			}
		}
		if n, err := w.told.MarkAllRead(ctx, bob); err != nil || n != 4 {
			t.Errorf("%d were unread, %v", n, err)
		}
		if got := w.inbox(bob, true); len(got) != 0 {
			t.Errorf("unread: %v", got)
		}
		if got := w.inbox(amy, true); len(got) != 5 {
			t.Errorf("a colleague's unread: %v", got)
		}
		w.advance(91 * 24 * time.Hour)
		if err := w.told.Prune(ctx); err != nil || len(w.inbox(amy, false)) != 0 {
			t.Errorf("after 91 days: %v, %v", w.inbox(amy, false), err)
		}
	})
}

func TestOnlyPeopleHaveAnInbox(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		for name, p := range map[string]principal.Principal{
			"nobody":       {},
			"a key":        {Kind: principal.Key, UserID: database.NewID(), OrgID: w.org, Role: principal.Owner},
			"without role": {Kind: principal.User, UserID: database.NewID(), OrgID: w.org},
			"nowhere":      {Kind: principal.User, UserID: database.NewID(), Role: principal.Owner},
		} {
			_, err := w.told.List(t.Context(), p, false, "", 0)
			wantFault(t, name+" lists", err, fault.Forbidden)
			_, err = w.told.Unread(t.Context(), p)
			wantFault(t, name+" counts", err, fault.Forbidden)
			wantFault(t, name+" reads", w.told.MarkRead(t.Context(), p, database.NewID()), fault.Forbidden)
			_, err = w.told.MarkAllRead(t.Context(), p)
			wantFault(t, name+" reads all", err, fault.Forbidden)
			_, err = w.told.Preferences(t.Context(), p)
			wantFault(t, name+" prefers", err, fault.Forbidden)
			wantFault(t, name+" changes", w.told.SetPreferences(t.Context(), p, w.wantsMail(true)), fault.Forbidden)
		}
	})
}

// TestDisabledWebhooksAreTold to who administers, once.
func TestDisabledWebhooksAreTold(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		amy, bob := w.person(principal.Admin), w.person(principal.Approver)
		if _, err := w.hooks.Create(t.Context(), amy, webhook.New{
			Name: "ops", Kind: webhook.Generic, URL: "https://hooks.example.org/",
		}); err != nil {
			t.Fatal(err)
		}
		for range 74 {
			w.happen(notice.Expired, notice.Request{ID: database.NewID()}, "")
			w.tell()
			if err := w.hooks.Deliver(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.advance(time.Hour)
		}
		w.tell()
		w.tell()
		if diff := cmp.Diff([]string{`The webhook "ops" was disabled: nothing arrived at the target for three days`},
			w.inbox(amy, false)); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
		if got := w.inbox(bob, false); len(got) != 0 {
			t.Errorf("an approver is told: %v", got)
		}
	})
}

// TestARestoreAsksNobody: what a backup brings back is over, and may have been sent.
func TestARestoreAsksNobody(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		amy := w.person(principal.Admin)
		hook, err := w.hooks.Create(t.Context(), amy, webhook.New{
			Name: "ops", Kind: webhook.Generic, URL: "https://hooks.example.org/",
		})
		if err != nil {
			t.Fatal(err)
		}
		w.happen(notice.Opened, notice.Request{ID: database.NewID()}, "")
		w.tell()
		w.write(notification.EndAll)
		w.sendMails()
		if mails, left := w.post.take(), w.inbox(amy, true); len(mails) != 0 || len(left) != 0 {
			t.Errorf("after a restore %v is unread, and %v was sent", left, mails)
		}
		if got, err := w.hooks.Get(t.Context(), amy, hook.ID); err != nil || got.Waiting != 0 || got.Dead != 1 {
			t.Errorf("the webhook: %+v, %v", got, err)
		}
	})
}

func wantFault(t *testing.T, what string, err error, kind fault.Kind) {
	t.Helper()
	if !fault.Is(err, kind) {
		t.Errorf("%s: %v, want %s", what, err, kind)
	}
}
