package database

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
)

// OrdinaryQueue is how many ordinary changes may wait.
const OrdinaryQueue = ordinaryQueue

// ChangeLimit is how long a change may take.
const ChangeLimit = changeLimit

// Migrations for tests with steps of their own.
var (
	Embedded       = embedded
	LoadMigrations = loadMigrations
	Migrate        = (*DB).migrate
)

// TransactWithin runs one change in a transaction whose time the test has in hand.
func TransactWithin(ctx context.Context, db *DB, do func(ctx context.Context, tx *Tx) error) error {
	return db.transact(ctx, []*pending{{change: Change{Do: do}}})
}

// LoseWritingConnection has the next transaction open a new one.
func LoseWritingConnection(ctx context.Context, db *DB) error {
	conn, err := db.writes.Conn(ctx)
	if err != nil {
		return err
	}
	if err := conn.Raw(func(any) error { return driver.ErrBadConn }); !errors.Is(err, driver.ErrBadConn) {
		return fmt.Errorf("lose the connection: %w", err)
	}
	return nil
}

// ForgetCommits makes the next CheckWritable write.
func ForgetCommits(db *DB) {
	db.commits.made.Store(0)
	db.commits.failed.Store(0)
}

// MaxLogBytes is how long the log of telemetry may become before the committer copies it.
const MaxLogBytes = int64(bulkCheckpointPages) * 4096
