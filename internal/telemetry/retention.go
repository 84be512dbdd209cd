package telemetry

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"writ/internal/database"
)

const (
	retentionJob  = "retention"
	retentionHour = 3 // UTC
	retryAfter    = 10 * time.Minute
	// deleteRows is how many rows one change removes, so that ingest does not wait for long.
	deleteRows = 500
	// vacuumPages is how much space one change frees, on SQLite.
	vacuumPages = 200
	// keepMinutes is how many minutes are kept; the rate needs one hour.
	keepMinutes = 24 * 60
)

// Removed says what retention removed, or would remove.
type Removed struct {
	Before   time.Time // everything received (or last active) before
	Traces   int64
	Sessions int64
}

// RunRetention removes what is due: daily at 03:00 UTC, and at once if that was missed. Only one replica does it. What
// fails or is interrupted is tried again soon.
func (s *Service) RunRetention(ctx context.Context) error {
	due, err := s.claimJob(ctx, retentionJob)
	if err != nil || !due {
		return err
	}
	removed, err := s.Retain(ctx, false)
	if err != nil {
		return errors.Join(err, s.postponeJob(context.WithoutCancel(ctx), retentionJob))
	}
	s.logger.InfoContext(ctx, "retention done", "before", removed.Before, "traces", removed.Traces, "sessions",
		removed.Sessions)
	return nil
}

// claimJob sets a job's next run, and reports whether this call did so.
func (s *Service) claimJob(ctx context.Context, name string) (due bool, err error) {
	err = s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		now := database.Micros(tx.Now())
		next := database.Micros(nextRun(tx.Now()))
		if _, err := tx.Exec(ctx, `INSERT INTO job (name, next_run) VALUES ($1, $2) ON CONFLICT DO NOTHING`, name,
			next); err != nil {
			return err
		}
		claimed, err := tx.Exec(ctx, `UPDATE job SET next_run = $2, last_run = $3 WHERE name = $1 AND next_run <= $3`,
			name, next, now)
		due = claimed == 1
		return err
	}})
	if err != nil {
		return false, fmt.Errorf("claim job %s: %w", name, err)
	}
	return due, nil
}

