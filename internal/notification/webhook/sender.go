package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"writ/internal/database"
	"writ/internal/dispatch"
	"writ/internal/notification/notice"
	"writ/internal/outbound"
	"writ/internal/principal"
)

// How sending is paced.
const (
	atOnce    = 32               // targets that are sent to at a time
	ofOne     = 4                // of them of one organization, so that none takes all places
	perTurn   = 20               // deliveries to one target before others get their turn
	turnTime  = 20 * time.Second // after which no further one is begun
	leaseTime = time.Minute      // longer than one try may take
	tryTime   = 15 * time.Second // of one try, should the poster have no end of its own
	dueLimit  = 200              // targets looked at in one pass
	lookEvery = time.Second      // for what is due, on every replica
	lastWords = 3 * time.Second  // to give leases back at the end
)

// turns are handed out at webhooks.
func (s *Service) turns() *dispatch.Dispatcher[dispatch.Target] {
	return &dispatch.Dispatcher[dispatch.Target]{
		Every: lookEvery, Concurrent: atOnce, PerOrganization: ofOne, Due: s.due,
		Target: func(p dispatch.Target) dispatch.Target { return p },
		Turn:   func(ctx context.Context, p dispatch.Target) error { return s.turn(ctx, p.ID) },
	}
}

// Run sends what is due until ctx ends, and reports what goes wrong. A slow target
// takes one of the places and keeps nobody else waiting.
func (s *Service) Run(ctx context.Context, report func(error)) { s.sending.Run(ctx, report) }

// Deliver sends what is due now, in one pass, and returns when all of it was tried.
func (s *Service) Deliver(ctx context.Context) error { return s.sending.Pass(ctx) }

// due are the targets that may be sent to, those that wait longest first.
func (s *Service) due(ctx context.Context) ([]dispatch.Target, error) {
	places, err := database.Collect(ctx, s.db, func(r database.Scanner) (p dispatch.Target, err error) {
		err = r.Scan(&p.ID, &p.OrgID)
		return p, err
	}, `
		SELECT id, org_id
		FROM webhook
		WHERE disabled_at IS NULL AND retry_at <= $1 AND lease_until <= $1
			AND id IN (SELECT webhook_id FROM webhook_delivery WHERE status = 'waiting')
		ORDER BY retry_at, id
		LIMIT $2`, database.Micros(s.db.Now()), dueLimit)
	if err != nil {
		return nil, fmt.Errorf("look for webhooks that are due: %w", err)
	}
	return places, nil
}

// turn leases a target and sends to it, in order, until nothing waits, something
// fails, or others should have their turn.
func (s *Service) turn(ctx context.Context, id string) error {
	leased, err := s.lease(ctx, id)
	if err != nil || !leased {
		return err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
		defer cancel()
		_ = s.release(end, id) // else it ends by itself
	}()
	began := time.Now()
	for n := 0; n < perTurn && time.Since(began) < turnTime; n++ {
		waiting, err := s.first(ctx, id)
		if err != nil || waiting == nil {
			return err
		}
		came, err := s.try(ctx, waiting.webhook, waiting.delivery)
		if err != nil {
			return err
		}
		goOn, err := s.settle(ctx, waiting.webhook, waiting.delivery, came)
		if err != nil || !goOn {
			return err
		}
	}
	return nil
}

// outcome is what came of a try.
type outcome struct {
	status  int    // 0: no answer
	problem string // empty: it was taken
	// final says that trying for long is no use: the target answered, and refused.
	final bool
	// wait is how long the target asked to be left alone; 0: it did not.
	wait time.Duration
}

// try sends a delivery once. Its error is one of ours, which says nothing about
// the target; the end of ctx is one.
func (s *Service) try(ctx context.Context, w *Webhook, d *Delivery) (outcome, error) {
	target, key, err := s.open(w)
	if err != nil { // no other try would open it; a person can name them anew
		return outcome{problem: "its URL or secret cannot be read any more: set the URL and renew the secret"}, nil
	}
	timestamp, body := timestampOf(s.db.Now()), []byte(d.body)
	if !w.SendArguments {
		if body, err = withhold(w.Kind, body); err != nil {
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
		return outcome{}, ctx.Err() // we stop; the target may have it or not
	}
	if err != nil {
		return outcome{problem: publicReason(err)}, nil
	}
	o := judge(answer.Status)
	if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && seconds > 0 &&
		seconds <= int(longestPause.Seconds()) {
		o.wait = time.Duration(seconds) * time.Second
	}
	return o, nil
}

// judge says what an answer means. Redirects are not followed: a target that moved
// has to be named anew by a person.
func judge(status int) outcome {
	o := outcome{status: status}
	switch {
	case status >= 200 && status <= 299:
		return o
	case status >= 300 && status <= 399:
		o.problem, o.final = "the target redirects elsewhere, which is not followed", true
	case status == http.StatusTooManyRequests:
		o.problem = "the target asks to be sent less"
	case status == http.StatusRequestTimeout || status == http.StatusTooEarly:
		o.problem = "the target was not ready"
	case status >= 400 && status <= 499:
		o.problem, o.final = "the target refused the delivery", true
	default:
		o.problem = "the target failed"
	}
	return o
}

// publicReason is what people may know of a failure: its class, without addresses.
func publicReason(err error) string {
	if refusal, ok := errors.AsType[*outbound.Refusal](err); ok {
		return refusal.Reason
	}
	if failure, ok := errors.AsType[*outbound.Failure](err); ok {
		return failure.Reason
	}
	return "the target could not be called"
}

// Test sends a made-up delivery at once, whatever waits, and tells what came of it.
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
