package telemetry_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/fault"
	"writ/internal/telemetry"
	"writ/internal/testenv"
)

// eachOutage runs the body on each database with a way to make it unable to
// store anything, and to end that: a disk that is full, a server that is away.
func eachOutage(t *testing.T, body func(t *testing.T, e *env, fail, mend func())) {
	t.Helper()
	t.Run("sqlite: disk full", func(t *testing.T) {
		t.Parallel()
		e := open(t, dbtest.SQLite(t))
		body(t, e,
			func() { e.Exec(`PRAGMA max_page_count = 1`) }, // clamps to the present size
			func() { e.Exec(`PRAGMA max_page_count = 1000000`) })
	})
	t.Run("postgres: away", func(t *testing.T) {
		t.Parallel()
		options, line := dbtest.PostgresOnALine(t)
		e := open(t, options)
		body(t, e, line.Cut, func() { e.mend(line) })
	})
}

// mend lets the database come back, and waits until connections that broke are
// noticed.
func (e *env) mend(line *dbtest.Line) {
	e.T.Helper()
	line.Mend()
	testenv.Eventually(e.T, "the database answers", func() bool { return e.DB.Ping(e.T.Context()) == nil })
}

// TestOutage: what cannot be stored is unavailable, not half there, and can be
// sent again afterwards.
func TestOutage(t *testing.T) {
	t.Parallel()
	eachOutage(t, func(t *testing.T, e *env, fail, mend func()) {
		session := newID()
		e.accept(orgA, trace(newID(), e.Now(), inSession(session), generation(e.Now(), "m", 1)))
		before := e.figures(orgA)
		large := trace(newID(), e.Now(), inSession(session)+`,"attributes":{"input":"`+strings.Repeat("x", 1<<20)+`"}`,
			generation(e.Now(), "m", 10))
		fail()
		if r, err := send(t.Context(), e.Service, orgA, body(large)); !fault.Is(err, fault.Unavailable) ||
			r.Accepted != 0 {
			t.Errorf("ingest: %+v, %v, want unavailable", r, err)
		}
		mend()
		e.wantTraces(orgA, 1)
		if after := e.figures(orgA); after.Summary.Usage != before.Summary.Usage ||
			after.Summary.Traces != before.Summary.Traces {
			t.Errorf("figures changed: %+v, before %+v", after.Summary, before.Summary)
		}
		e.wantClean()
		e.accept(orgA, large)
		e.wantTraces(orgA, 2)
		whole, err := e.Session(t.Context(), orgA, session)
		if err != nil || whole == nil || whole.TraceCount != 2 || whole.Usage.Input != 11 {
			t.Errorf("session: %+v, %v", whole, err)
		}
		e.wantClean()
	})
}

// TestCutInsideTheTransaction loses the database after the rows of a trace were
// written, and before its figures were.
func TestCutInsideTheTransaction(t *testing.T) {
	t.Parallel()
	options, line := dbtest.PostgresOnALine(t)
	e := open(t, options)
	e.accept(orgA, trace(newID(), e.Now(), ""))
	one := trace(newID(), e.Now(), inSession(newID()), generation(e.Now(), "m", 1))
	release := e.hold()
	var changes sync.WaitGroup
	changes.Go(func() {
		if _, err := send(t.Context(), e.Service, orgA, body(one)); !fault.Is(err, fault.Unavailable) {
			t.Errorf("ingest: %v, want unavailable", err)
		}
	})
	e.queued(1)
	changes.Go(func() {
		// In the same commit, after it.
		err := e.DB.Write(context.Background(), database.Change{Do: func(context.Context, *database.Tx) error {
			line.Cut()
			return nil
		}})
		if !fault.Is(err, fault.Unavailable) {
			t.Errorf("the change beside it: %v, want unavailable", err)
		}
	})
	e.queued(2)
	release()
	changes.Wait()
	e.mend(line)
	e.wantTraces(orgA, 1)
	e.wantClean()
	e.accept(orgA, one)
	e.wantTraces(orgA, 2)
	e.wantClean()
}

