package forwarding

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"writ/internal/database"
)

// How long a failing receiver is left alone.
const (
	firstPause = 2 * time.Second
	maxPause   = 5 * time.Minute
)

// pause is how long to wait after so many failed attempts: twice as long each time, give or take a fifth, so that
// organizations whose receiver failed together do not come back together.
func pause(attempts int64, random float64) time.Duration {
	wait := firstPause
	for i := int64(1); i < attempts && wait < maxPause; i++ {
		wait *= 2
	}
	wait = min(wait, maxPause)
	return wait + time.Duration((random-0.5)*0.4*float64(wait))
}

// isDue is the SQL condition under which an organization may be sent for. Its three parameters, numbered from first,
// are dueArgs. A time further ahead than we ever set was written before the clock was set back: waiting for it could
// take days.
func isDue(first int) string {
	return fmt.Sprintf(`(f.retry_at <= $%[1]d OR f.retry_at > $%[2]d) AND (f.lease_until <= $%[1]d OR f.lease_until > $%[3]d)`, first, first+1, first+2)
}

func dueArgs(now time.Time) []any {
	return []any{
		database.Micros(now), database.Micros(now.Add(maxClockSkew + maxWait)),
		database.Micros(now.Add(maxClockSkew + leaseTime)),
	}
}

// maxClockSkew is how far replicas' clocks may differ.
const maxClockSkew = time.Minute

// lease takes an organization for this process, unless another process has it.
func (s *Service) lease(ctx context.Context, orgID string) (taken bool, err error) {
	return s.update(ctx, "lease the forwarding", `
		UPDATE forwarding AS f
		SET lease_holder = $2, lease_until = $3
		WHERE org_id = $1 AND enabled = 1 AND `+isDue(4), func(now time.Time) []any {
		return append([]any{orgID, s.holder, database.Micros(now.Add(leaseTime))}, dueArgs(now)...)
	})
}

// renew extends a lease while nothing is stored yet, and reports whether this process still has it.
func (s *Service) renew(ctx context.Context, orgID string) (held bool, err error) {
	return s.update(ctx, "renew the lease of the forwarding",
		`UPDATE forwarding SET lease_until = $3 WHERE org_id = $1 AND lease_holder = $2`, func(now time.Time) []any {
			return []any{orgID, s.holder, database.Micros(now.Add(leaseTime))}
		})
}

func (s *Service) release(ctx context.Context, orgID string) {
	_, _ = s.update(ctx, "release the forwarding", // else the lease expires by itself
		`UPDATE forwarding SET lease_holder = '', lease_until = 0 WHERE org_id = $1 AND lease_holder = $2`,
		func(time.Time) []any { return []any{orgID, s.holder} })
}

// update runs a statement in a change of its own, and reports whether it changed a row.
func (s *Service) update(
	ctx context.Context, purpose, statement string, args func(now time.Time) []any,
) (changed bool, err error) {
	err = s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		rows, err := tx.Exec(ctx, statement, args(tx.Now())...)
		changed = rows == 1
		return err
	}})
	if err != nil {
		return false, fmt.Errorf("%s: %w", purpose, err)
	}
	return changed, nil
}

// nextState is the state after an attempt, and whether more may be sent at once. It is pure; random is from 0 to 1.
func nextState(before State, b *batch, result outcome, now time.Time, random float64) (state State, more bool) {
	state = before
	spans := int64(b.request.Len())
	if spans > 0 {
		state.HTTPStatus, state.Problem = result.status, result.problem
	}
	if result.problem == "" {
		state.count(b, spans-min(result.rejected, spans), min(result.rejected, spans))
		state.RetryAt = now // behind those that have waited longer
		if spans > 0 {
			state.Attempts, state.FailingSince, state.SentAt = 0, nil, &now
		}
		return state, true
	}
	if result.refused {
		state.count(b, 0, spans) // the request held one span, so this is the refused one
	}
	state.Attempts++
	if state.FailingSince == nil {
		state.FailingSince = &now
	}
	state.RetryAt = now.Add(max(result.wait, pause(state.Attempts, random)))
	return state, false
}

// count moves the position past a batch.
func (s *State) count(b *batch, sent, refused int64) {
	s.Position = b.next
	s.Refused += refused
	if b.decisions {
		s.SentDecisions += sent
		s.LostDecisions += b.lost
	} else {
		s.SentSpans += sent
		s.LostTraces += b.lost
	}
	if b.lost > 0 && (s.LostUntil == nil || s.LostUntil.Before(b.lostUntil)) {
		s.LostUntil = &b.lostUntil
	}
}

// settle stores the outcome of an attempt, and reports whether more may be sent at once. If the lease was lost or the
// settings changed in the meantime, it stores nothing, and the next sender sends the same again.
func (s *Service) settle(ctx context.Context, f *Forwarding, b *batch, result outcome) (more bool, err error) {
	random := rand.Float64()
	changed, err := s.update(ctx, "store the outcome", `
		UPDATE forwarding
		SET trace_position = $4, trace_row = $5, trace_span = $6, decision_position = $7,
			sent_spans = $8, sent_decisions = $9, refused = $10, lost_traces = $11, lost_decisions = $12, lost_until = $13,
			attempts = $14, failing_since = $15, http_status = $16, problem = $17, sent_at = $18, retry_at = $19, lease_until = $20
		WHERE org_id = $1 AND lease_holder = $2 AND revision = $3`, func(now time.Time) []any {
		var state State
		state, more = nextState(f.State, b, result, now, random)
		return []any{
			f.OrgID, s.holder, f.revision, database.Micros(state.Trace.At), state.Trace.Row, state.Span, state.Decision,
			state.SentSpans, state.SentDecisions, state.Refused, state.LostTraces, state.LostDecisions,
			database.OptionalMicros(state.LostUntil),
			state.Attempts, database.OptionalMicros(state.FailingSince), state.HTTPStatus, state.Problem,
			database.OptionalMicros(state.SentAt),
			database.Micros(state.RetryAt), database.Micros(now.Add(leaseTime)),
		}
	})
	return more && changed, err
}
