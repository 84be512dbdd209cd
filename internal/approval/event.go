package approval

import (
	"context"
	"fmt"
	"sync"
	"time"

	"writ/internal/database"
)

// EventKind is what happened to a request.
type EventKind string

// The kinds. A repeated request is none of them.
const (
	EventOpened    EventKind = "opened"
	EventVoted     EventKind = "voted" // more approvers are needed
	EventApproved  EventKind = "approved"
	EventRejected  EventKind = "rejected"
	EventCancelled EventKind = "cancelled"
	EventExpired   EventKind = "expired"
	EventUsed      EventKind = "used"    // an approval let a call run
	EventRevoked   EventKind = "revoked" // a standing approval was revoked
)

// Event is something that happened to a request, written in its transaction. Numbers of
// an organization count up without gaps, in the order of its log.
type Event struct {
	OrgID     string
	Number    int64
	RequestID string
	Kind      EventKind
	Actor     string // a person or key; empty: time
	At        time.Time
}

// MaxEvents is how many events are read at a time.
const MaxEvents = 500

// Events are those of an organization after a number, oldest first. It checks no right:
// it is for the server itself.
func (s *Service) Events(ctx context.Context, orgID string, after int64, limit int) ([]Event, error) {
	events, err := database.Collect(ctx, s.db, scanEvent, `
		SELECT org_id, number, request_id, kind, actor, at
		FROM approval_event
		WHERE org_id = $1 AND number > $2
		ORDER BY number
		LIMIT $3`, orgID, after, min(max(limit, 1), MaxEvents))
	return events, database.Wrap(err, "read what happened to approvals of organization %s", orgID)
}

// LastEvent is the number of an organization's latest event; zero: there is none.
func (s *Service) LastEvent(ctx context.Context, orgID string) (int64, error) {
	return lastEvent(ctx, s.db, orgID)
}

func lastEvent(ctx context.Context, r database.Reader, orgID string) (number int64, err error) {
	err = r.QueryRow(ctx, `SELECT COALESCE(MAX(number), 0) FROM approval_event WHERE org_id = $1`, orgID).Scan(&number)
	return number, database.Wrap(err, "read the last event of organization %s", orgID)
}

func scanEvent(s database.Scanner) (e Event, err error) {
	var at int64
	err = s.Scan(&e.OrgID, &e.Number, &e.RequestID, &e.Kind, &e.Actor, &at)
	e.At = database.Time(at)
	return e, err
}

// announce writes an event, and wakes those who wait in this process once it is
// committed. The log's lock makes its number the next one.
func (s *Service) announce(
	ctx context.Context, tx *database.Tx, orgID, requestID string, kind EventKind, actor string,
) error {
	if err := requireLog(tx, "announce that request "+requestID+" was "+string(kind), orgID); err != nil {
		return err
	}
	last, err := lastEvent(ctx, tx, orgID)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO approval_event (org_id, number, request_id, kind, actor, at)
		VALUES ($1, $2, $3, $4, $5, $6)`, orgID, last+1, requestID, string(kind), actor, database.Micros(tx.Now()))
	if err != nil {
		return fmt.Errorf("announce that request %s was %s: %w", requestID, kind, err)
	}
	tx.AfterCommit(func() {
		s.bell.counts.add(kind)
		s.bell.ring(orgID)
	})
	return nil
}

// bell wakes those who wait for events of an organization, in this process.
type bell struct {
	mu      sync.Mutex
	waiting map[string]chan struct{}
	counts  counts
}

// next is closed with the next event of the organization.
func (b *bell) next(orgID string) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting == nil {
		b.waiting = map[string]chan struct{}{}
	}
	c, ok := b.waiting[orgID]
	if !ok {
		c = make(chan struct{})
		b.waiting[orgID] = c
	}
	return c
}

func (b *bell) ring(orgID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c, ok := b.waiting[orgID]; ok {
		close(c)
		delete(b.waiting, orgID)
	}
}

// Changed is closed when something happens to the organization's requests in this
// process. Get it before reading, or you miss what happens in between. Poll for what
// other processes do.
func (s *Service) Changed(orgID string) <-chan struct{} { return s.bell.next(orgID) }
