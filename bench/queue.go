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

	"github.com/jackc/pgx/v5"
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
	db, err := openQueue(ctx, i, o.databaseURL)
	if err != nil {
		return nil, 0, err
	}
	defer db.close()
	ingesters := []*ingester{withoutQueue(db, a), withQueue(db, a)}
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

// queueDatabase is the telemetry of an installation, beside its server.
type queueDatabase struct {
	engine string
	exec   func(ctx context.Context, statement string) error
	waits  func(ctx context.Context) (bool, error) // whether something is in the queue
	close  func()
}

func openQueue(ctx context.Context, i installation, databaseURL string) (*queueDatabase, error) {
	if i.engine != sqliteEngine {
		return openPostgresQueue(ctx, i.engine, databaseURL)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(i.folder, "telemetry.db")+"?_pragma=busy_timeout(60000)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return &queueDatabase{
		engine: i.engine,
		exec: func(ctx context.Context, statement string) error {
			_, err := db.ExecContext(ctx, statement)
			return err
		},
		waits: func(ctx context.Context) (waits bool, err error) {
			err = db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM search_trace_queue)`).Scan(&waits)
			return waits, err
		},
		close: func() { _ = db.Close() },
	}, nil
}

func openPostgresQueue(ctx context.Context, engine, databaseURL string) (*queueDatabase, error) {
	db, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return nil, errors.New("the database cannot be reached") // the cause may show a password
	}
	return &queueDatabase{
		engine: engine,
		exec: func(ctx context.Context, statement string) error {
			_, err := db.Exec(ctx, statement)
			return err
		},
		waits: func(ctx context.Context) (waits bool, err error) {
			err = db.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM telemetry.search_trace_queue)`).Scan(&waits)
			return waits, err
		},
		close: func() { _ = db.Close(context.Background()) },
	}, nil
}

func (d *queueDatabase) execAll(ctx context.Context, statements []string) error {
	for _, statement := range statements {
		if err := d.exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// withoutQueue has the database drop the rows of the queue during its turns.
func withoutQueue(db *queueDatabase, a *account) *ingester {
	plain := newIngester("without the queue", a)
	take := plain.take
	plain.take = func(ctx context.Context, length time.Duration) (r ingestRound, err error) {
		if err := db.execAll(ctx, dropRows[db.engine]); err != nil {
			return r, fmt.Errorf("switch the queue off: %w", err)
		}
		r, err = take(ctx, length)
		return r, errors.Join(err, db.execAll(context.WithoutCancel(ctx), keepRows[db.engine]))
	}
	return plain
}

// withQueue waits after its turns until all is indexed: that is part of its CPU time, and none of the next turn's.
func withQueue(db *queueDatabase, a *account) *ingester {
	plain := newIngester("with the queue, and indexing", a)
	take := plain.take
	plain.take = func(ctx context.Context, length time.Duration) (ingestRound, error) {
		r, err := take(ctx, length)
		for begin := time.Now(); err == nil; time.Sleep(100 * time.Millisecond) {
			waits, err := db.waits(ctx)
			if err != nil || !waits {
				return r, err
			}
			if time.Since(begin) > queuePatience {
				return r, fmt.Errorf("traces wait to be indexed after %s", queuePatience)
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
	// The job cannot be held back without holding the committer, which is what ingest waits for.
	fmt.Fprintln(out, "\nWith the queue is two things together: the row that ingest writes for each trace, and the job that")
	fmt.Fprintln(out, "gives traces their words. They share the committer while the rounds last, which is in the rate; what the")
	fmt.Fprintln(out, "job does after a round is in the CPU alone. What the row costs by itself is not measured.")
	return printOthers(out, others)
}
