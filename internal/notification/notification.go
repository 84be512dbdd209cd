// Package notification notifies people about approval requests, so that nobody has to
// watch the queue, and about profiles that need a confirmation.
//
// Approval requests write numbered events in the transactions that change them.
// ProcessEvents follows the numbers of every organization and turns each event into
// notifications:
//
//	approval event ──ProcessEvents──┬──> inboxes of people: read, unread
//	                                ├──> mails to approvers, at most one in ten minutes
//	                                └──> webhooks (package webhook)
//
// All of it is written in the change that moves the number on. So each event is
// processed once, by whichever replica comes first, and an outage loses nothing.
//
// Proposals of profiles have no numbers: their notifications are written in the
// change that makes the proposal, and settled in the change that ends it.
//
// A notification that asks for an answer becomes read once the request is answered,
// so that the unread ones are those that still need an answer. An agent that repeats a
// request causes no event, and no second notification.
//
// A mail only points to the application. It names the tool and never the arguments;
// its links open a request and approve nothing. The queue of package mail is in
// memory, so a mail may be lost; the inbox is the record.
package notification

import (
	"context"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/mail"
	"writ/internal/notification/notice"
	"writ/internal/notification/webhook"
	"writ/internal/principal"
)

// Person is a member of an organization who can be notified.
type Person struct {
	UserID string
	Email  string
	Role   principal.Role
}

// Sources are what the service needs of approval requests and organizations.
type Sources struct {
	// Events are those of an organization after a number, oldest first.
	Events func(ctx context.Context, orgID string, after int64, limit int) ([]notice.Event, error)
	// People are the members of an organization.
	People func(ctx context.Context, orgID string) ([]Person, error)
}

// Options are the parts of a Service.
type Options struct {
	Database  *database.DB
	Webhooks  *webhook.Service
	Sources   Sources
	Mail      mail.Sender // nil: mail cannot be sent
	PublicURL string
}

// Service makes and keeps notifications. ProcessEvents and SendMails are for one
// goroutine each.
type Service struct {
	Options
	db   *database.DB
	seen map[string]int64 // by log: its size when all of its events were processed
}

// New makes a Service.
func New(o Options) *Service { return &Service{Options: o, db: o.Database, seen: map[string]int64{}} }

// Notification is an entry of a person's inbox.
type Notification struct {
	ID        string
	Kind      notice.Kind
	SubjectID string // the request, the proposal or the webhook
	Title     string
	Risk      string // of a request; empty: none
	CreatedAt time.Time
	ReadAt    *time.Time
}

// Preferences are how a person wants to be notified, in one organization.
type Preferences struct {
	Mail bool
}

// retention is how long notifications are kept.
const retention = 90 * 24 * time.Hour

func noSuchNotification() error { return fault.New(fault.NotFound, "no such notification") }
