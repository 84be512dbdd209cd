package notification_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"writ/internal/database"
	"writ/internal/mail"
	"writ/internal/notification"
	"writ/internal/notification/notice"
	"writ/internal/principal"
)

func (w *world) wantsMail(yes bool) notification.Preferences {
	return notification.Preferences{Mail: yes}
}

// TestOneMailThenADigest: the first comes at once, what follows comes together.
func TestOneMailThenADigest(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		bob := w.person(principal.Approver)
		open := func(tool string) notice.Request {
			r := notice.Request{ID: database.NewID(), Tool: tool, Arguments: `{"account":"4711-0815-4711"}`}
			w.happen(notice.Opened, r, "")
			w.tell()
			w.sendMails()
			return r
		}
		first := open("pay\r\nBcc: eve@example.org")
		mails := w.post.take()
		if len(mails) != 1 || mails[0].To != bob.UserID+"@example.org" ||
			mails[0].Subject != "A request waits for your approval on Writ" {
			t.Fatalf("the first mail: %+v", mails)
		}
		text := mails[0].Text
		if !strings.Contains(text, "https://writ.example.org/ui/approvals/"+first.ID+"\n") ||
			strings.Contains(text, "4711-0815-4711") || strings.Contains(text, "\r") ||
			strings.Contains(text, "\nBcc") {
			t.Errorf("its text: %q", text)
		}
		second := open("transfer")
		open("sell")
		w.happen(notice.Rejected, second, bob.UserID) // nobody has to answer it any more
		w.advance(9 * time.Minute)
		w.tell()
		w.sendMails()
		if early := w.post.take(); len(early) != 0 {
			t.Errorf("within ten minutes: %+v", early)
		}
		open("buy")
		w.advance(time.Minute)
		w.sendMails()
		digest := w.post.take()
		if len(digest) != 1 || digest[0].Subject != "2 requests wait for your approval on Writ" ||
			!strings.Contains(digest[0].Text, "sell waits") || !strings.Contains(digest[0].Text, "buy waits") ||
			strings.Contains(digest[0].Text, "transfer") {
			t.Errorf("the digest: %+v", digest)
		}
		w.sendMails()
		if again := w.post.take(); len(again) != 0 {
			t.Errorf("again: %+v", again)
		}
	})
}

// TestNoMail to who wants none, has left, or could answer no more.
func TestNoMail(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx, bob, amy := t.Context(), w.person(principal.Approver), w.person(principal.Admin)
		if got, err := w.told.Preferences(ctx, bob); err != nil || !got.Mail {
			t.Errorf("before: %+v, %v", got, err)
		}
		w.happen(notice.Opened, notice.Request{ID: database.NewID()}, "")
		w.tell()
		for range 2 {
			if err := w.told.SetPreferences(ctx, bob, w.wantsMail(false)); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := w.told.Preferences(ctx, bob); err != nil || got.Mail {
			t.Errorf("after: %+v, %v", got, err)
		}
		w.happen(notice.Opened, notice.Request{ID: database.NewID()}, "")
		w.tell()
		w.sendMails()
		if got := w.post.take(); len(got) != 1 || got[0].To != amy.UserID+"@example.org" {
			t.Errorf("mails: %+v", got)
		}
		w.happen(notice.Opened, notice.Request{ID: database.NewID(), ExpiresAt: w.db.Now().Add(time.Minute)}, "")
		w.tell()
		w.advance(time.Hour)
		w.sendMails()
		if got := w.post.take(); len(got) != 0 {
			t.Errorf("what is over is mailed: %+v", got)
		}
		w.happen(notice.Opened, notice.Request{ID: database.NewID()}, "")
		w.tell()
		w.mu.Lock()
		w.people = w.people[:1] // amy has left
		w.mu.Unlock()
		w.sendMails()
		if got := w.post.take(); len(got) != 0 {
			t.Errorf("who has left is told: %+v", got)
		}
	})
}

// TestOneReplicaMails.
func TestOneReplicaMails(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.person(principal.Approver)
		w.happen(notice.Opened, notice.Request{ID: database.NewID()}, "")
		w.tell()
		var all sync.WaitGroup
		for range 4 {
			replica := w.replica()
			all.Go(func() {
				if err := replica.SendMails(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if got := w.post.take(); len(got) != 1 {
			t.Errorf("%d mails", len(got))
		}
	})
}

// TestLongDigests name some, and say how many more there are. What they say can be
// sent: a sender that checks takes it.
func TestLongDigests(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.person(principal.Approver)
		for range 25 {
			w.happen(notice.Opened, notice.Request{ID: database.NewID()}, "")
		}
		w.tell()
		w.sendMails()
		got := w.post.take()
		if len(got) != 1 || strings.Count(got[0].Text, "/ui/approvals/") != 20 ||
			!strings.Contains(got[0].Text, "And 5 more.") {
			t.Fatalf("mails: %+v", got)
		}
		if err := mail.NewQueue(mail.None{}, nil).Send(t.Context(), got[0]); err != nil {
			t.Errorf("the mail is refused: %v", err)
		}
	})
}
