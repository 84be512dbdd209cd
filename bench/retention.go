package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"
)

// What retention finds: enough to be at work for as long as decisions are asked
// beside it.
const (
	oldTraces    = 20_000
	oldSpansEach = 20
	oldDays      = 40 // ago; the server keeps 30
	oldAtOnce    = 100
)

// loadOld fills the store with telemetry that is too old to be kept.
// No client can send that. It is sent as any other, and then moved back in time where
// it is stored; how that is, this knows of the server.
func (a *account) loadOld(ctx context.Context, i installation) error {
	if err := a.load(ctx, dataset{spansEach: oldSpansEach}, oldTraces); err != nil {
		return err
	}
	db, err := sql.Open("sqlite",
		"file:"+filepath.Join(i.folder, "telemetry.db")+"?mode=rw&_txlock=immediate&_pragma=busy_timeout(10000)")
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	for more := true; more && err == nil; {
		more, err = moveBack(ctx, db)
	}
	if err := errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("move telemetry back in time: %w", err)
	}
	return nil
}

// moveBack moves the next few traces that were received today or yesterday back in
// time, and reports whether there were any. Row keys are microseconds of receipt above
// ten bits, and the index of ids is by day.
func moveBack(ctx context.Context, db *sql.DB) (more bool, err error) {
	const back = int64(oldDays*24*time.Hour/time.Microsecond) << 10
	from := time.Now().Add(-24*time.Hour).UnixMicro() << 10
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit this is a no-op
	var to sql.NullInt64
	err = tx.QueryRowContext(ctx, `SELECT MAX(pk) FROM (SELECT pk FROM trace WHERE pk >= ? ORDER BY pk LIMIT ?)`, from,
		oldAtOnce).Scan(&to)
	if err != nil || !to.Valid {
		return false, err
	}
	for _, move := range []string{
		`UPDATE trace_key SET pk = pk - ?1, received_day = received_day - ?2 WHERE pk BETWEEN ?3 AND ?4 AND received_day >= ?3 / 1024 / 86400000000`,
		`UPDATE span SET trace_pk = trace_pk - ?1, received_day = received_day - ?2 WHERE trace_pk BETWEEN ?3 AND ?4`,
		`UPDATE trace SET pk = pk - ?1, received_day = received_day - ?2 WHERE pk BETWEEN ?3 AND ?4`,
	} {
		if _, err := tx.ExecContext(ctx, move, back, oldDays, from, to.Int64); err != nil {
			return false, err
		}
	}
	return true, tx.Commit()
}

// retention is a run of it, beside the server as an operator would start it.
type retention struct {
	cmd    *exec.Cmd
	cancel context.CancelFunc
	output bytes.Buffer
	begun  time.Time
	ended  chan struct{}
	end    time.Time // read it after ended
	failed error     // so too
}

func startRetention(ctx context.Context, i installation) (*retention, error) {
	ctx, cancel := context.WithCancel(ctx)
	r := &retention{
		cmd: exec.CommandContext(ctx, i.program, "retention", "run"), cancel: cancel, ended: make(chan struct{}),
	}
	r.cmd.Env = i.environment()
	r.cmd.Stderr = &r.output
	r.begun = time.Now()
	if err := r.cmd.Start(); err != nil {
		cancel()
		return nil, fmt.Errorf("start retention: %w", err)
	}
	go func() {
		r.failed, r.end = r.cmd.Wait(), time.Now()
		close(r.ended)
	}()
	return r, nil
}

// stop ends the run, even if its work is not done, and returns the share of the time
// that it worked.
func (r *retention) stop() (share float64, err error) {
	asked := time.Since(r.begun)
	defer r.cancel()
	select {
	case <-r.ended:
		if r.failed != nil {
			return 0, fmt.Errorf("retention: %w: %s", r.failed, bytes.TrimSpace(r.output.Bytes()))
		}
		return float64(r.end.Sub(r.begun)) / float64(asked), nil
	default:
	}
	r.cancel()
	<-r.ended
	return 1, nil
}