// poison makes the database refuse traces of that name, and gives the antidote.
func (e *env) poison() (cure func()) {
	e.T.Helper()
	if e.DB.Engine() == database.PostgreSQL {
		e.Exec(`ALTER TABLE trace ADD CONSTRAINT poison CHECK (name <> 'poison')`)
		return func() { e.Exec(`ALTER TABLE trace DROP CONSTRAINT poison`) }
	}
	e.Exec(`CREATE TRIGGER poison BEFORE INSERT ON trace WHEN NEW.name = 'poison' BEGIN SELECT RAISE(ABORT, 'poison'); END`)
	return func() { e.Exec(`DROP TRIGGER poison`) }
}

// TestPoisonHarmsNoNeighbour has a request that the database refuses share its
// commit with others: they are stored, once.
func TestPoisonHarmsNoNeighbour(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.poison()
		session := newID()
		release := e.hold()
		var senders sync.WaitGroup
		for i := range 7 {
			name := "good"
			if i == 3 {
				name = "poison"
			}
			senders.Go(func() {
				one := named(name, newID(), e.Now(), inSession(session), generation(e.Now(), "m", 1))
				if r, err := send(t.Context(), e.Service, orgA, body(one)); (err == nil) != (name == "good") ||
					err == nil && r.Accepted != 1 {
					t.Errorf("%s: %+v, %v", name, r, err)
				}
			})
			e.queued(i + 1)
		}
		release()
		senders.Wait()
		e.wantTraces(orgA, 6)
		whole, err := e.Session(t.Context(), orgA, session)
		if err != nil || whole == nil || whole.TraceCount != 6 || whole.Usage.Input != 6 {
			t.Errorf("session: %+v, %v", whole, err)
		}
		e.wantClean()
	})
}

// TestLaterSliceFails: what was committed of a request stays, also of slices behind
// the one that failed, and sending it again completes it, each trace once.
func TestLaterSliceFails(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		cure := e.poison()
		session := newID()
		var batches []string
		for i := range 3 {
			var spans []string
			for range 300 {
				spans = append(spans, generation(e.Now(), "m", 1))
			}
			name := fmt.Sprint("slice ", i)
			if i == 1 {
				name = "poison"
			}
			batches = append(batches, named(name, newID(), e.Now(), inSession(session), spans...))
		}
		if r, err := send(t.Context(), e.Service, orgA, body(batches...)); err == nil {
			t.Fatalf("%+v, want an error", r)
		}
		e.wantTraces(orgA, 2)
		e.wantClean()
		cure()
		r := e.ingest(orgA, body(batches...))
		if r.Accepted != 1 || r.Duplicate != 2 || len(r.TraceIDs) != 1 {
			t.Errorf("sent again: %+v", r)
		}
		e.wantTraces(orgA, 3)
		whole, err := e.Session(t.Context(), orgA, session)
		if err != nil || whole == nil || whole.TraceCount != 3 || whole.Usage.Input != 900 {
			t.Errorf("session: %+v, %v", whole, err)
		}
		e.wantClean()
	})
}

// TestGivingUpBeforeTheCommit: a caller that leaves while its traces wait leaves
// nothing behind.
func TestGivingUpBeforeTheCommit(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		release := e.hold()
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan error)
		go func() {
			_, err := send(ctx, e.Service, orgA, body(trace(newID(), e.Now(), "")))
			left <- err
		}()
		e.queued(1)
		leave()
		if err := <-left; !fault.Is(err, fault.Unavailable) {
			t.Errorf("err = %v, want unavailable", err)
		}
		release()
		e.accept(orgB, trace(newID(), e.Now(), "")) // behind it in the queue
		e.wantTraces(orgA, 0)
	})
}

// TestFullQueue refuses at once what it cannot remember.
func TestFullQueue(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		const waiting = 1024
		release := e.hold()
		var senders sync.WaitGroup
		request, err := telemetry.ParseRequest([]byte(body(trace(newID(), e.Now(), ""))))
		if err != nil {
			t.Fatal(err)
		}
		for range waiting {
			senders.Go(func() {
				if _, err := e.Ingest(t.Context(), orgA, "p", request); err != nil {
					t.Errorf("ingest: %v", err)
				}
			})
		}
		e.queued(waiting)
		if _, err := e.Ingest(t.Context(), orgA, "p", request); !fault.Is(err, fault.Unavailable) {
			t.Errorf("one more: %v, want unavailable", err)
		}
		release()
		senders.Wait()
		e.wantTraces(orgA, 1)
	})
}
