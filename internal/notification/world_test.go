package notification_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/mail"
	"writ/internal/notification"
	"writ/internal/notification/notice"
	"writ/internal/notification/webhook"
	"writ/internal/outbound"
	"writ/internal/principal"
	"writ/internal/secret"
)

// world is an organization with people, and requests to which things happen.
type world struct {
	t     *testing.T
	db    *database.DB
	told  *notification.Service
	hooks *webhook.Service
	post  *postbox
	org   string
	ahead *atomic.Int64

	mu     sync.Mutex // guards the rest
	people []notification.Person
	events []notice.Event
}

var start = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func each(t *testing.T, body func(t *testing.T, w *world)) {
	t.Helper()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		ahead := new(atomic.Int64)
		o.Now = func() time.Time { return start.Add(time.Duration(ahead.Load())) }
		w := &world{
			t:     t,
			db:    dbtest.Open(t, o),
			post:  &postbox{},
			org:   database.NewID(),
			ahead: ahead,
		}
		w.told = w.replica()
		w.exec(`INSERT INTO organization (id, name, created_at, updated_at) VALUES ($1, 'Acme', 1, 1)`, w.org)
		body(t, w)
	})
}

// replica is another process on the same database.
func (w *world) replica() *notification.Service {
	w.t.Helper()
	sealer, err := secret.NewSealer(bytes.Repeat([]byte{7}, secret.MasterKeySize))
	if err != nil {
		w.t.Fatal(err)
	}
	w.hooks = webhook.NewService(w.db, audit.Unsigned(w.db), sealer, nowhere{}, "https://writ.example.org")
	return notification.New(notification.Options{
		Database: w.db, Webhooks: w.hooks, Mail: w.post, PublicURL: "https://writ.example.org",
		Sources: notification.Sources{Events: w.eventsAfter, People: w.members},
	})
}

func (w *world) eventsAfter(_ context.Context, orgID string, after int64, limit int) ([]notice.Event, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if orgID != w.org {
		return nil, nil
	}
	from := min(int(after), len(w.events))
	return w.events[from:min(from+limit, len(w.events))], nil
}

func (w *world) members(_ context.Context, orgID string) ([]notification.Person, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if orgID != w.org {
		return nil, fmt.Errorf("people of %s were asked for", orgID)
	}
	return w.people, nil
}

// person is a new member.
func (w *world) person(role principal.Role) principal.Principal {
	w.t.Helper()
	p := principal.Principal{Kind: principal.User, UserID: database.NewID(), OrgID: w.org, Role: role}
	address := p.UserID + "@example.org"
	w.exec(`INSERT INTO user_account (id, email, name, password_hash, created_at) VALUES ($1, $2, $2, '', 1)`, p.UserID,
		address)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.people = append(w.people, notification.Person{UserID: p.UserID, Email: address, Role: role})
	return p
}

// happen adds an event, with the entry in the log that every event has.
func (w *world) happen(kind notice.Kind, r notice.Request, actor string) {
	w.t.Helper()
	w.mu.Lock()
	if r.Tool == "" {
		r.Server, r.Tool = "bank", "pay"
	}
	if r.Status == "" {
		r.Status = "pending"
	}
	if r.ExpiresAt.IsZero() {
		r.ExpiresAt = w.db.Now().Add(30 * time.Minute)
	}
	w.events = append(w.events, notice.Event{
		OrgID:   w.org,
		Number:  int64(len(w.events)) + 1,
		Kind:    kind,
		At:      w.db.Now(),
		ActorID: actor,
		Request: r,
	})
	w.mu.Unlock()
	w.write(func(ctx context.Context, tx *database.Tx) error {
		_, err := audit.Unsigned(w.db).Append(ctx, tx, audit.Entry{
			Log: w.org, Action: string(kind), Actor: principal.Operator(), Observation: true,
		})
		return err
	})
}

func (w *world) tell() {
	w.t.Helper()
	if err := w.told.Tell(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) sendMails() {
	w.t.Helper()
	if err := w.told.SendMails(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// inbox are the titles of a person's notifications, the newest first.
func (w *world) inbox(p principal.Principal, unread bool) []string {
	w.t.Helper()
	found, err := w.told.List(w.t.Context(), p, unread, "", 0)
	if err != nil {
		w.t.Fatal(err)
	}
	titles := []string{}
	for _, n := range found.Items {
		titles = append(titles, n.Title)
	}
	return titles
}

func (w *world) advance(d time.Duration) { w.ahead.Add(int64(d)) }

func (w *world) exec(query string, args ...any) {
	w.t.Helper()
	w.write(func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, query, args...)
		return err
	})
}

func (w *world) write(do func(ctx context.Context, tx *database.Tx) error) {
	w.t.Helper()
	if err := w.db.Write(w.t.Context(), database.Change{Logs: []string{w.org}, Do: do}); err != nil {
		w.t.Fatal(err)
	}
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