// postponeJob makes a failed job run again after retryAfter.
func (s *Service) postponeJob(ctx context.Context, name string) error {
	err := s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE job SET next_run = $2 WHERE name = $1`, name,
			database.Micros(tx.Now().Add(retryAfter)))
		return err
	}})
	if err != nil {
		return fmt.Errorf("postpone job %s: %w", name, err)
	}
	return nil
}

func nextRun(now time.Time) time.Time {
	next := time.Date(now.Year(), now.Month(), now.Day(), retentionHour, 0, 0, 0, time.UTC)
	if !next.After(now) {
		next = next.AddDate(0, 0, 1)
	}
	return next
}

// Retain removes traces received before the first kept day (00:00 UTC), sessions last active before it, and the totals
// of those hours. A dry run only counts.
func (s *Service) Retain(ctx context.Context, dryRun bool) (Removed, error) {
	day := s.firstKeptDay()
	removed := Removed{Before: database.Time(day * dayMicros)}
	const traces = `SELECT count(*) FROM trace_key WHERE received_day < $1`
	if err := s.db.QueryRow(ctx, traces, day).Scan(&removed.Traces); err != nil {
		return Removed{}, fmt.Errorf("count old traces: %w", err)
	}
	const sessions = `SELECT count(*) FROM session WHERE last_activity_at < $1`
	if err := s.db.QueryRow(ctx, sessions, day*dayMicros).Scan(&removed.Sessions); err != nil {
		return Removed{}, fmt.Errorf("count old sessions: %w", err)
	}
	if dryRun {
		return removed, nil
	}
	// Months come last, so that one that cannot be closed keeps nothing that is too old.
	for _, step := range []func(context.Context, int64) error{
		s.removeTraces, s.removeRollups, s.removeSessions, s.freeSpace, s.closeMonths,
	} {
		if err := step(ctx, day); err != nil {
			return Removed{}, fmt.Errorf("retention: %w", err)
		}
	}
	return removed, nil
}

func (s *Service) removeTraces(ctx context.Context, day int64) error {
	if err := s.forgetQueued(ctx, day); err != nil {
		return err
	}
	remove := s.deleteTraces
	if s.db.Engine() == database.PostgreSQL {
		remove = s.dropPartitions
	}
	if err := remove(ctx, day); err != nil {
		return fmt.Errorf("remove traces: %w", err)
	}
	if err := s.forgetSegments(ctx, day); err != nil {
		return err
	}
	if err := s.deleteSlices(ctx, "trace_growth", "org_id, at, trace_pk", "received_day < $1", day); err != nil {
		return err
	}
	return s.deleteSlices(ctx, "trace_key", "org_id, id", "received_day < $1", day)
}

// deleteTraces removes old traces with their spans, a few at a time. Row keys rise with the time of receipt.
func (s *Service) deleteTraces(ctx context.Context, day int64) error {
	before := (day * dayMicros) << tagBits
	for more := true; more; {
		err := s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
			keys, err := oldTraces(ctx, tx, before)
			if more = len(keys) > 0; err != nil || !more {
				return err
			}
			if long, err := deleteSomeSpans(ctx, tx, keys[0]); err != nil || long {
				return err // the rest of it is next
			}
			if err := forgetWords(ctx, tx, keys); err != nil {
				return err
			}
			list := marks(1, len(keys))
			if _, err := tx.Exec(ctx, `DELETE FROM span WHERE trace_pk IN (`+list+`)`, keys...); err != nil {
				return err
			}
			_, err = tx.Exec(ctx, `DELETE FROM trace WHERE pk IN (`+list+`)`, keys...)
			return err
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

// deleteSomeSpans removes some spans of a trace, and reports whether there may be more: a trace that grew may have too
// many for one change.
func deleteSomeSpans(ctx context.Context, tx *database.Tx, trace any) (isLong bool, err error) {
	removed, err := tx.Exec(ctx, `
		DELETE FROM span
		WHERE (trace_pk, seq) IN (SELECT trace_pk, seq FROM span WHERE trace_pk = $1 ORDER BY seq LIMIT $2)`, trace,
		deleteRows)
	return removed == deleteRows, err
}

// oldTraces are the oldest traces that together have few enough rows for one change.
func oldTraces(ctx context.Context, tx *database.Tx, before int64) (keys []any, err error) {
	rows := int64(0)
	err = each(ctx, tx, func(row database.Scanner) error {
		var pk, spans int64
		err := row.Scan(&pk, &spans)
		if rows += spans + 1; rows <= deleteRows || len(keys) == 0 {
			keys = append(keys, pk)
		}
		return err
	}, `SELECT pk, span_count FROM trace WHERE pk < $1 ORDER BY pk LIMIT 100`, before)
	return keys, err
}

func (s *Service) dropPartitions(ctx context.Context, day int64) error {
	for _, table := range partitioned {
		names, err := database.Collect(ctx, s.db, scanText, `
			SELECT c.relname FROM pg_inherits i
			JOIN pg_class c ON c.oid = i.inhrelid
			JOIN pg_class p ON p.oid = i.inhparent
			JOIN pg_namespace n ON n.oid = p.relnamespace
			WHERE p.relname = $1 AND n.nspname = current_schema()
			ORDER BY c.relname`, table)
		if err != nil {
			return err
		}
		for _, name := range names {
			of, err := strconv.ParseInt(strings.TrimPrefix(name, table+"_day_"), 10, 64)
			if err != nil || of >= day {
				continue // kept, or not a partition of ours
			}
			err = s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
				if err := yieldToReaders(ctx, tx); err != nil {
					return err
				}
				_, err := tx.Exec(ctx, `DROP TABLE IF EXISTS `+partitionName(table, of))
				return err
			}})
			if err != nil {
				return fmt.Errorf("drop %s: %w", name, err)
			}
		}
	}
	return nil
}

func (s *Service) firstKeptMinute() int64 {
	return floor(database.Micros(s.db.Now()), minuteMicros) - keepMinutes
}

func (s *Service) removeRollups(ctx context.Context, day int64) error {
	hour := day * 24
	for _, r := range rollups {
		if r.lasts {
			continue
		}
		before := hour
		if r.perHour > 1 {
			before = s.firstKeptMinute()
		}
		if err := s.deleteSlices(ctx, r.table, r.rowKey(), "bucket < $1", before); err != nil {
			return err
		}
	}
	return s.deleteSlices(ctx, "reported_usage", "org_id, session_id, model, product", "bucket < $1", hour)
}

// removeSessions removes sessions last active before the first kept day, and the list of their models.
func (s *Service) removeSessions(ctx context.Context, day int64) error {
	if err := s.deleteSlices(ctx, "session", "org_id, id", "last_activity_at < $1", day*dayMicros); err != nil {
		return err
	}
	return s.deleteSlices(ctx, "session_model", "org_id, session_id, model",
		"$1 = 0 AND NOT EXISTS (SELECT 1 FROM session s WHERE s.org_id = session_model.org_id AND s.id = session_model.session_id)", 0)
}

// deleteSlices deletes the rows of a table that meet a condition on $1, some at a time.
func (s *Service) deleteSlices(ctx context.Context, table, key, condition string, value int64) error {
	statement := fmt.Sprintf(`DELETE FROM %[1]s WHERE (%[2]s) IN (SELECT %[2]s FROM %[1]s WHERE %[3]s LIMIT %[4]d)`,
		table, key, condition, deleteRows)
	for removed := int64(1); removed > 0; {
		err := s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) (err error) {
			removed, err = tx.Exec(ctx, statement, value)
			return err
		}})
		if err != nil {
			return fmt.Errorf("delete from %s: %w", table, err)
		}
	}
	return nil
}

// freeSpace returns free pages to the system on SQLite, which would keep them. It works in steps, because a whole
// vacuum stops the writer.
func (s *Service) freeSpace(ctx context.Context, _ int64) error {
	if s.db.Engine() != database.SQLite {
		return nil
	}
	for free := int64(1); free > 0; {
		before := free
		err := s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
			if _, err := tx.Exec(ctx, fmt.Sprintf(`PRAGMA incremental_vacuum(%d)`, vacuumPages)); err != nil {
				return err
			}
			return tx.QueryRow(ctx, `PRAGMA freelist_count`).Scan(&free)
		}})
		if err != nil {
			return fmt.Errorf("free space: %w", err)
		}
		if before > 1 && free >= before {
			return nil // nothing more to free
		}
	}
	return nil
}
