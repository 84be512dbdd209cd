package replay

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/fault"
	"writ/internal/policy"
)

const (
	// slice is how many decisions are read at once: less than a millisecond of work, so
	// that a new decision does not wait longer. No transaction is open while they are
	// judged.
	slice = 16
	// A runner leases a replay and renews the lease.
	lease      = 30 * time.Second
	renewEvery = time.Second
	// longest is how long a replay may run: many times what a million decisions take,
	// so that a costly document does not keep a runner from others.
	longest = time.Hour
	// maxAttempts is how often an interrupted replay is started.
	maxAttempts = 3
	// giveBackTime is how long giveBack may take when the server stops.
	giveBackTime = 2 * time.Second
)

// restLonger rests twice as long as the work took, so that a replay uses at most a
// third of a processor.
func restLonger(ctx context.Context, worked time.Duration) {
	timer := time.NewTimer(2 * worked)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// errLost: the replay was cancelled, or another runner took it over.
var errLost = errors.New("the replay is not this server's any more")

// Work runs waiting replays, one after the other, until none waits. Any number of
// servers may call it at once.
func (s *Service) Work(ctx context.Context) error {
	for ctx.Err() == nil {
		job, ok, err := s.claim(ctx)
		if err != nil || !ok {
			return err
		}
		if job.State == Broken {
			continue // it was started too often
		}
		err = s.run(ctx, &job)
		switch {
		case errors.Is(err, errLost):
		case err != nil && (ctx.Err() != nil || fault.Is(err, fault.Unavailable)):
			return errors.Join(err, s.giveBack(ctx, job))
		case err != nil:
			if err := s.finish(ctx, job, Broken, problemOf(err)); err != nil && !errors.Is(err, errLost) {
				return err
			}
		}
	}
	return nil
}

// problemOf is the reason that people see for a replay that cannot run.
func problemOf(err error) string {
	if broken, ok := errors.AsType[*policy.BrokenError](err); ok {
		if broken.PolicyID == "" {
			return broken.Error()
		}
		return fmt.Sprintf("version %d of policy %s cannot be used", broken.Version, broken.PolicyID)
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f.Message
	}
	return "the records could not be read; start it again"
}

// claim leases the replay that has waited longest, or one whose lease has run out.
func (s *Service) claim(ctx context.Context) (job Job, ok bool, err error) {
	var due struct{ id, orgID string }
	err = s.db.QueryRow(ctx, selectDue, database.Micros(s.db.Now())).Scan(&due.id, &due.orgID)
	if errors.Is(err, sql.ErrNoRows) {
		return Job{}, false, nil
	}
	if err != nil {
		return Job{}, false, fmt.Errorf("find a replay to run: %w", err)
	}
	runner := database.NewID()
	err = s.db.Write(ctx, database.Change{Logs: []string{lockOf(due.orgID)}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		ok = false
		now := tx.Now()
		taken, err := tx.Exec(ctx, `
			UPDATE policy_replay
			SET state = 'running', runner = $3, attempts = attempts + 1, lease_until = $4, done = 0, total = 0
			WHERE org_id = $1 AND id = $2 AND state IN ('waiting', 'running') AND lease_until < $5`,
			due.orgID, due.id, runner, database.Micros(now.Add(lease)), database.Micros(now))
		if err != nil || taken == 0 {
			return err
		}
		if job, err = find(ctx, tx, due.orgID, due.id); err != nil {
			return err
		}
		ok = true
		if job.attempts <= maxAttempts {
			return nil
		}
		job.State, job.EndedAt, job.Problem = Broken, &now,
			fmt.Sprintf("it was started %d times and never ended", maxAttempts)
		return end(ctx, tx, job)
	}})
	return job, ok, err
}

const selectDue = `
	SELECT id, org_id
	FROM policy_replay
	WHERE state IN ('waiting', 'running') AND lease_until < $1
	ORDER BY created_at, id
	LIMIT 1`

