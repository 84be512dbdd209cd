package webhook

import (
	"context"
	"fmt"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/notification/notice"
	"writ/internal/page"
	"writ/internal/principal"
)

// Status is the status of a delivery.
type Status string

// The statuses.
const (
	Waiting   Status = "waiting"
	Delivered Status = "delivered"
	Dead      Status = "dead" // given up
)

// Delivery is an event on its way to a target.
type Delivery struct {
	ID          string
	WebhookID   string
	Event       int64 // the event's number; 0: it has none
	Kind        notice.Kind
	RequestID   string // or the id of the proposal
	Status      Status
	Attempts    int
	HTTPStatus  int    // of the last try; 0: no answer
	Problem     string // of the last try
	CreatedAt   time.Time
	AttemptedAt *time.Time
	DoneAt      *time.Time // when it was delivered or given up

	body     string
	queuedAt time.Time
}

func noSuchDelivery() error { return fault.New(fault.NotFound, "no such delivery") }

const selectDelivery = `
	SELECT id, webhook_id, event, kind, request_id, body, status, attempts, http_status, problem, created_at, queued_at,
		attempted_at, done_at
	FROM webhook_delivery
	`

func scanDelivery(s database.Scanner) (d Delivery, err error) {
	err = s.Scan(&d.ID, &d.WebhookID, &d.Event, &d.Kind, &d.RequestID, &d.body, &d.Status, &d.Attempts, &d.HTTPStatus,
		&d.Problem, database.ToTime(&d.CreatedAt), database.ToTime(&d.queuedAt),
		database.ToOptionalTime(&d.AttemptedAt), database.ToOptionalTime(&d.DoneAt))
	return d, err
}

// Enqueue makes the deliveries of events of one organization, in their order, for
// each webhook that wants them. It runs in the change that moves the cursor of
// events.
func (s *Service) Enqueue(ctx context.Context, tx *database.Tx, orgID string, events []notice.Event) error {
	hooks, err := selectWebhooks(ctx, tx, orgID, columns)
	if err != nil {
		return err
	}
	for i := range hooks {
		deliveries, err := s.deliveriesOf(&hooks[i], events)
		if err != nil {
			return err
		}
		if err := insertDeliveries(ctx, tx, orgID, hooks[i].ID, deliveries); err != nil {
			return err
		}
	}
	return nil
}

// deliveriesOf are the deliveries of events to one webhook.
func (s *Service) deliveriesOf(w *Webhook, events []notice.Event) (deliveries []Delivery, err error) {
	for _, e := range events {
		if !w.Enabled() || !w.wants(e.Kind) {
			continue
		}
		d := Delivery{
			ID:        database.NewID(),
			WebhookID: w.ID,
			Event:     e.Number,
			Kind:      e.Kind,
			RequestID: e.Subject(),
			Status:    Waiting,
		}
		body, err := render(w, d.ID, e, s.publicURL)
		if err != nil {
			return nil, err
		}
		d.body = string(body)
		deliveries = append(deliveries, d)
	}
	return deliveries, nil
}

// insertDeliveries stores deliveries as the last of their target.
func insertDeliveries(ctx context.Context, tx *database.Tx, orgID, webhookID string, deliveries []Delivery) error {
	if len(deliveries) == 0 {
		return nil
	}
	first, err := takeNumbers(ctx, tx, orgID, webhookID, len(deliveries))
	if err != nil {
		return err
	}
	rows, now := make([][]any, len(deliveries)), tx.Now()
	for i := range deliveries {
		d := &deliveries[i]
		d.CreatedAt, d.queuedAt = now, now
		rows[i] = []any{d.ID, webhookID, orgID, first + int64(i), d.Event, string(d.Kind), d.RequestID, d.body,
			string(d.Status), d.Attempts, d.HTTPStatus, d.Problem, database.Micros(now), database.Micros(now),
			database.OptionalMicros(d.AttemptedAt), database.OptionalMicros(d.DoneAt)}
	}
	err = tx.Insert(ctx, `
		INSERT INTO webhook_delivery (id, webhook_id, org_id, number, event, kind, request_id, body, status, attempts,
			http_status, problem, created_at, queued_at, attempted_at, done_at)`, rows, ``)
	return database.Wrap(err, "store deliveries to webhook %s", webhookID)
}

// takeNumbers reserves the next numbers of a target, and gives the first.
func takeNumbers(ctx context.Context, tx *database.Tx, orgID, webhookID string, count int) (first int64, err error) {
	err = tx.QueryRow(ctx, `
		UPDATE webhook
		SET next_number = next_number + $3
		WHERE org_id = $1 AND id = $2
		RETURNING next_number - $3`, orgID, webhookID, count).Scan(&first)
	return first, database.OrMissing(err, noSuchWebhook(), "number deliveries to webhook %s", webhookID)
}

