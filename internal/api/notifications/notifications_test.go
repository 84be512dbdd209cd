package notifications_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/database"
	"writ/internal/notification/webhook"
	"writ/internal/secret"
	"writ/internal/testserver"
)

// office is an organization whose agent asks, and whose people are told.
type office struct {
	*testserver.Server
	owner, approver, member *testserver.Person
	org                     string
	agent                   *client.Client // of the member
}

func eachOffice(t *testing.T, body func(t *testing.T, o *office)) {
	t.Helper()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		o := &office{Server: s, owner: s.Person("owner")}
		o.org = s.Organization(o.owner, "Office")
		o.approver, o.member = s.Join(o.owner, o.org, "approver"), s.Join(o.owner, o.org, "member")
		o.agent = s.Public.WithKey(s.KeyFor(o.member.ID, o.org).Secret.Reveal())
		body(t, o)
	}, "WRIT_OUTBOUND_ALLOW", "127.0.0.1")
}

// unread are the notifications of a person that they have not read.
func (o *office) unread(p *testserver.Person) []client.Notification {
	o.T.Helper()
	found, err := p.Notifications(o.T.Context(), o.org, true, client.List{})
	if err != nil {
		o.T.Fatal(err)
	}
	return found.Items
}

// TestPeopleAreTold from the question to the answer.
func TestPeopleAreTold(t *testing.T) {
	t.Parallel()
	eachOffice(t, func(t *testing.T, o *office) {
		ctx, id := t.Context(), o.OpenedApproval(o.agent)
		for name, p := range map[string]*testserver.Person{"owner": o.owner, "approver": o.approver} {
			testserver.Soon(t, name+" is told", func() bool { return len(o.unread(p)) == 1 })
			told := o.unread(p)[0]
			if told.Kind != "approval.opened" || told.SubjectID != id ||
				!strings.HasPrefix(told.Title, "bank.pay waits for an approval") {
				t.Errorf("%s is told %+v", name, told)
			}
			link := o.URL + "/ui/approvals/" + id
			testserver.Soon(t, name+" is mailed", func() bool { return strings.Contains(o.LastMail(p.Email), link) })
			if text := o.LastMail(p.Email); strings.Contains(text, "invoice") {
				t.Errorf("%s is mailed arguments: %q", name, text)
			}
		}
		if n, err := o.owner.UnreadNotifications(ctx, o.org); err != nil || n != 1 {
			t.Errorf("%d unread, %v", n, err)
		}
		first := o.unread(o.owner)[0].ID
		testserver.WantStatus(t, "another's notification", o.approver.MarkRead(ctx, o.org, first), http.StatusNotFound)
		if err := o.owner.MarkRead(ctx, o.org, first); err != nil {
			t.Fatal(err)
		}
		if n, err := o.owner.UnreadNotifications(ctx, o.org); err != nil || n != 0 {
			t.Errorf("%d unread after reading, %v", n, err)
		}
		if page := o.Request(t, "GET", "/ui/approvals/"+id, "",
			testserver.Credentials(o.owner.Client)...); page.Status != http.StatusOK {
			t.Errorf("the link leads to %d", page.Status)
		}
		if waiting, err := o.owner.ApprovalRequest(ctx, o.org, id); err != nil || waiting.Status != "pending" {
			t.Errorf("after the link was opened: %+v, %v", waiting, err)
		}
		if _, err := o.owner.Reject(ctx, o.org, id, "not today"); err != nil {
			t.Fatal(err)
		}
		testserver.Soon(t, "the member is told", func() bool { return len(o.unread(o.member)) == 1 })
		if told := o.unread(o.member)[0]; told.Kind != "approval.rejected" {
			t.Errorf("the member is told %+v", told)
		}
		if left := o.unread(o.approver); len(left) != 0 {
			t.Errorf("what is answered still asks the approver: %+v", left)
		}
		if n, err := o.member.MarkAllRead(ctx, o.org); err != nil || n != 1 {
			t.Errorf("%d marked, %v", n, err)
		}
	})
}

