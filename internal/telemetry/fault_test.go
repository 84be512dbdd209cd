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
)

// eachOutage runs the body on each database with a way to make it unable to
// store anything, and to end that: a disk that is full, a server that is away.
func eachOutage(t *testing.T, body func(t *testing.T, s *store, fail, mend func())) {
	t.Helper()
	t.Run("sqlite: disk full", func(t *testing.T) {
		t.Parallel()
		s := open(t, dbtest.SQLite(t))
		body(t, s,
			func() { s.exec(`PRAGMA max_page_count = 1`) }, // clamps to the present size
			func() { s.exec(`PRAGMA max_page_count = 1000000`) })
	})
	t.Run("postgres: away", func(t *testing.T) {
		t.Parallel()
		options, line := dbtest.PostgresOnALine(t)
		s := open(t, options)
		body(t, s, line.Cut, func() { s.mend(line) })
	})
}

// mend lets the database come back, and waits until connections that broke are
// noticed.
func (s *store) mend(line *dbtest.Line) {
	s.t.Helper()
	line.Mend()
	eventually(s.t, "the database answers", func() bool { return s.db.Ping(s.t.Context()) == nil })
}

// TestOutage: what cannot be stored is unavailable, not half there, and can be
// sent again afterwards.
func TestOutage(t *testing.T) {
	t.Parallel()
	eachOutage(t, func(t *testing.T, s *store, fail, mend func()) {
		session := newID()
		s.accept(orgA, trace(newID(), s.now(), inSession(session), generation(s.now(), "m", 1)))
		before := s.figures(orgA)
		large := trace(newID(), s.now(), inSession(session)+`,"attributes":{"input":"`+strings.Repeat("x", 1<<20)+`"}`,
			generation(s.now(), "m", 10))
		fail()
		if r, err := send(t.Context(), s.Service, orgA, body(large)); !fault.Is(err, fault.Unavailable) ||
			r.Accepted != 0 {
			t.Errorf("ingest: %+v, %v, want unavailable", r, err)
		}
		mend()
		s.wantTraces(orgA, 1)
		if after := s.figures(orgA); after.Summary.Usage != before.Summary.Usage ||
			after.Summary.Traces != before.Summary.Traces {
			t.Errorf("figures changed: %+v, before %+v", after.Summary, before.Summary)
		}
		s.wantClean()
		s.accept(orgA, large)
		s.wantTraces(orgA, 2)
		whole, err := s.Session(t.Context(), orgA, session)
		if err != nil || whole == nil || whole.TraceCount != 2 || whole.Usage.Input != 11 {
			t.Errorf("session: %+v, %v", whole, err)
		}
		s.wantClean()
	})
}

// TestCutInsideTheTransaction loses the database after the rows of a trace were
// written, and before its figures were.
func TestCutInsideTheTransaction(t *testing.T) {
	t.Parallel()
	options, line := dbtest.PostgresOnALine(t)
	s := open(t, options)
	s.accept(orgA, trace(newID(), s.now(), ""))
	one := trace(newID(), s.now(), inSession(newID()), generation(s.now(), "m", 1))
	release := s.hold()
	var changes sync.WaitGroup
	changes.Go(func() {
		if _, err := send(t.Context(), s.Service, orgA, body(one)); !fault.Is(err, fault.Unavailable) {
			t.Errorf("ingest: %v, want unavailable", err)
		}
	})
	s.queued(1)
	changes.Go(func() {
		// In the same commit, after it.
		err := s.db.Write(context.Background(), database.Change{Do: func(context.Context, *database.Tx) error {
			line.Cut()
			return nil
		}})
		if !fault.Is(err, fault.Unavailable) {
			t.Errorf("the change beside it: %v, want unavailable", err)
		}
	})
	s.queued(2)
	release()
	changes.Wait()
	s.mend(line)
	s.wantTraces(orgA, 1)
	s.wantClean()
	s.accept(orgA, one)
	s.wantTraces(orgA, 2)
	s.wantClean()
}