// Deliveries lists the deliveries of a target, newest first; an empty status means
// all of them.
func (s *Service) Deliveries(
	ctx context.Context, p principal.Principal, id string, status Status, cursor string, limit int,
) (page.Page[Delivery], error) {
	w, err := s.Get(ctx, p, id)
	if err != nil {
		return page.Page[Delivery]{}, err
	}
	if status != "" && status != Waiting && status != Delivered && status != Dead {
		return page.Page[Delivery]{}, fault.Field("status", "must be waiting, delivered or dead")
	}
	scope := p.OrgID + "/" + w.ID + "/" + string(status)
	q := page.Query{List: "webhook.deliveries", Scope: scope, Cursor: cursor, Limit: limit}
	return page.Read(q, func(after page.Cursor, limit int) ([]Delivery, error) {
		rows, err := database.Collect(ctx, s.db, scanDelivery, selectDelivery+`
			WHERE org_id = $1 AND webhook_id = $2 AND ($3 = '' OR status = $3)
				AND ($4 = '' OR created_at < $5 OR (created_at = $5 AND id < $4))
			ORDER BY created_at DESC, id DESC
			LIMIT $6`, p.OrgID, w.ID, string(status), after.ID, after.Micros, limit)
		return rows, database.Wrap(err, "list the deliveries of webhook %s", w.ID)
	}, func(d Delivery) (time.Time, string) { return d.CreatedAt, d.ID })
}

// Replay sends a delivery again, as the last of its target.
func (s *Service) Replay(ctx context.Context, p principal.Principal, webhookID, id string) (Delivery, error) {
	if err := p.Require(principal.ManageWebhooks); err != nil {
		return Delivery{}, err
	}
	var d Delivery
	err := s.change(ctx, p, func(ctx context.Context, tx *database.Tx) error {
		w, err := selectWebhook(ctx, tx, p.OrgID, webhookID)
		if err != nil {
			return err
		}
		if d, err = findDelivery(ctx, tx, w.OrgID, w.ID, id); err != nil {
			return err
		}
		switch {
		case !w.Enabled():
			return fault.New(fault.Conflict, "the webhook is disabled: enable it first")
		case d.Status == Waiting:
			return fault.New(fault.Conflict, "the delivery is already waiting to be sent")
		case d.body == "":
			return fault.New(fault.Conflict, "the delivery's content was erased")
		case d.Kind == testKind:
			return fault.New(fault.Conflict, "a test cannot be replayed: run another")
		}
		number, err := takeNumbers(ctx, tx, w.OrgID, w.ID, 1)
		if err != nil {
			return err
		}
		d.Status, d.Attempts, d.HTTPStatus, d.Problem, d.DoneAt = Waiting, 0, 0, "", nil
		_, err = tx.Exec(ctx, `
			UPDATE webhook_delivery
			SET status = 'waiting', number = $3, attempts = 0, http_status = 0, problem = '', done_at = NULL,
				queued_at = $4
			WHERE org_id = $1 AND id = $2`, w.OrgID, d.ID, number, database.Micros(tx.Now()))
		if err != nil {
			return fmt.Errorf("replay delivery %s: %w", d.ID, err)
		}
		return s.record(ctx, tx, p, replayed, &w, recorded{Delivery: d.ID})
	})
	return d, err
}

func findDelivery(ctx context.Context, r database.Reader, orgID, webhookID, id string) (Delivery, error) {
	if !database.IsID(id) {
		return Delivery{}, noSuchDelivery()
	}
	d, err := scanDelivery(r.QueryRow(ctx, selectDelivery+`WHERE org_id = $1 AND webhook_id = $2 AND id = $3`,
		orgID, webhookID, id))
	return d, database.OrMissing(err, noSuchDelivery(), "load delivery %s", id)
}

const (
	retention  = 30 * 24 * time.Hour // of deliveries that are delivered or dead
	pruneSlice = 500                 // rows that one change removes
)

// Prune removes old deliveries.
func (s *Service) Prune(ctx context.Context) error {
	_, err := s.db.ExecInSlices(ctx, pruneSlice, `
		DELETE FROM webhook_delivery
		WHERE id IN (SELECT id FROM webhook_delivery WHERE done_at < $1 ORDER BY done_at LIMIT $2)`,
		database.Micros(s.db.Now().Add(-retention)), pruneSlice)
	return database.Wrap(err, "remove old deliveries")
}
