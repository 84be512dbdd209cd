package webhook

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"writ/internal/database"
	"writ/internal/dispatch"
	"writ/internal/notification/notice"
	"writ/internal/outbound"
	"writ/internal/principal"
)

// Pace of sending.
const (
	atOnce    = 32               // targets at a time
	ofOne     = 4                // targets of one organization at a time
	perTurn   = 20               // deliveries to a target in one turn
	turnTime  = 20 * time.Second // after which a turn begins no further delivery
	leaseTime = time.Minute      // longer than one try may take
	tryTime   = 15 * time.Second // of one try, if the poster sets no limit
	dueLimit  = 200              // targets of one pass
	passEvery = time.Second      // between two passes
	endTime   = 3 * time.Second  // to release a lease on shutdown
)

func (s *Service) newDispatcher() *dispatch.Dispatcher[dispatch.Target] {
	return &dispatch.Dispatcher[dispatch.Target]{
		Every:           passEvery,
		Concurrent:      atOnce,
		PerOrganization: ofOne,
		Due:             s.due,
		Target:          func(p dispatch.Target) dispatch.Target { return p },
		Turn:            func(ctx context.Context, p dispatch.Target) error { return s.turn(ctx, p.ID) },
	}
}

// Run sends due deliveries until ctx ends, and reports errors. A slow target does not
// delay others.
func (s *Service) Run(ctx context.Context, report func(error)) { s.sending.Run(ctx, report) }

// Deliver tries everything that is due now, in one pass.
func (s *Service) Deliver(ctx context.Context) error { return s.sending.Pass(ctx) }

// due are the targets that may be sent to, those that wait longest first.
func (s *Service) due(ctx context.Context) ([]dispatch.Target, error) {
	targets, err := database.Collect(ctx, s.db, func(r database.Scanner) (p dispatch.Target, err error) {
		err = r.Scan(&p.ID, &p.OrgID)
		return p, err
	}, `
		SELECT id, org_id
		FROM webhook
		WHERE disabled_at IS NULL AND retry_at <= $1 AND lease_until <= $1
			AND id IN (SELECT webhook_id FROM webhook_delivery WHERE status = 'waiting')
		ORDER BY retry_at, id
		LIMIT $2`, database.Micros(s.db.Now()), dueLimit)
	return targets, database.Wrap(err, "find webhooks that are due")
}

// turn leases a target and sends to it, in order, until nothing waits, a try fails, or
// the turn is over.
func (s *Service) turn(ctx context.Context, id string) error {
	leased, err := s.lease(ctx, id)
	if err != nil || !leased {
		return err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
		defer cancel()
		_ = s.release(end, id) // after an error the lease runs out
	}()
	began := time.Now()
	for n := 0; n < perTurn && time.Since(began) < turnTime; n++ {
		w, d, err := s.nextDelivery(ctx, id)
		if err != nil || d.ID == "" {
			return err
		}
		result, err := s.try(ctx, &w, &d)
		if err != nil {
			return err
		}
		proceed, err := s.settle(ctx, &w, &d, result)
		if err != nil || !proceed {
			return err
		}
	}
	return nil
}

// outcome is the result of a try.
type outcome struct {
	status  int           // HTTP status; 0: no answer
	problem string        // empty: it was delivered
	final   bool          // the target refused it, so that only a few more tries make sense
	wait    time.Duration // how long the target asked us to wait; 0: it did not
}

// try sends a delivery once. An error is our own, such as the end of ctx, and says
// nothing about the target.
func (s *Service) try(ctx context.Context, w *Webhook, d *Delivery) (outcome, error) {
	target, key, err := s.open(w)
	if err != nil { // a person can set them again
		return outcome{problem: "its URL or secret cannot be read any more: set the URL and renew the secret"}, nil
	}
	timestamp, body := timestampOf(s.db.Now()), []byte(d.body)
	if !w.SendArguments {
		if body, err = stripArguments(w.Kind, body); err != nil {
			return outcome{problem: "its content cannot be read any more", final: true}, nil
		}
	}
	within, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	answer, err := s.poster.Post(within, outbound.Request{URL: target, Body: body, Header: http.Header{
		"Content-Type":  {"application/json"},
		HeaderTimestamp: {timestamp},
		HeaderSignature: {Sign(key, timestamp, body)},
		HeaderDelivery:  {d.ID},
		HeaderEvent:     {string(d.Kind)},
	}})
	if err != nil && ctx.Err() != nil {
		return outcome{}, ctx.Err() // we are stopping; the target may have received it
	}
	if err != nil {
		return outcome{problem: publicReason(err)}, nil
	}
	o := classify(answer.Status)
	if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && seconds > 0 &&
		seconds <= int(longestPause.Seconds()) {
		o.wait = time.Duration(seconds) * time.Second
	}
	return o, nil
}

// classify says what a status means. Redirects are not followed: a person has to
// change the URL of a target that moved.
func classify(status int) outcome {
	o := outcome{status: status}
	switch {
	case status >= 200 && status <= 299:
		return o
	case status >= 300 && status <= 399:
		o.problem, o.final = "the target redirects, and redirects are not followed", true
	case status == http.StatusTooManyRequests:
		o.problem = "the target asks for fewer requests"
	case status == http.StatusRequestTimeout || status == http.StatusTooEarly:
		o.problem = "the target was not ready"
	case status >= 400 && status <= 499:
		o.problem, o.final = "the target refused the delivery", true
	default:
		o.problem = "the target failed"
	}
	return o
}

// publicReason is the part of a failure that people may see, without addresses.
func publicReason(err error) string {
	if refusal, ok := errors.AsType[*outbound.Refusal](err); ok {
		return refusal.Reason
	}
	if failure, ok := errors.AsType[*outbound.Failure](err); ok {
		return failure.Reason
	}
	return "the target could not be called"
}

// Test sends a test delivery at once, ahead of waiting ones, and gives its result.
func (s *Service) Test(ctx context.Context, p principal.Principal, id string) (Delivery, error) {
	w, err := s.Get(ctx, p, id)
	if err != nil {
		return Delivery{}, err
	}
	now := s.db.Now()
	d := Delivery{
		ID:          database.NewID(),
		WebhookID:   w.ID,
		Kind:        testKind,
		Attempts:    1,
		AttemptedAt: &now,
		DoneAt:      &now,
	}
	body, err := render(&w, d.ID, notice.Event{OrgID: w.OrgID, Kind: testKind, At: now}, s.publicURL)
	if err != nil {
		return Delivery{}, err
	}
	d.body = string(body)
	result, err := s.try(ctx, &w, &d)
	if err != nil {
		return Delivery{}, err
	}
	d.HTTPStatus, d.Problem, d.Status = result.status, result.problem, Delivered
	if result.problem != "" {
		d.Status = Dead
	}
	var stored []Delivery
	err = s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		stored = []Delivery{d}
		return insertDeliveries(ctx, tx, w.OrgID, w.ID, stored)
	}})
	if err != nil {
		return Delivery{}, err
	}
	return stored[0], nil
}
