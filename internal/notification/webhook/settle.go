package webhook

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/notification/notice"
	"writ/internal/principal"
)

// When a target is tried again, and when it is given up.
const (
	firstPause   = 5 * time.Second
	longestPause = 15 * time.Minute
	deliveryLife = 24 * time.Hour // how long an unanswered delivery is tried
	refusedTries = 5              // how often a delivery is tried that the target refuses
	disableAfter = 72 * time.Hour // without a success, until a target is disabled
)

// pause is how long to wait after so many failed tries: twice as long each time, give
// or take a fifth, so that targets that failed together are not retried together.
func pause(attempts int, random float64) time.Duration {
	wait := firstPause
	for i := 1; i < attempts && wait < longestPause; i++ {
		wait *= 2
	}
	wait = min(wait, longestPause)
	return wait + time.Duration((random-0.5)*0.4*float64(wait))
}

// lease reserves a target for this process, unless another holds it.
func (s *Service) lease(ctx context.Context, id string) (taken bool, err error) {
	err = s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		now := tx.Now()
		changed, err := tx.Exec(ctx, `
			UPDATE webhook
			SET lease_holder = $2, lease_until = $3
			WHERE id = $1 AND disabled_at IS NULL AND retry_at <= $4 AND lease_until <= $4`,
			id, s.holder, database.Micros(now.Add(leaseTime)), database.Micros(now))
		taken = changed == 1
		return err
	}})
	if err != nil {
		return false, fmt.Errorf("lease webhook %s: %w", id, err)
	}
	return taken, nil
}

func (s *Service) release(ctx context.Context, id string) error {
	return s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx,
			`UPDATE webhook SET lease_holder = '', lease_until = 0 WHERE id = $1 AND lease_holder = $2`, id, s.holder)
		return err
	}})
}

// nextDelivery is the first waiting delivery of a target; zero: there is none, or the
// target was deleted or disabled.
func (s *Service) nextDelivery(ctx context.Context, id string) (w Webhook, d Delivery, err error) {
	w, err = scanWebhook(s.db.QueryRow(ctx,
		`SELECT `+columns+` FROM webhook w WHERE w.id = $1 AND w.disabled_at IS NULL`, id))
	if err != nil {
		return w, d, database.OrMissing(err, nil, "load webhook %s", id)
	}
	d, err = scanDelivery(s.db.QueryRow(ctx, selectDelivery+`
		WHERE webhook_id = $1 AND status = 'waiting'
		ORDER BY number
		LIMIT 1`, id))
	return w, d, database.OrMissing(err, nil, "load the next delivery to webhook %s", id)
}

// step is what follows from a try.
type step struct {
	status       Status
	proceed      bool // to the next delivery
	retryAt      time.Time
	failingSince *time.Time // of the target
	deliveredAt  *time.Time
}

// nextStep says what follows from a try. It is pure; random is from 0 to 1.
func nextStep(w *Webhook, d *Delivery, o outcome, now time.Time, random float64) step {
	if o.problem == "" {
		// A retry time of now queues it behind targets that have waited longer.
		return step{status: Delivered, proceed: true, retryAt: now, deliveredAt: &now}
	}
	failing := w.FailingSince
	if failing == nil {
		failing = &now
	}
	wait := max(o.wait, pause(d.Attempts+1, random))
	switch {
	case o.final && d.Attempts+1 >= refusedTries:
		return step{status: Dead, proceed: true, retryAt: now, failingSince: failing}
	case !now.Before(d.queuedAt.Add(deliveryLife)):
		return step{status: Dead, retryAt: now.Add(wait), failingSince: failing}
	}
	return step{status: Waiting, retryAt: now.Add(wait), failingSince: failing}
}

// settle stores the outcome of a try, and reports whether the next delivery may go
// out. If the lease was lost meanwhile it stores nothing: its new holder sends again.
func (s *Service) settle(ctx context.Context, w *Webhook, d *Delivery, o outcome) (proceed bool, err error) {
	random := rand.Float64()
	var after step
	err = s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		after = nextStep(w, d, o, tx.Now(), random)
		mine, err := s.updatePace(ctx, tx, w.ID, after)
		if err != nil || !mine {
			after.proceed = false
			return err
		}
		if err := updateTried(ctx, tx, d.ID, after.status, o, tx.Now()); err != nil {
			return err
		}
		if o.problem == "" || o.final {
			return nil
		}
		return killOld(ctx, tx, w.ID, tx.Now())
	}})
	if err != nil {
		return false, fmt.Errorf("store the outcome of delivery %s: %w", d.ID, err)
	}
	if after.failingSince != nil && s.db.Now().Sub(*after.failingSince) >= disableAfter {
		return false, s.disable(ctx, w)
	}
	return after.proceed, nil
}

