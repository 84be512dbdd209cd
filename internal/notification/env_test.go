package notification_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/mail"
	"writ/internal/notification"
	"writ/internal/notification/notice"
	"writ/internal/notification/webhook"
	"writ/internal/outbound"
	"writ/internal/principal"
	"writ/internal/testenv"
)

// env is an organization with people, and requests to which things happen.
type env struct {
	*testenv.Env
	told  *notification.Service
	hooks *webhook.Service
	post  *postbox
	org   string

	mu     sync.Mutex // guards the rest
	people []notification.Person
	events []notice.Event
}

var start = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func each(t *testing.T, body func(t *testing.T, e *env)) {
	t.Helper()
	testenv.Each(t, func(t *testing.T, base *testenv.Env) {
		base.Set(start)
		e := &env{Env: base, post: &postbox{}, org: base.Organization("Acme")}
		e.told = e.replica()
		body(t, e)
	})
}

// replica is another process on the same database.
func (e *env) replica() *notification.Service {
	e.T.Helper()
	e.hooks = webhook.NewService(e.DB, e.Log, testenv.Sealer(e.T, 7), nowhere{}, "https://writ.example.org")
	return notification.New(notification.Options{
		Database: e.DB, Webhooks: e.hooks, Mail: e.post, PublicURL: "https://writ.example.org",
		Sources: notification.Sources{Events: e.eventsAfter, People: e.members},
	})
}

func (e *env) eventsAfter(_ context.Context, orgID string, after int64, limit int) ([]notice.Event, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if orgID != e.org {
		return nil, nil
	}
	from := min(int(after), len(e.events))
	return e.events[from:min(from+limit, len(e.events))], nil
}

func (e *env) members(_ context.Context, orgID string) ([]notification.Person, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if orgID != e.org {
		return nil, fmt.Errorf("people of %s were asked for", orgID)
	}
	return e.people, nil
}

// person is a new member.
func (e *env) person(role principal.Role) principal.Principal {
	e.T.Helper()
	p := e.NewPerson(e.org, role)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.people = append(e.people, notification.Person{UserID: p.UserID, Email: p.UserID + "@example.org", Role: role})
	return p
}

// happen adds an event, with the entry in the log that every event has.
func (e *env) happen(kind notice.Kind, r notice.Request, actor string) {
	e.T.Helper()
	e.mu.Lock()
	if r.Tool == "" {
		r.Server, r.Tool = "bank", "pay"
	}
	if r.Status == "" {
		r.Status = "pending"
	}
	if r.ExpiresAt.IsZero() {
		r.ExpiresAt = e.DB.Now().Add(30 * time.Minute)
	}
	e.events = append(e.events, notice.Event{
		OrgID:   e.org,
		Number:  int64(len(e.events)) + 1,
		Kind:    kind,
		At:      e.DB.Now(),
		ActorID: actor,
		Request: r,
	})
	e.mu.Unlock()
	e.write(func(ctx context.Context, tx *database.Tx) error {
		_, err := e.Log.Append(ctx, tx, audit.Entry{
			Log: e.org, Action: string(kind), Actor: principal.Operator(), Observation: true,
		})
		return err
	})
}

func (e *env) tell() {
	e.T.Helper()
	if err := e.told.ProcessEvents(e.T.Context()); err != nil {
		e.T.Fatal(err)
	}
}

func (e *env) sendMails() {
	e.T.Helper()
	if err := e.told.SendMails(e.T.Context()); err != nil {
		e.T.Fatal(err)
	}
}

// inbox are the titles of a person's notifications, the newest first.
func (e *env) inbox(p principal.Principal, unread bool) []string {
	e.T.Helper()
	found, err := e.told.List(e.T.Context(), p, unread, "", 0)
	if err != nil {
		e.T.Fatal(err)
	}
	titles := []string{}
	for _, n := range found.Items {
		titles = append(titles, n.Title)
	}
	return titles
}

func (e *env) write(do func(ctx context.Context, tx *database.Tx) error) {
	e.T.Helper()
	e.Write(e.org, do)
}

// postbox takes mails.
type postbox struct {
	mu    sync.Mutex // guards mails
	mails []mail.Message
}

func (b *postbox) Send(_ context.Context, m mail.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mails = append(b.mails, m)
	return nil
}

// take gives the mails that came since the last time.
func (b *postbox) take() []mail.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	mails := b.mails
	b.mails = nil
	return mails
}

// nowhere is a target that always takes what it gets.
type nowhere struct{}

func (nowhere) Check(string) error { return nil }
func (nowhere) Post(context.Context, outbound.Request) (outbound.Answer, error) {
	return outbound.Answer{Status: 500}, nil
}
