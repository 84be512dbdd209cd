package telemetry

import (
	"context"
	"fmt"

	"writ/internal/database"
)

// partitioned are the tables that have a partition for each day on PostgreSQL, in the order in which they are dropped:
// words do not outlive their texts.
var partitioned = []string{"search_trace", "trace", "span"}

func partitionName(table string, day int64) string { return fmt.Sprintf("%s_day_%d", table, day) }

// ensurePartitions makes the partitions of a day and the next, where the database has any. Replicas that come to it
// together make them once.
func (s *Service) ensurePartitions(ctx context.Context, tx *database.Tx, day int64) error {
	if tx.Engine() != database.PostgreSQL {
		return nil
	}
	days := s.partitioned.In(tx)
	if (*days)[day] {
		return nil
	}
	if *days == nil {
		*days = map[int64]bool{}
	}
	(*days)[day] = true
	return createPartitions(ctx, tx, day)
}

// MakePartitions creates the partitions of tomorrow and the day after, on PostgreSQL. Ingest does so itself if it
// must, but then has to wait for readers; this waits for a better moment.
func (s *Service) MakePartitions(ctx context.Context) error {
	if s.db.Engine() != database.PostgreSQL {
		return nil
	}
	tomorrow := receivedDay(database.Micros(s.db.Now())) + 1
	err := s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		if err := yieldToReaders(ctx, tx); err != nil {
			return err
		}
		return s.ensurePartitions(ctx, tx, tomorrow)
	}})
	if err != nil {
		return fmt.Errorf("make partitions: %w", err)
	}
	return nil
}

// yieldToReaders makes a change to a partitioned table give up soon if someone reads the table: everybody else would
// wait behind it. It is tried again later.
func yieldToReaders(ctx context.Context, tx *database.Tx) error {
	_, err := tx.Exec(ctx, `SET LOCAL lock_timeout = '300ms'`)
	return err
}

func createPartitions(ctx context.Context, tx *database.Tx, day int64) error {
	var there bool
	if err := tx.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, partitionName("span",
		day)).Scan(&there); err != nil || there {
		return err
	}
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, partitionLock); err != nil {
		return fmt.Errorf("wait to make partitions: %w", err)
	}
	for _, table := range partitioned {
		for d := day; d <= day+1; d++ {
			if err := createPartition(ctx, tx, table, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// createPartition makes the partition of a table for a day, unless it is there. Asking first takes no lock.
func createPartition(ctx context.Context, tx *database.Tx, table string, day int64) error {
	var there bool
	if err := tx.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, partitionName(table,
		day)).Scan(&there); err != nil || there {
		return err
	}
	_, err := tx.Exec(ctx, fmt.Sprintf(`CREATE TABLE IF NOT EXISTS %s PARTITION OF %s FOR VALUES FROM (%d) TO (%d)`,
		partitionName(table, day), table, day, day+1))
	return database.Wrap(err, "make a partition of %s", table)
}

// partitionLock keeps replicas from creating the same partitions at once.
const partitionLock int64 = 0x77726974_70617274 // "writpart"