func TestMailPreferences(t *testing.T) {
	t.Parallel()
	eachOffice(t, func(t *testing.T, o *office) {
		ctx := t.Context()
		if wants, err := o.approver.NotificationPreferences(ctx, o.org); err != nil || !wants.Mail {
			t.Errorf("before: %+v, %v", wants, err)
		}
		if wants, err := o.approver.SetNotificationPreferences(ctx, o.org,
			client.NotificationPreferences{}); err != nil || wants.Mail {
			t.Errorf("turned off: %+v, %v", wants, err)
		}
		if wants, err := o.approver.NotificationPreferences(ctx, o.org); err != nil || wants.Mail {
			t.Errorf("after: %+v, %v", wants, err)
		}
		before := len(o.Mails(o.approver.Email, 1)) // the invitation
		o.OpenedApproval(o.agent)
		testserver.Soon(t, "the owner is mailed", func() bool {
			return strings.Contains(o.LastMail(o.owner.Email), "/ui/approvals/")
		})
		if after := len(o.Mails(o.approver.Email, 1)); after != before {
			t.Errorf("%d mails, want %d", after, before)
		}
	})
}

// received is a delivery as a target got it.
type delivered struct {
	header http.Header
	body   string
}

// targetOf is a server that takes deliveries and hands them on.
func targetOf(t *testing.T, status int) (url string, got <-chan delivered) {
	t.Helper()
	arrived := make(chan delivered, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read a delivery: %v", err)
		}
		arrived <- delivered{r.Header.Clone(), string(body)}
		w.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/secret-path", arrived
}

// TestWebhooksAreSent end to end, in order, and verify.
func TestWebhooksAreSent(t *testing.T) {
	t.Parallel()
	eachOffice(t, func(t *testing.T, o *office) {
		ctx := t.Context()
		url, got := targetOf(t, http.StatusOK)
		hook, err := o.owner.CreateWebhook(ctx, o.org, client.NewWebhook{Name: "ops", Kind: "generic", URL: url})
		if err != nil || hook.Secret == "" || strings.Contains(hook.Target, "secret-path") || !hook.Enabled {
			t.Fatalf("made: %+v, %v", hook, err)
		}
		test, err := o.owner.TestWebhook(ctx, o.org, hook.ID)
		if err != nil || test.Status != "delivered" || test.HTTPStatus != 200 {
			t.Errorf("test: %+v, %v", test, err)
		}
		id := o.OpenedApproval(o.agent)
		if _, err := o.approver.Approve(ctx, o.org, client.Approval{ID: id}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"test", "approval.opened", "approval.approved"} {
			d := <-got
			timestamp := d.header.Get("Writ-Timestamp")
			if d.header.Get("Writ-Event") != want ||
				d.header.Get("Writ-Signature") != webhook.Sign(secret.NewText(hook.Secret), timestamp, []byte(d.body)) {
				t.Errorf("want %s, got %v: %s", want, d.header, d.body)
			}
			if strings.Contains(d.body, "invoice") {
				t.Errorf("arguments were sent: %s", d.body)
			}
		}
		testserver.Soon(t, "both are in the log", func() bool {
			log, err := o.owner.WebhookDeliveries(ctx, o.org, hook.ID, "delivered", client.List{})
			return err == nil && len(log.Items) == 3
		})
		read, err := o.owner.Webhook(ctx, o.org, hook.ID)
		if err != nil || read.Secret != "" || read.DeliveredAt == nil || read.Waiting != 0 {
			t.Errorf("read: %+v, %v", read, err)
		}
	})
}

// TestWebhooksGoNowhereInside: addresses that only the server reaches are refused.
func TestWebhooksGoNowhereInside(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		org := s.Organization(owner, "Inside")
		for _, url := range []string{
			"http://127.0.0.1/", "http://localhost/", "http://169.254.169.254/latest/meta-data/", "http://10.0.0.1/",
			"http://[::1]/", "http://[::ffff:127.0.0.1]/",
			"http://2130706433/", "http://0x7f.1/", "file:///etc/passwd", "gopher://example.org/",
			"http://user:pass@example.org/", "http://example.org:22/", "x",
		} {
			_, err := owner.CreateWebhook(t.Context(), org, client.NewWebhook{Name: "n", Kind: "generic", URL: url})
			testserver.WantStatus(t, url, err, http.StatusBadRequest)
		}
	})
}