// run replays the log from the beginning of the period to its present end.
func (s *Service) run(ctx context.Context, job *Job) error {
	alternative, err := s.policies.Alternative(ctx, job.OrgID, job.subject(), job.Without...)
	if err != nil {
		return err
	}
	head, err := audit.ReadHead(ctx, s.db, audit.LogOf(job.OrgID))
	if err != nil {
		return err
	}
	since := job.From.Add(-alternative.LongestLimit)
	first, ok, err := audit.FirstSince(ctx, s.db, audit.LogOf(job.OrgID), database.Micros(since))
	if err != nil {
		return err
	}
	if !ok {
		first = head.Size
	}
	if first == 0 {
		since = time.Unix(0, 0) // the log has no earlier calls
	}
	job.Total = head.Size - first
	replay := newReplay(alternative.Today, alternative.Drafted, since, job.From)
	if err := s.follow(ctx, job, replay, first, head.Size); err != nil {
		return err
	}
	now, err := audit.ReadHead(ctx, s.db, audit.LogOf(job.OrgID))
	if err != nil {
		return err
	}
	if now.Epoch != head.Epoch {
		return fault.New(fault.Conflict, "the database was restored during the replay: start it again")
	}
	report := replay.tally.report()
	job.Report, job.Done = &report, job.Total
	return s.finish(ctx, *job, Done, "")
}

// follow replays the decisions from one index of the log to another, with rests in
// between.
func (s *Service) follow(ctx context.Context, job *Job, replay *replay, first, until int64) error {
	recall := NewRecall(s.sources, job.OrgID)
	last := heartbeat{begun: time.Now(), renewed: time.Now()}
	for next := first; next < until; {
		began := time.Now()
		records, err := decision.Read(ctx, s.db, job.OrgID, next, slice)
		if err != nil {
			return err
		}
		if len(records) == 0 {
			return nil
		}
		for i := range records {
			r := &records[i]
			if r.Index >= until || r.At.After(job.Until) {
				return nil // made since the replay was started
			}
			call, known, err := recall.Call(ctx, *r)
			if err != nil {
				return err
			}
			replay.add(r, &call, known)
			next = r.Index + 1
			job.Done = next - first
			if err := s.beat(ctx, *job, &last); err != nil {
				return err
			}
		}
		replay.today.counters.forget(records[len(records)-1].At)
		replay.drafted.counters.forget(records[len(records)-1].At)
		s.rest(ctx, time.Since(began))
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// heartbeat is when a replay was started, and when its lease was last renewed.
type heartbeat struct{ begun, renewed time.Time }

// beat runs after each decision, because one may take seconds. It fails if the replay
// was cancelled, the server stops, or the replay takes too long.
func (s *Service) beat(ctx context.Context, job Job, last *heartbeat) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if time.Since(last.renewed) < s.renewEvery {
		return nil
	}
	if time.Since(last.begun) > s.longest {
		return fault.New(fault.Conflict,
			"it took longer than %s: replay fewer days, or a document with simpler conditions", s.longest)
	}
	last.renewed = time.Now()
	return s.renew(ctx, job)
}

// renew stores the progress of a replay and renews its lease.
func (s *Service) renew(ctx context.Context, job Job) error {
	return s.hold(ctx, job, func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `
			UPDATE policy_replay
			SET done = $3, total = $4, lease_until = $5
			WHERE org_id = $1 AND id = $2`, job.OrgID, job.ID, job.Done, job.Total,
			database.Micros(tx.Now().Add(lease)))
		return err
	})
}

// finish stores the result of a replay, unless it was cancelled.
func (s *Service) finish(ctx context.Context, job Job, state State, problem string) error {
	return s.hold(ctx, job, func(ctx context.Context, tx *database.Tx) error {
		now := tx.Now()
		job.State, job.Problem, job.EndedAt = state, problem, &now
		return end(ctx, tx, job)
	})
}

// giveBack lets another server start the replay at once. This attempt does not count.
func (s *Service) giveBack(ctx context.Context, job Job) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTime)
	defer cancel()
	err := s.hold(ctx, job, func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `
			UPDATE policy_replay
			SET state = 'waiting', runner = '', attempts = attempts - 1, lease_until = 0
			WHERE org_id = $1 AND id = $2`, job.OrgID, job.ID)
		return err
	})
	if errors.Is(err, errLost) {
		return nil
	}
	return err
}

// hold changes a replay, if this runner still holds its lease.
func (s *Service) hold(ctx context.Context, job Job, do func(ctx context.Context, tx *database.Tx) error) error {
	return s.db.Write(ctx, database.Change{Logs: []string{lockOf(job.OrgID)}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		var n int
		err := tx.QueryRow(ctx, `
			SELECT COUNT(*)
			FROM policy_replay
			WHERE org_id = $1 AND id = $2 AND state = 'running' AND runner = $3`, job.OrgID, job.ID,
			job.runner).Scan(&n)
		if err != nil {
			return fmt.Errorf("check the lease of replay %s: %w", job.ID, err)
		}
		if n == 0 {
			return errLost
		}
		return do(ctx, tx)
	}})
}