// poison makes the database refuse traces of that name, and gives the antidote.
func (s *store) poison() (cure func()) {
	s.t.Helper()
	if s.db.Engine() == database.PostgreSQL {
		s.exec(`ALTER TABLE trace ADD CONSTRAINT poison CHECK (name <> 'poison')`)
		return func() { s.exec(`ALTER TABLE trace DROP CONSTRAINT poison`) }
	}
	s.exec(`CREATE TRIGGER poison BEFORE INSERT ON trace WHEN NEW.name = 'poison' BEGIN SELECT RAISE(ABORT, 'poison'); END`)
	return func() { s.exec(`DROP TRIGGER poison`) }
}

// TestPoisonHarmsNoNeighbour has a request that the database refuses share its
// commit with others: they are stored, once.
func TestPoisonHarmsNoNeighbour(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		s.poison()
		session := newID()
		release := s.hold()
		var senders sync.WaitGroup
		for i := range 7 {
			name := "good"
			if i == 3 {
				name = "poison"
			}
			senders.Go(func() {
				one := named(name, newID(), s.now(), inSession(session), generation(s.now(), "m", 1))
				if r, err := send(t.Context(), s.Service, orgA, body(one)); (err == nil) != (name == "good") ||
					err == nil && r.Accepted != 1 {
					t.Errorf("%s: %+v, %v", name, r, err)
				}
			})
			s.queued(i + 1)
		}
		release()
		senders.Wait()
		s.wantTraces(orgA, 6)
		whole, err := s.Session(t.Context(), orgA, session)
		if err != nil || whole == nil || whole.TraceCount != 6 || whole.Usage.Input != 6 {
			t.Errorf("session: %+v, %v", whole, err)
		}
		s.wantClean()
	})
}

// TestLaterSliceFails: what was committed of a request stays, also of slices behind
// the one that failed, and sending it again completes it, each trace once.
func TestLaterSliceFails(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		cure := s.poison()
		session := newID()
		var batches []string
		for i := range 3 {
			var spans []string
			for range 300 {
				spans = append(spans, generation(s.now(), "m", 1))
			}
			name := fmt.Sprint("slice ", i)
			if i == 1 {
				name = "poison"
			}
			batches = append(batches, named(name, newID(), s.now(), inSession(session), spans...))
		}
		if r, err := send(t.Context(), s.Service, orgA, body(batches...)); err == nil {
			t.Fatalf("%+v, want an error", r)
		}
		s.wantTraces(orgA, 2)
		s.wantClean()
		cure()
		r := s.ingest(orgA, body(batches...))
		if r.Accepted != 1 || r.Duplicate != 2 || len(r.TraceIDs) != 1 {
			t.Errorf("sent again: %+v", r)
		}
		s.wantTraces(orgA, 3)
		whole, err := s.Session(t.Context(), orgA, session)
		if err != nil || whole == nil || whole.TraceCount != 3 || whole.Usage.Input != 900 {
			t.Errorf("session: %+v, %v", whole, err)
		}
		s.wantClean()
	})
}

// TestGivingUpBeforeTheCommit: a caller that leaves while its traces wait leaves
// nothing behind.
func TestGivingUpBeforeTheCommit(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		release := s.hold()
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan error)
		go func() {
			_, err := send(ctx, s.Service, orgA, body(trace(newID(), s.now(), "")))
			left <- err
		}()
		s.queued(1)
		leave()
		if err := <-left; !fault.Is(err, fault.Unavailable) {
			t.Errorf("err = %v, want unavailable", err)
		}
		release()
		s.accept(orgB, trace(newID(), s.now(), "")) // behind it in the queue
		s.wantTraces(orgA, 0)
	})
}

// TestFullQueue refuses at once what it cannot remember.
func TestFullQueue(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		const waiting = 1024
		release := s.hold()
		var senders sync.WaitGroup
		request, err := telemetry.ParseRequest([]byte(body(trace(newID(), s.now(), ""))))
		if err != nil {
			t.Fatal(err)
		}
		for range waiting {
			senders.Go(func() {
				if _, err := s.Ingest(t.Context(), orgA, "p", request); err != nil {
					t.Errorf("ingest: %v", err)
				}
			})
		}
		s.queued(waiting)
		if _, err := s.Ingest(t.Context(), orgA, "p", request); !fault.Is(err, fault.Unavailable) {
			t.Errorf("one more: %v, want unavailable", err)
		}
		release()
		senders.Wait()
		s.wantTraces(orgA, 1)
	})
}