// TestDeadLettersAreReplayed by hand.
func TestDeadLettersAreReplayed(t *testing.T) {
	t.Parallel()
	eachOffice(t, func(t *testing.T, o *office) {
		ctx := t.Context()
		url, got := targetOf(t, http.StatusNoContent)
		hook, err := o.owner.CreateWebhook(ctx, o.org, client.NewWebhook{Name: "ops", Kind: "generic", URL: url})
		if err != nil {
			t.Fatal(err)
		}
		dead := o.DeadDelivery(o.org, hook.ID)
		listed, err := o.owner.WebhookDeliveries(ctx, o.org, hook.ID, "dead", client.List{})
		if err != nil || len(listed.Items) != 1 || listed.Items[0].ID != dead || listed.Items[0].Problem == "" {
			t.Fatalf("dead letters: %+v, %v", listed, err)
		}
		again, err := o.owner.ReplayDelivery(ctx, o.org, hook.ID, dead)
		if err != nil || again.Status != "waiting" || again.Attempts != 0 {
			t.Fatalf("replayed: %+v, %v", again, err)
		}
		if d := <-got; d.header.Get("Writ-Delivery") != dead {
			t.Errorf("arrived: %v", d.header)
		}
	})
}

// TestErasureReachesDeliveries: what is erased in the log waits at no webhook.
func TestErasureReachesDeliveries(t *testing.T) {
	t.Parallel()
	eachOffice(t, func(t *testing.T, o *office) {
		ctx := t.Context()
		url, got := targetOf(t, http.StatusServiceUnavailable) // so that it waits
		hook, err := o.owner.CreateWebhook(ctx, o.org, client.NewWebhook{
			Name: "ops", Kind: "generic", URL: url, SendArguments: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		id := o.OpenedApproval(o.agent)
		if d := <-got; !strings.Contains(d.body, "invoice") {
			t.Fatalf("sent: %s", d.body)
		}
		var entry int64
		if err := o.Database.QueryRow(ctx, `SELECT opened_at_entry FROM approval_request WHERE id = $1`,
			id).Scan(&entry); err != nil {
			t.Fatal(err)
		}
		if err := o.owner.ErasePayload(ctx, o.org, entry, "asked for"); err != nil {
			t.Fatal(err)
		}
		dead, err := o.owner.WebhookDeliveries(ctx, o.org, hook.ID, "dead", client.List{})
		if err != nil || len(dead.Items) != 1 || dead.Items[0].Problem != "its content was erased" {
			t.Errorf("dead: %+v, %v", dead, err)
		}
		var bodies int
		if err := o.Database.QueryRow(ctx,
			`SELECT COUNT(*) FROM webhook_delivery WHERE body <> ''`).Scan(&bodies); err != nil || bodies != 0 {
			t.Errorf("%d bodies are left, %v", bodies, err)
		}
	})
}

// TestBothNamesAnswer: what one name shows and changes, the other shows.
func TestBothNamesAnswer(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		p := s.Person("owner")
		org := s.Organization(p, "Both")
		me := testserver.Credentials(p.Client)
		id := database.NewID()
		s.Insert(`INSERT INTO notification (id, org_id, user_id, cause, kind, subject_id, title, risk, created_at)
			VALUES ($1, $2, $3, $1, 'approval.opened', 'r', 'bank.pay waits', 'low', $4)`, id, org, p.ID,
			database.Micros(s.Database.Now()))
		same := func(when string) {
			t.Helper()
			for _, path := range []string{"", "/unread-count", "/preferences"} {
				one := s.Request(t, "GET", "/notifications"+path+"?organizationId="+org, "", me...)
				other := s.Request(t, "GET", "/notification"+path+"?organizationId="+org, "", me...)
				if one.Status != http.StatusOK || other.Status != one.Status || string(other.Body) != string(one.Body) {
					t.Errorf("%s, %q: %d %s, then %d %s", when, path, one.Status, one.Body, other.Status, other.Body)
				}
			}
		}
		same("unread")
		if got := s.Request(t, "POST", "/notification/"+id+"/read?organizationId="+org, "", me...); got.Status != 204 {
			t.Errorf("read: %d %s", got.Status, got.Body)
		}
		got := s.Request(t, "PUT", "/notification/preferences?organizationId="+org, `{"mail":false}`, me...)
		if got.Status != http.StatusOK {
			t.Errorf("preferences: %d %s", got.Status, got.Body)
		}
		same("read")
		unread := s.Request(t, "GET", "/notification/unread-count?organizationId="+org, "", me...)
		if string(unread.Body) != `{"unread":0}` && string(unread.Body) != "{\"unread\":0}\n" {
			t.Errorf("unread: %s", unread.Body)
		}
	})
}
