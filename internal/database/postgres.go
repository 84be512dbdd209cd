package database

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// postgresReaders bounds one replica's reading connections.
const postgresReaders = 16

// migrationLock is the advisory lock that keeps replicas from migrating at once.
const migrationLock int64 = 0x77726974 // "writ"

// postgresConnectors connect to the server: a pool for reads, and one connection for the committer.
func postgresConnectors(o Options) (c connectors, err error) {
	config, err := pgx.ParseConfig(o.PostgresURL)
	if err != nil {
		return c, errUnreadableURL
	}
	limit := cmp.Or(o.ChangeLimit, changeLimit)
	config.ConnectTimeout = limit
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "writd"
	}
	if config.RuntimeParams["jit"] == "" {
		// Statements here are short: where a plan looks dear, compiling it takes longer than running it.
		config.RuntimeParams["jit"] = "off"
	}
	if o.Store == Telemetry {
		config.RuntimeParams["search_path"] = string(Telemetry)
	}
	c.reads = stdlib.GetConnector(*withTimeouts(config, max(readLimit, limit), 0))
	var use []stdlib.OptionOpenDB
	if o.Store != Telemetry {
		use = append(use, stdlib.OptionAfterConnect(inUse(o.Alone)))
	}
	c.writes = stdlib.GetConnector(*withTimeouts(config, limit*9/10, limit*6/10), use...)
	return c, nil
}

// readLimit is how long the server reads for one statement.
const readLimit = 30 * time.Second

// withTimeouts bounds what the server spends on a statement and on a lock (0: any time): the committer's limit must
// hold even when a cancellation is lost.
func withTimeouts(config *pgx.ConnConfig, statement, lock time.Duration) *pgx.ConnConfig {
	c := config.Copy()
	c.RuntimeParams["statement_timeout"] = strconv.FormatInt(statement.Milliseconds(), 10)
	c.RuntimeParams["lock_timeout"] = strconv.FormatInt(lock.Milliseconds(), 10)
	c.RuntimeParams["idle_in_transaction_session_timeout"] = "10000"
	return c
}

// lockLogs takes the locks of every log the changes declare, in ascending order of the
// key, so that two replicas never wait for each other.
func lockLogs(ctx context.Context, tx *sql.Tx, changes []*pending) error {
	var keys []int64
	for _, p := range changes {
		for _, log := range p.change.Logs {
			keys = append(keys, logKey(log))
		}
	}
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, key); err != nil {
			return fmt.Errorf("lock the log: %w", err)
		}
	}
	return nil
}

// logKey maps a log to its advisory lock. Two logs with the same key only wait for each
// other.
func logKey(log string) int64 {
	sum := sha256.Sum256([]byte("writ/log/" + log))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}
