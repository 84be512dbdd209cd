package database

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrInUse refuses to restore a PostgreSQL database beside a server.
var ErrInUse = errors.New("the PostgreSQL database is in use by another writd: stop that one first")

// errRestoring keeps a server from a database that is being restored.
var errRestoring = errors.New("the PostgreSQL database is being restored")

// inUseWait is how long a connection waits for the lock of use: the server frees that of a process that ended a little
// later than the process ends.
const inUseWait = 3 * time.Second

// inUse takes the lock of use on every writing connection, for as long as it lives: whoever serves shares it, so that
// replicas do not wait for each other, and a restore has it alone. A connection that is made anew takes it anew, and
// writes nothing without it. The lock is one of the schema, because a database may hold several installations.
func inUse(alone bool) func(ctx context.Context, conn *pgx.Conn) error {
	try, refused := `pg_try_advisory_lock_shared`, errRestoring
	if alone {
		try, refused = `pg_try_advisory_lock`, ErrInUse
	}
	return func(ctx context.Context, conn *pgx.Conn) error {
		endSoon(ctx, conn)
		deadline := time.Now().Add(inUseWait)
		for {
			var got bool
			err := conn.QueryRow(ctx, `
				SELECT `+try+`(hashtextextended('writ/in-use/' || coalesce(current_schema(), ''), 0))`).Scan(&got)
			switch {
			case err == nil && got && alone:
				return nil
			case err == nil && got:
				if err = refuseUnfinished(ctx, conn); err == nil {
					return nil
				}
			case err == nil && time.Now().After(deadline):
				err = unavailable(refused, refused.Error())
			case err == nil:
				err = pause(ctx, 50*time.Millisecond)
			default:
				err = fmt.Errorf("take the lock of use: %w", err)
			}
			if err != nil {
				return errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
			}
		}
	}
}

// endSoon has the server find within a minute that the machine of this process is gone, and free its locks. Where it
// cannot, locks of a machine that lost its power last as long as the system says.
func endSoon(ctx context.Context, conn *pgx.Conn) {
	for _, setting := range []string{
		"tcp_keepalives_idle = 30", "tcp_keepalives_interval = 10", "tcp_keepalives_count = 3",
	} {
		_, _ = conn.Exec(ctx, `SET `+setting)
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
