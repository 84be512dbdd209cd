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

func (e *env) wantsMail(yes bool) notification.Preferences {
	return notification.Preferences{Mail: yes}
}

// TestOneMailThenADigest: the first comes at once, what follows comes together.
func TestOneMailThenADigest(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.person(principal.Approver)
		open := func(tool string) notice.Request {
			r := notice.Request{ID: database.NewID(), Tool: tool, Arguments: `{"account":"4711-0815-4711"}`}
			e.happen(notice.Opened, r, "")
			e.tell()
			e.sendMails()
			return r
		}
		first := open("pay\r\nBcc: eve@example.org")
		mails := e.post.take()
		if len(mails) != 1 || mails[0].To != bob.UserID+"@example.org" ||
			mails[0].Subject != "A request waits for your approval on Writ" {
			t.Fatalf("the first mail: %+v", mails)
		}
		text := mails[0].Text
		if !strings.Contains(text, "https://writ.example.org/ui/approvals/"+first.ID+"\n") ||
			strings.Contains(text, "4711-0815-4711") || strings.Contains(text, "\r") ||
			strings.Contains(text, "\nBcc") || !strings.Contains(text, "in the dashboard, under Inbox") {
			t.Errorf("its text: %q", text)
		}
		second := open("transfer")
		open("sell")
		e.happen(notice.Rejected, second, bob.UserID) // nobody has to answer it any more
		e.Pass(9 * time.Minute)
		e.tell()
		e.sendMails()
		if early := e.post.take(); len(early) != 0 {
			t.Errorf("within ten minutes: %+v", early)
		}
		open("buy")
		e.Pass(time.Minute)
		e.sendMails()
		digest := e.post.take()
		if len(digest) != 1 || digest[0].Subject != "2 requests wait for your approval on Writ" ||
			!strings.Contains(digest[0].Text, "sell waits") || !strings.Contains(digest[0].Text, "buy waits") ||
			strings.Contains(digest[0].Text, "transfer") {
			t.Errorf("the digest: %+v", digest)
		}
		e.sendMails()
		if again := e.post.take(); len(again) != 0 {
			t.Errorf("again: %+v", again)
		}
	})
}

// TestNoMail to who wants none, has left, or could answer no more.
func TestNoMail(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		ctx, bob, amy := t.Context(), e.person(principal.Approver), e.person(principal.Admin)
		if got, err := e.told.Preferences(ctx, bob); err != nil || !got.Mail {
			t.Errorf("before: %+v, %v", got, err)
		}
		e.happen(notice.Opened, notice.Request{ID: database.NewID()}, "")
		e.tell()
		for range 2 {
			if err := e.told.SetPreferences(ctx, bob, e.wantsMail(false)); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := e.told.Preferences(ctx, bob); err != nil || got.Mail {
			t.Errorf("after: %+v, %v", got, err)
		}
		e.happen(notice.Opened, notice.Request{ID: database.NewID()}, "")
		e.tell()
		e.sendMails()
		if got := e.post.take(); len(got) != 1 || got[0].To != amy.UserID+"@example.org" {
			t.Errorf("mails: %+v", got)
		}
		e.happen(notice.Opened, notice.Request{ID: database.NewID(), ExpiresAt: e.DB.Now().Add(time.Minute)}, "")
		e.tell()
		e.Pass(time.Hour)
		e.sendMails()
		if got := e.post.take(); len(got) != 0 {
			t.Errorf("what is over is mailed: %+v", got)
		}
		e.happen(notice.Opened, notice.Request{ID: database.NewID()}, "")
		e.tell()
		e.mu.Lock()
		e.people = e.people[:1] // amy has left
		e.mu.Unlock()
		e.sendMails()
		if got := e.post.take(); len(got) != 0 {
			t.Errorf("who has left is told: %+v", got)
		}
	})
}

// TestOneReplicaMails.
func TestOneReplicaMails(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.person(principal.Approver)
		e.happen(notice.Opened, notice.Request{ID: database.NewID()}, "")
		e.tell()
		var all sync.WaitGroup
		for range 4 {
			replica := e.replica()
			all.Go(func() {
				if err := replica.SendMails(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if got := e.post.take(); len(got) != 1 {
			t.Errorf("%d mails", len(got))
		}
	})
}

// TestLongDigests name some, and say how many more there are. What they say can be
// sent: a sender that checks takes it.
func TestLongDigests(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.person(principal.Approver)
		for range 25 {
			e.happen(notice.Opened, notice.Request{ID: database.NewID()}, "")
		}
		e.tell()
		e.sendMails()
		got := e.post.take()
		if len(got) != 1 || strings.Count(got[0].Text, "/ui/approvals/") != 20 ||
			!strings.Contains(got[0].Text, "And 5 more.") {
			t.Fatalf("mails: %+v", got)
		}
		if err := mail.NewQueue(mail.None{}, nil).Send(t.Context(), got[0]); err != nil {
			t.Errorf("the mail is refused: %v", err)
		}
	})
}

// TestAMailSaysThatArgumentsAreUnknown, since a person decides by it whether to look.
func TestAMailSaysThatArgumentsAreUnknown(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.person(principal.Approver)
		e.happen(notice.Opened,
			notice.Request{ID: database.NewID(), Server: "bank", Tool: "pay", ArgumentsFrom: "plan"}, "")
		e.tell()
		e.sendMails()
		if mails := e.post.take(); len(mails) != 1 ||
			!strings.Contains(mails[0].Text, "bank.pay waits for an approval (arguments unknown)\n") {
			t.Errorf("mails: %+v", mails)
		}
	})
}
