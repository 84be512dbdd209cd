package audit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"writ/internal/audit/ledger"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// Erasing removes a payload and its salt and leaves record and leaf: every proof holds,
// and nobody can test a guess of the payload. Each erasure is itself an entry, whose
// record names the entries that lost their payloads: one that is gone without that was
// taken by somebody else.

// aboutTheLog are the entries about the log itself, whose payload is never erased.
const aboutTheLog = `('` + ledger.Restored + `', '` + ledger.Erased + `', '` + ledger.Retired + `', '` +
	ledger.Anchored + `')`

// Eraser erases what other tables copy of payloads, in the transaction that erases
// them.
type Eraser func(ctx context.Context, tx *database.Tx, log string, positions []int64) error

// erasePayload erases a payload and its copies.
func (l *Log) erasePayload(ctx context.Context, tx *database.Tx, log string, index int64, copies Eraser) error {
	_, err := tx.Exec(ctx, `
		UPDATE audit_entry
		SET payload = NULL, salt = NULL
		WHERE log = $1 AND position = $2`, log, index)
	if l.follower != nil {
		tx.AfterCommit(func() { l.follower.Erased(log) })
	}
	if err == nil && copies != nil {
		err = copies(ctx, tx, log, []int64{index})
	}
	if err != nil {
		return fmt.Errorf("erase the payload of entry %d of log %s: %w", index, log, err)
	}
	return nil
}

// ErasePayload erases the payload of an entry, if it has one.
func (s *Service) ErasePayload(
	ctx context.Context, p principal.Principal, log string, index int64, reason string,
) error {
	if err := p.Require(principal.ErasePayloads); err != nil {
		return err
	}
	return s.db.Write(ctx, database.Change{Logs: []string{log}, Do: func(ctx context.Context, tx *database.Tx) error {
		present, err := mayErase(ctx, tx, log, index)
		if err != nil || !present {
			return err
		}
		if err := s.erasePayload(ctx, tx, log, index, s.copies); err != nil {
			return err
		}
		_, err = s.Append(ctx, tx, Entry{
			Log: log, Action: ledger.Erased, Actor: p, Subject: erasedEntry(index),
			Payload: map[string]any{"reason": reason}, Observation: true,
		})
		return err
	}})
}

// erasedEntry is the subject of an erasure.
func erasedEntry(index int64) Subject {
	return Subject{Type: ledger.SubjectEntry, ID: strconv.FormatInt(index, 10)}
}

// mayErase reports whether an entry has a payload, and refuses one about the log itself.
func mayErase(ctx context.Context, tx *database.Tx, log string, index int64) (present bool, err error) {
	var aboutLog bool
	err = tx.QueryRow(ctx, `
		SELECT payload IS NOT NULL, action IN `+aboutTheLog+`
		FROM audit_entry
		WHERE log = $1 AND position = $2`, log, index).Scan(&present, &aboutLog)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, fault.New(fault.NotFound, "the audit log has no entry %d", index)
	case err != nil:
		return false, fmt.Errorf("read entry %d of log %s: %w", index, log, err)
	case aboutLog:
		return false, fault.New(fault.Conflict, "entry %d tells of the log itself and cannot be erased", index)
	}
	return present, nil
}

// retireSlice is how many payloads are erased in one transaction.
const retireSlice = 250

// RetirePayloads erases payloads older than keep, in every log, in small transactions
// that each leave an entry with what was erased. It resumes where it stopped, and any
// replica may run it.
func (s *Service) RetirePayloads(ctx context.Context, keep time.Duration) error {
	heads, err := ReadHeads(ctx, s.db)
	if err != nil {
		return err
	}
	cutoff := database.Micros(s.db.Now().Add(-keep))
	for _, head := range heads {
		for done := false; !done; {
			if done, err = s.retireSome(ctx, head.Log, cutoff); err != nil {
				return fmt.Errorf("retire payloads of log %s: %w", head.Log, err)
			}
		}
	}
	return nil
}

// retireSome erases a slice of a log's old payloads, and reports whether none is left.
func (s *Service) retireSome(ctx context.Context, log string, cutoff int64) (done bool, err error) {
	err = s.db.Write(ctx, database.Change{Logs: []string{log}, Do: func(ctx context.Context, tx *database.Tx) error {
		old, err := oldPayloads(ctx, tx, log, cutoff)
		if err != nil {
			return err
		}
		until := cutoff
		if done = len(old) < retireSlice; !done {
			until = old[len(old)-1].at // some of that instant may be left
		}
		if _, err := tx.Exec(ctx, `UPDATE audit_head SET erased_until = $2 WHERE log = $1`, log, until); err != nil {
			return err
		}
		if len(old) == 0 {
			return nil
		}
		gone := make([]int64, len(old))
		for i, entry := range old {
			gone[i] = entry.position
			if err := s.erasePayload(ctx, tx, log, entry.position, s.copies); err != nil {
				return err
			}
		}
		slices.Sort(gone)
		_, err = s.Append(ctx, tx, Entry{
			Log: log, Action: ledger.Retired, Actor: principal.Operator(),
			Subject: Subject{Type: ledger.SubjectEntries, ID: ledger.RangesText(ledger.Ranges(gone))},
			Payload: map[string]any{"before": cutoff, "entries": len(old)}, Observation: true,
		})
		return err
	}})
	return done, err
}

type datedEntry struct{ position, at int64 }

// oldPayloads finds a slice of the payloads to erase, oldest first. A log that claims to be erased beyond the cutoff
// is searched from its begin.
func oldPayloads(ctx context.Context, tx *database.Tx, log string, cutoff int64) ([]datedEntry, error) {
	return database.Collect(ctx, tx, func(s database.Scanner) (e datedEntry, err error) {
		err = s.Scan(&e.position, &e.at)
		return e, err
	}, `
		SELECT position, recorded_at
		FROM audit_entry
		WHERE log = $1 AND payload IS NOT NULL AND recorded_at < $2 AND action NOT IN `+aboutTheLog+`
			AND recorded_at >= (SELECT CASE WHEN erased_until <= $2 THEN erased_until ELSE 0 END
				FROM audit_head WHERE log = $1)
		ORDER BY recorded_at, position
		LIMIT $3`, log, cutoff, retireSlice)
}
