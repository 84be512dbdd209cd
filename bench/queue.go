package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

// queuePatience is how long a round's traces may take to be indexed.
const queuePatience = 10 * time.Minute

// Ingest enqueues each new trace for the search index, and a job beside it gives the trace its words. What that costs
// ingest is seen on one server that takes the same traces in turns, with the queue and without: then the database drops
// the row before it is stored, which is nearly nothing, and the job has nothing to do.

// dropRows and keepRows have a database drop what is enqueued, and store it again.
var dropRows = map[string][]string{
	sqliteEngine: {`
		CREATE TRIGGER bench_drop BEFORE INSERT ON search_trace_queue BEGIN SELECT RAISE(IGNORE); END`},
	"PostgreSQL": {
		`CREATE OR REPLACE FUNCTION telemetry.bench_drop() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`,
		`CREATE TRIGGER bench_drop BEFORE INSERT ON telemetry.search_trace_queue
			FOR EACH ROW EXECUTE FUNCTION telemetry.bench_drop()`,
	},
}

var keepRows = map[string][]string{
	sqliteEngine: {`DROP TRIGGER bench_drop`},
	"PostgreSQL": {
		`DROP TRIGGER bench_drop ON telemetry.search_trace_queue`, `DROP FUNCTION telemetry.bench_drop()`,
	},
}

func (b *bench) queue(ctx context.Context) error {
	for _, i := range b.installations {
		ingesters, others, err := measureQueue(ctx, i, b.options)
		if err != nil {
			return fmt.Errorf("%s: %w", i.engine, err)
		}
		if err := printQueue(os.Stdout, i.engine, ingesters, others); err != nil {
			return err
		}
	}
	return nil
}

func measureQueue(ctx context.Context, i installation, o options) (_ []*ingester, others float64, err error) {
	server, _, err := i.start(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	a, err := signIn(ctx, i, server)
	if err != nil {
		return nil, 0, err
	}
	db, err := openQueue(i, o.databaseURL)
	if err != nil {
		return nil, 0, err
	}
	defer db.Close()
	ingesters := []*ingester{withoutQueue(db, i.engine, a), withQueue(db, i.engine, a)}
	if err := ingestInTurns(ctx, ingesters, 1, warmUp); err != nil {
		return nil, 0, err
	}
	for _, i := range ingesters {
		i.rounds = nil
	}
	others, err = shareOfOthers([]*process{server}, func() error {
		return ingestInTurns(ctx, ingesters, o.rounds, o.roundLength())
	})
	return ingesters, others, err
}

// openQueue opens the telemetry of an installation beside its server.
func openQueue(i installation, databaseURL string) (*sql.DB, error) {
	if i.engine != sqliteEngine {
		return sql.Open("pgx", databaseURL)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(i.folder, "telemetry.db")+"?_pragma=busy_timeout(60000)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

func execAll(ctx context.Context, db *sql.DB, statements []string) error {
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// withoutQueue has the database drop the rows of the queue during its turns.
func withoutQueue(db *sql.DB, engine string, a *account) *ingester {
	plain := newIngester("without the queue", a)
	take := plain.take
	plain.take = func(ctx context.Context, length time.Duration) (r ingestRound, err error) {
		if err := execAll(ctx, db, dropRows[engine]); err != nil {
			return r, fmt.Errorf("switch the queue off: %w", err)
		}
		r, err = take(ctx, length)
		return r, errors.Join(err, execAll(context.WithoutCancel(ctx), db, keepRows[engine]))
	}
	return plain
}

// withQueue waits after its turns until all is indexed: that is part of its CPU time, and none of the next turn's.
func withQueue(db *sql.DB, engine string, a *account) *ingester {
	plain := newIngester("with the queue, and indexing", a)
	take := plain.take
	table := "search_trace_queue"
	if engine != sqliteEngine {
		table = "telemetry." + table
	}
	plain.take = func(ctx context.Context, length time.Duration) (ingestRound, error) {
		r, err := take(ctx, length)
		for begin := time.Now(); err == nil; time.Sleep(100 * time.Millisecond) {
			var waits bool
			err = db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM `+table+`)`).Scan(&waits)
			if err == nil && !waits {
				return r, nil
			}
			if time.Since(begin) > queuePatience {
				err = fmt.Errorf("traces wait to be indexed after %s", queuePatience)
			}
		}
		return r, err
	}
	return plain
}

func printQueue(out io.Writer, engine string, ingesters []*ingester, others float64) error {
	table := newTable(out, fmt.Sprintf("ingest and the search queue, %d spans a request, %s", spansPerRequest, engine),
		"spans/s", "request p50", "server CPU/span", "rate", "CPU")
	for _, i := range ingesters {
		table.row(i.name, fmt.Sprintf("%.0f", i.median(ingestRound.perSecond)),
			milliseconds(time.Duration(i.median(func(r ingestRound) float64 { return float64(r.p50) }))),
			fmt.Sprintf("%.1f us", i.median(ingestRound.cpuPerSpan)),
			fmt.Sprintf("%.2f x", i.over(ingesters[0], ingestRound.perSecond)),
			fmt.Sprintf("%.2f x", i.over(ingesters[0], ingestRound.cpuPerSpan)))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return printOthers(out, others)
}
