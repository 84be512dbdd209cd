// Package notification tells people what happens to requests for approval, so that
// nobody has to watch the queue, and that a profile waits for a confirmation.
//
// Requests write numbered events in the transactions that change them. Tell follows
// the numbers of every organization from where it stopped, and turns each event into
// what it means to whom:
//
//	approval event ──Tell──┬──> inboxes of people: read, unread
//	                       ├──> mails to those who may answer, at most one in ten minutes
//	                       └──> webhooks (package webhook)
//
// All of it is written in the very change that moves the number on. So each event is
// told once, by whichever replica comes first, and an outage loses nothing.
//
// Proposals of profiles have no numbers to follow: they are told in the change that
// makes them, and taken back in the one that ends them.
//
// A notification that somebody's answer is wanted reads itself once the request is
// answered: what is unread is what still waits. A request that an agent asks for
// again is no event, and is told nobody a second time.
//
// Mail is only a pointer to the application. It names the tool and never the
// arguments; its links open a request and approve nothing. The queue of package mail
// is in memory, so a mail may be lost; the inbox is the record.
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

// Person is a member of an organization, as far as telling them goes.
type Person struct {
	UserID string
	Email  string
	Role   principal.Role
}

// Sources are what the package needs of requests and organizations.
type Sources struct {
	// Events are those of an organization after a number, oldest first.
	Events func(ctx context.Context, orgID string, after int64, limit int) ([]notice.Event, error)
	// People are the members of an organization.
	People func(ctx context.Context, orgID string) ([]Person, error)
}

// Options are what a service is made of.
type Options struct {
	Database  *database.DB
	Webhooks  *webhook.Service
	Sources   Sources
	Mail      mail.Sender // nil: there is no way to send mail
	PublicURL string
}

// Service tells people, and keeps what they were told. Tell and SendMails are for
// one goroutine each.
type Service struct {
	Options
	db   *database.DB
	seen map[string]int64 // size of a log in which nothing more was found
}

// New makes a service.
func New(o Options) *Service { return &Service{Options: o, db: o.Database, seen: map[string]int64{}} }

// Notification is what one person was told.
type Notification struct {
	ID        string
	Kind      notice.Kind
	SubjectID string // the request, the proposal, or the webhook
	Title     string
	Risk      string // of the request; empty: none
	CreatedAt time.Time
	ReadAt    *time.Time
}

// Preferences are how a person wants to be told, in one organization.
type Preferences struct {
	Mail bool
}

// kept is how long notifications are.
const kept = 90 * 24 * time.Hour

func noSuchNotification() error { return fault.New(fault.NotFound, "no such notification") }