// updatePace stores when the target is due next, if this process still holds it.
func (s *Service) updatePace(ctx context.Context, tx *database.Tx, id string, after step) (mine bool, err error) {
	changed, err := tx.Exec(ctx, `
		UPDATE webhook
		SET retry_at = $3, failing_since = $4, delivered_at = COALESCE($5, delivered_at), lease_until = $6
		WHERE id = $1 AND lease_holder = $2`,
		id, s.holder, database.Micros(after.retryAt), database.OptionalMicros(after.failingSince),
		database.OptionalMicros(after.deliveredAt), database.Micros(tx.Now().Add(leaseTime)))
	return changed == 1, err
}

func updateTried(ctx context.Context, tx *database.Tx, id string, status Status, o outcome, now time.Time) error {
	var done *time.Time
	if status != Waiting {
		done = &now
	}
	_, err := tx.Exec(ctx, `
		UPDATE webhook_delivery
		SET status = $2, attempts = attempts + 1, http_status = $3, problem = $4, attempted_at = $5, done_at = $6
		WHERE id = $1 AND status = 'waiting'`,
		id, string(status), o.status, o.problem, database.Micros(now), database.OptionalMicros(done))
	return err
}

// killOld gives up the deliveries that have waited longer than deliveryLife behind one
// that got no answer: each would only fail in its turn.
func killOld(ctx context.Context, tx *database.Tx, webhookID string, now time.Time) error {
	_, err := tx.Exec(ctx, `
		UPDATE webhook_delivery
		SET status = 'dead', done_at = $2, problem = 'the target did not answer for a day'
		WHERE webhook_id = $1 AND status = 'waiting' AND queued_at <= $3`,
		webhookID, database.Micros(now), database.Micros(now.Add(-deliveryLife)))
	return err
}

const failedLong = "nothing arrived at the target for three days"

// disable stops sending to a target. The webhook, the audit log and a notification to
// its managers say so.
func (s *Service) disable(ctx context.Context, w *Webhook) error {
	return s.db.Write(ctx, database.Change{Logs: []string{audit.LogOf(w.OrgID)}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		now := tx.Now()
		changed, err := tx.Exec(ctx, `
			UPDATE webhook
			SET disabled_at = $3, disabled_reason = $4, disabled_told = 0
			WHERE id = $1 AND lease_holder = $2 AND disabled_at IS NULL`, w.ID, s.holder, database.Micros(now),
			failedLong)
		if err != nil || changed == 0 {
			return err
		}
		if err := killWaiting(ctx, tx, w.ID, now, "the webhook was disabled"); err != nil {
			return err
		}
		off := *w
		off.DisabledAt = &now
		return s.record(ctx, tx, principal.Operator(), disabled, &off, recorded{Reason: failedLong})
	}})
}

// DisabledKind is the kind of notification that a webhook was disabled.
const DisabledKind notice.Kind = "webhook.disabled"

// UnreportedDisabled are webhooks that were disabled and nobody was notified of.
func (s *Service) UnreportedDisabled(ctx context.Context, r database.Reader) ([]Webhook, error) {
	list, err := database.Collect(ctx, r, scanWebhook,
		`SELECT `+columns+` FROM webhook w WHERE w.disabled_told = 0 ORDER BY w.org_id LIMIT 100`)
	return list, database.Wrap(err, "find webhooks that were disabled")
}

// MarkReported marks a disabled webhook as reported, within the change that notifies
// people. It reports whether it was not marked before.
func (s *Service) MarkReported(ctx context.Context, tx *database.Tx, orgID, id string) (bool, error) {
	changed, err := tx.Exec(ctx,
		`UPDATE webhook SET disabled_told = 1 WHERE org_id = $1 AND id = $2 AND disabled_told = 0`, orgID, id)
	return changed == 1, err
}

// EndAll gives up all waiting deliveries, after a restore.
func EndAll(ctx context.Context, tx *database.Tx) error {
	_, err := tx.Exec(ctx, `
		UPDATE webhook_delivery
		SET status = 'dead', done_at = $1, problem = 'the server was restored from a backup'
		WHERE status = 'waiting'`, database.Micros(tx.Now()))
	if err == nil {
		_, err = tx.Exec(ctx, `UPDATE webhook SET lease_holder = '', lease_until = 0`)
	}
	return database.Wrap(err, "give up all deliveries to webhooks")
}

// EraseBodies erases the bodies of deliveries about some requests, whose payloads are
// being erased. Those that wait are given up.
func EraseBodies(ctx context.Context, tx *database.Tx, orgID string, requestIDs []string) error {
	for _, id := range requestIDs {
		_, err := tx.Exec(ctx, `
			UPDATE webhook_delivery
			SET body = '', problem = CASE WHEN status = 'waiting' THEN 'its content was erased' ELSE problem END,
				done_at = COALESCE(done_at, $3), status = CASE WHEN status = 'waiting' THEN 'dead' ELSE status END
			WHERE org_id = $1 AND request_id = $2`, orgID, id, database.Micros(tx.Now()))
		if err != nil {
			return fmt.Errorf("erase the deliveries about request %s: %w", id, err)
		}
	}
	return nil
}
