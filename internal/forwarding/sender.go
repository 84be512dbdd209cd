package forwarding

import (
	"context"
	"fmt"
	"time"

	"writ/internal/database"
	"writ/internal/dispatch"
	"writ/internal/fault"
)

// How sending is paced.
const (
	atOnce      = 16               // organizations at a time
	perTurn     = 200              // requests for one organization before it is another's turn
	turnTime    = 20 * time.Second // after which a turn starts no further request
	leaseTime   = time.Minute      // longer than one attempt may take
	dueLimit    = 1_000            // organizations per poll
	pollEvery   = 2 * time.Second  // on every replica
	releaseTime = 3 * time.Second  // to release a lease at shutdown
)

// dispatcher gives each organization turns: each has one collector.
func (s *Service) dispatcher() *dispatch.Dispatcher[Forwarding] {
	return &dispatch.Dispatcher[Forwarding]{
		Every: pollEvery, Concurrent: atOnce, PerOrganization: 1, Due: s.due,
		Target: func(f Forwarding) dispatch.Target { return dispatch.Target{ID: f.OrgID, OrgID: f.OrgID} },
		Turn: func(ctx context.Context, f Forwarding) error {
			if err := s.turn(ctx, &f); err != nil {
				return fmt.Errorf("forward for %s: %w", f.OrgID, err)
			}
			return nil
		},
	}
}

// Run sends what waits until ctx ends, and reports what goes wrong on our side. A slow receiver delays nobody else.
func (s *Service) Run(ctx context.Context, report func(error)) { s.sending.Run(ctx, report) }

// Send sends what waits now, in one pass, and returns when everything was tried once.
func (s *Service) Send(ctx context.Context) error { return s.sending.Pass(ctx) }

// due lists the organizations that may be sent for, the longest waiting first.
func (s *Service) due(ctx context.Context) ([]Forwarding, error) {
	due, err := database.Collect(ctx, s.db, scanForwarding, selectColumns+`
		WHERE f.enabled = 1 AND `+isDue(1)+`
		ORDER BY f.retry_at, f.org_id
		LIMIT $4`, append(dueArgs(s.db.Now()), dueLimit)...)
	if err != nil {
		return nil, fmt.Errorf("list whom to forward for: %w", err)
	}
	return due, nil
}

// turn leases an organization that has work, and sends for it in order until nothing waits, something fails, or the
// turn is over.
func (s *Service) turn(ctx context.Context, f *Forwarding) error {
	waits, err := s.hasWork(ctx, f)
	if err != nil || !waits {
		return err
	}
	leased, err := s.lease(ctx, f.OrgID)
	if err != nil || !leased {
		return err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
		defer cancel()
		s.release(end, f.OrgID)
	}()
	began, pace := time.Now(), newPace()
	for n := 0; n < perTurn && time.Since(began) < turnTime; n++ {
		more, err := s.step(ctx, f.OrgID, &pace)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// hasWork needs no lease: most of the time there is nothing to do, and that should write nothing.
func (s *Service) hasWork(ctx context.Context, f *Forwarding) (bool, error) {
	for _, decisions := range []bool{true, false} {
		b, err := s.nextBatch(ctx, f, decisions, 1)
		if err != nil || !b.isEmpty(f) {
			return err == nil, err
		}
	}
	return false, nil
}

// nextBatch is what is sent next of one kind. It is empty if that kind is not sent.
func (s *Service) nextBatch(ctx context.Context, f *Forwarding, decisions bool, limit int) (*batch, error) {
	switch {
	case decisions && f.Decisions:
		return s.nextDecisions(ctx, f, limit)
	case !decisions && f.Traces:
		return s.nextTraces(ctx, f, limit)
	}
	return &batch{decisions: decisions, next: f.Position}, nil
}

// pace alternates between the two kinds, with as many spans in a request as the receiver accepts.
type pace struct {
	decisions bool // come next
	idle      bool // the other kind had nothing
	limit     int
}

func newPace() pace { return pace{decisions: true, limit: maxSpans} }

// step sends one request, and reports whether another may follow.
func (s *Service) step(ctx context.Context, orgID string, at *pace) (more bool, err error) {
	f, err := selectForwarding(ctx, s.db, orgID)
	if fault.Is(err, fault.NotFound) || err == nil && !f.Enabled {
		return false, nil // deleted, closed or disabled in the meantime
	}
	if err != nil {
		return false, err
	}
	b, err := s.nextBatch(ctx, &f, at.decisions, at.limit)
	if err != nil {
		return false, err
	}
	if b.isEmpty(&f) {
		done := at.idle
		at.decisions, at.idle = !at.decisions, true
		return !done, nil
	}
	at.idle = false
	var result outcome
	if b.request.Len() > 0 {
		if result, err = s.try(ctx, &f, &b.request); err != nil {
			return false, err
		}
	}
	if result.refused && b.request.Len() > 1 {
		at.limit = b.request.Len() / 2 // to find the span that is refused
		return s.renew(ctx, orgID)
	}
	if result.problem == "" {
		at.limit = min(2*at.limit, maxSpans)
		at.decisions = !at.decisions
	}
	return s.settle(ctx, &f, b, result)
}
