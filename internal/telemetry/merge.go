package telemetry

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"writ/internal/database"
)

const (
	// mergedWriter owns the rows that dead writers left. No process has this number.
	mergedWriter = 0
	// deadAfter is how long a writer has not been seen when it counts as dead. Each is seen hourly.
	deadAfter = 24 * time.Hour
	// mergeRows is how many rows one change merges, so that ingest does not wait for long.
	mergeRows = 100
)

// MergeWriters merges the rollup rows that earlier writers left, for each key whose hour is over: every start of a
// process is a new writer, and readers add up all of them. It also records that this writer is alive. Call it hourly.
//
// Totals stay correct at all times, also during ingest: a row is removed and added to the merged one in one
// transaction. A writer that was taken for dead and comes back begins new rows.
func (s *Service) MergeWriters(ctx context.Context) error {
	dead, err := s.deadWriters(ctx)
	if err != nil {
		return fmt.Errorf("list dead writers: %w", err)
	}
	if len(dead) == 0 {
		return nil
	}
	for _, r := range rollups {
		if err := s.mergeTable(ctx, r, dead); err != nil {
			return fmt.Errorf("merge %s: %w", r.table, err)
		}
	}
	if err := s.deleteDeadWriters(ctx, dead); err != nil {
		return fmt.Errorf("delete dead writers: %w", err)
	}
	return nil
}

// deadWriters lists the writers that have stopped, as SQL. A data folder of SQLite belongs to one server, so every
// other writer is dead.
func (s *Service) deadWriters(ctx context.Context) (list string, err error) {
	err = s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		now := database.Micros(tx.Now())
		if _, err := tx.Exec(ctx, `
			INSERT INTO writer (id, started_at, seen_at) VALUES ($1, $2, $2)
			ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`, s.writerID(), now); err != nil {
			return err
		}
		before := now - deadAfter.Microseconds()
		if tx.Engine() == database.SQLite {
			before = math.MaxInt64
		}
		ids, err := database.Collect(ctx, tx, func(row database.Scanner) (id string, err error) {
			var number int64
			err = row.Scan(&number)
			return strconv.FormatInt(number, 10), err
		}, `SELECT id FROM writer WHERE id <> $1 AND seen_at < $2 ORDER BY id`, s.writerID(), before)
		list = strings.Join(ids, ", ")
		return err
	}})
	return list, err
}

// mergeTable reads a table once, in the order of its key. It searches outside of a transaction, because few of many
// rows may match.
func (s *Service) mergeTable(ctx context.Context, r rollup, dead string) error {
	key := r.rowKey()
	width := strings.Count(key, ",") + 1
	closed := floor(database.Micros(s.db.Now()), hourMicros) * r.perHour
	query := fmt.Sprintf(`SELECT %s FROM %s WHERE writer IN (%s) AND bucket < %d`, key, r.table, dead, closed)
	order := fmt.Sprintf(` ORDER BY %s LIMIT %d`, key, mergeRows)
	var after []any
	for {
		from := ""
		if after != nil {
			from = fmt.Sprintf(` AND (%s) > (%s)`, key, marks(1, width))
		}
		found, err := database.Collect(ctx, s.db,
			func(row database.Scanner) ([]any, error) { return scanAny(row, width) }, query+from+order, after...)
		if err != nil || len(found) == 0 {
			return err
		}
		// Replicas take turns by this name.
		err = s.db.Write(ctx, database.Change{Logs: []string{"telemetry/merge"}, Do: func(
			ctx context.Context, tx *database.Tx,
		) error {
			return r.fold(ctx, tx, found)
		}})
		if err != nil {
			return err
		}
		after = found[len(found)-1]
	}
}

// fold moves rows to the merged writer. A row that is gone was moved by another replica, or removed.
func (r *rollup) fold(ctx context.Context, tx *database.Tx, keys [][]any) error {
	take := fmt.Sprintf(`DELETE FROM %s WHERE (%s) = (%s) RETURNING %s`, r.table, r.rowKey(),
		marks(1, len(keys[0])), r.columns())
	tallies := map[string]*tally{}
	for _, key := range keys {
		orgID := key[0].(string)
		if tallies[orgID] == nil {
			tallies[orgID] = newTally()
		}
		err := each(ctx, tx, func(row database.Scanner) error { return r.add(tallies[orgID], row) }, take, key...)
		if err != nil {
			return err
		}
	}
	for _, orgID := range slices.Sorted(maps.Keys(tallies)) {
		if err := flushRollups(ctx, tx, orgID, mergedWriter, tallies[orgID]); err != nil {
			return err
		}
	}
	return nil
}

func scanAny(row database.Scanner, width int) ([]any, error) {
	values, dest := make([]any, width), make([]any, width)
	for i := range values {
		dest[i] = &values[i]
	}
	err := row.Scan(dest...)
	return values, err
}

// deleteDeadWriters deletes writers that left nothing and will not come back. The last number stays, because the next
// one is counted from it.
func (s *Service) deleteDeadWriters(ctx context.Context, dead string) error {
	return s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx,
			fmt.Sprintf(`DELETE FROM writer WHERE id IN (%s) AND seen_at < $1 AND id < (SELECT MAX(id) FROM writer)`,
				dead),
			database.Micros(tx.Now().Add(-deadAfter)))
		return err
	}})
}
