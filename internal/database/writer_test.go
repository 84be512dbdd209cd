package database_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/fault"
)

// makeTable gives the test a table of its own to write to.
func makeTable(t *testing.T, db *database.DB) {
	t.Helper()
	write(t, db, func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `CREATE TABLE thing (id BIGINT PRIMARY KEY, note TEXT NOT NULL)`)
		return err
	})
}

func write(t *testing.T, db *database.DB, do func(ctx context.Context, tx *database.Tx) error) {
	t.Helper()
	if err := db.Write(t.Context(), database.Change{Do: do}); err != nil {
		t.Fatalf("write: %v", err)
	}
}

func insert(id int) func(ctx context.Context, tx *database.Tx) error {
	return func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO thing (id, note) VALUES ($1, $2)`, id, fmt.Sprint(id))
		return err
	}
}

func count(t *testing.T, db *database.DB) (n int) {
	t.Helper()
	if err := db.QueryRow(t.Context(), `SELECT count(*) FROM thing`).Scan(&n); err != nil {
		t.Fatalf("count: %v", err)
	}
	return n
}

func TestWriteIsWholeOrAbsent(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		makeTable(t, db)
		boom := errors.New("boom")
		err := db.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
			if err := insert(1)(ctx, tx); err != nil {
				return err
			}
			return boom
		}})
		if !errors.Is(err, boom) {
			t.Errorf("err = %v, want the change's own", err)
		}
		if n := count(t, db); n != 0 {
			t.Errorf("%d rows after a failed change, want 0", n)
		}
	})
}

// What one caller submits is made in that order, also when it shares a commit.
func TestSubmittedChangesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		makeTable(t, db)
		release := hold(t, db)
		var waits []func() error
		for i := range 5 {
			waits = append(waits, db.Submit(t.Context(), database.Change{Do: func(
				ctx context.Context, tx *database.Tx,
			) error {
				var before int
				if err := tx.QueryRow(ctx, `SELECT count(*) FROM thing`).Scan(&before); err != nil {
					return err
				}
				if before != i {
					return fmt.Errorf("change %d is made behind %d others", i, before)
				}
				return insert(i)(ctx, tx)
			}}))
		}
		release()
		for _, wait := range waits {
			if err := wait(); err != nil {
				t.Error(err)
			}
		}
		if n := count(t, db); n != 5 {
			t.Errorf("%d rows, want 5", n)
		}
	})
}

// errHeld ends the change that held the committer, so that it commits nothing.
var errHeld = errors.New("held")

// hold keeps the committer busy until release is called, so that what is
// written meanwhile is committed together.
func hold(t *testing.T, db *database.DB) (release func()) {
	t.Helper()
	begun, end, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		var once sync.Once
		err := db.Write(context.Background(), database.Change{Do: func(context.Context, *database.Tx) error {
			once.Do(func() { close(begun) })
			<-end
			return errHeld
		}})
		if !errors.Is(err, errHeld) {
			t.Errorf("hold: %v", err)
		}
	}()
	<-begun
	return func() { close(end); <-done }
}

func TestBadChangeLeavesItsNeighboursAlone(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		makeTable(t, db)
		release := hold(t, db)
		results := make([]error, 20)
		var wg sync.WaitGroup
		for i := range results {
			wg.Go(func() {
				// each id twice
				results[i] = db.Write(context.Background(), database.Change{
					Lane: database.Urgent, Do: insert(i / 2 * 2),
				})
			})
		}
		release()
		wg.Wait()
		good, bad := 0, 0
		for _, err := range results {
			switch {
			case err == nil:
				good++
			case database.IsUnique(err):
				bad++
			default:
				t.Errorf("unexpected error: %v", err)
			}
		}
		if good != 10 || bad != 10 || count(t, db) != 10 {
			t.Errorf("good %d, bad %d, rows %d; want 10 each", good, bad, count(t, db))
		}
	})
}

func TestChangesThatWaitShareACommitAndAnInstant(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		release := hold(t, db)
		var mu sync.Mutex
		instants := map[time.Time]int{}
		hooks := 0
		var perCommit database.PerTx[bool]
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				err := db.Write(context.Background(), database.Change{Lane: database.Urgent, Do: func(
					_ context.Context, tx *database.Tx,
				) error {
					if hooked := perCommit.In(tx); !*hooked {
						*hooked = true
						tx.BeforeCommit(func(context.Context) error {
							mu.Lock()
							defer mu.Unlock()
							hooks++
							return nil
						})
					}
					mu.Lock()
					defer mu.Unlock()
					instants[tx.Now()]++
					return nil
				}})
				if err != nil {
					t.Errorf("write: %v", err)
				}
			})
		}
		waitQueued(t, db, 10)
		release()
		wg.Wait()
		if len(instants) != 1 || hooks != 1 {
			t.Errorf("%d instants and %d commits for 10 changes that waited together, want 1 and 1", len(instants),
				hooks)
		}
	})
}

// waitQueued waits until n changes are in the queue.
func waitQueued(t *testing.T, db *database.DB, n int) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); db.QueueLength() < n; {
		if time.Now().After(deadline) {
			t.Fatalf("only %d of %d changes were queued", db.QueueLength(), n)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestUrgentGoesFirstAndOrdinaryIsNotStarved(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		release := hold(t, db)
		var mu sync.Mutex
		var order []string
		var wg sync.WaitGroup
		note := func(name string, lane database.Lane) {
			wg.Go(func() {
				err := db.Write(context.Background(), database.Change{Lane: lane, Do: func(
					context.Context, *database.Tx,
				) error {
					mu.Lock()
					defer mu.Unlock()
					order = append(order, name)
					return nil
				}})
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		note("ordinary", database.Ordinary)
		waitQueued(t, db, 1)
		for range 100 { // more than one urgent commit takes
			note("urgent", database.Urgent)
		}
		waitQueued(t, db, 101)
		release()
		wg.Wait()
		if order[0] != "urgent" {
			t.Error("an ordinary change that came first went before the urgent ones")
		}
		if order[len(order)-1] == "ordinary" {
			t.Error("the ordinary change waited for every urgent one")
		}
	})
}

func TestWriteGivesUpBeforeItBegins(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		makeTable(t, db)
		release := hold(t, db)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := db.Write(ctx, database.Change{Do: insert(1)})
		release()
		if !fault.Is(err, fault.Unavailable) {
			t.Errorf("err = %v, want unavailable", err)
		}
		write(t, db, insert(2)) // goes through the queue after the abandoned one
		if n := count(t, db); n != 1 {
			t.Errorf("%d rows, want only the second change's", n)
		}
	})
}

func TestFullQueueIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, dbtest.SQLite(t))
	release := hold(t, db)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range database.OrdinaryQueue {
		wg.Go(func() { _ = db.Write(ctx, database.Change{Do: insert(1)}) })
	}
	waitQueued(t, db, database.OrdinaryQueue)
	err := db.Write(t.Context(), database.Change{Do: insert(1)})
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != fault.Unavailable || f.RetryAfter == 0 {
		t.Errorf("err = %v, want unavailable with a time to retry after", err)
	}
	cancel()
	wg.Wait()
	release()
}

// TestOneLogLeavesRoomForOthers: whoever floods a log has changes of its own refused, and no others.
func TestOneLogLeavesRoomForOthers(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		makeTable(t, db)
		release := hold(t, db)
		ctx, cancel := context.WithCancel(t.Context())
		var flood, other sync.WaitGroup
		for range database.OrdinaryQueue / 2 {
			flood.Go(func() { _ = db.Write(ctx, database.Change{Logs: []string{"a"}, Do: insert(1)}) })
		}
		waitQueued(t, db, database.OrdinaryQueue/2)
		err := db.Write(t.Context(), database.Change{Logs: []string{"a"}, Do: insert(1)})
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != fault.Unavailable || f.RetryAfter == 0 {
			t.Errorf("err = %v, want unavailable with a time to retry after", err)
		}
		other.Go(func() {
			if err := db.Write(t.Context(), database.Change{Logs: []string{"b"}, Do: insert(2)}); err != nil {
				t.Errorf("another log: %v", err)
			}
		})
		waitQueued(t, db, database.OrdinaryQueue/2+1)
		cancel()
		flood.Wait()
		release()
		other.Wait()
		write(t, db, insert(3)) // and nothing is left of the flood
		if err := db.Write(t.Context(), database.Change{Logs: []string{"a"}, Do: insert(4)}); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// TestManyLogsLeaveRoomForOthers: whoever floods several logs at once, such as those of organizations of their own,
// does not fill the queue either.
func TestManyLogsLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		makeTable(t, db)
		release := hold(t, db)
		ctx, cancel := context.WithCancel(t.Context())
		var flood []func() error
		for i := range 5 * database.OrdinaryQueue {
			logs := []string{string(rune('a' + i%5))}
			flood = append(flood, db.Submit(ctx, database.Change{Logs: logs, Do: insert(1)}))
		}
		other := db.Submit(t.Context(), database.Change{Logs: []string{"z"}, Do: insert(2)})
		cancel()
		for _, wait := range flood {
			if err := wait(); !fault.Is(err, fault.Unavailable) {
				t.Fatalf("err = %v, want unavailable", err)
			}
		}
		release()
		if err := other(); err != nil {
			t.Errorf("another log: %v", err)
		}
	})
}

func TestPanicInAChangeIsItsOwnError(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		makeTable(t, db)
		err := db.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
			if err := insert(1)(ctx, tx); err != nil {
				return err
			}
			panic("bug")
		}})
		if err == nil || fault.KindOf(err) != fault.Internal {
			t.Errorf("err = %v, want an internal error", err)
		}
		write(t, db, insert(2))
		if n := count(t, db); n != 1 {
			t.Errorf("%d rows, want 1", n)
		}
	})
}

func TestCloseFinishesQueuedChanges(t *testing.T) {
	t.Parallel()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		db, err := database.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		makeTable(t, db)
		release := hold(t, db)
		var wg sync.WaitGroup
		for i := range 30 {
			wg.Go(func() {
				if err := db.Write(context.Background(), database.Change{Do: insert(i)}); err != nil {
					t.Errorf("write %d: %v", i, err)
				}
			})
		}
		waitQueued(t, db, 30)
		wg.Go(func() {
			if err := db.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
		release()
		wg.Wait()
		if err := db.Write(t.Context(), database.Change{Do: insert(99)}); !fault.Is(err, fault.Unavailable) {
			t.Errorf("write after close: %v, want unavailable", err)
		}
		if n := count(t, dbtest.Open(t, o)); n != 30 {
			t.Errorf("%d rows after close, want 30", n)
		}
	})
}

func TestTwoReplicasLockLogsInOneOrder(t *testing.T) {
	t.Parallel()
	o := dbtest.Postgres(t)
	replicas := []*database.DB{dbtest.Open(t, o), dbtest.Open(t, o)}
	makeTable(t, replicas[0])
	write(t, replicas[0], insert(0))
	var wg sync.WaitGroup
	for r, db := range replicas {
		for i := range 50 {
			logs := []string{"a", "b"}
			if (i+r)%2 == 0 {
				logs = []string{"b", "a"}
			}
			wg.Go(func() {
				err := db.Write(context.Background(), database.Change{Logs: logs, Do: func(
					ctx context.Context, tx *database.Tx,
				) error {
					var note string
					if err := tx.QueryRow(ctx, `SELECT note FROM thing WHERE id = 0`).Scan(&note); err != nil {
						return err
					}
					// Read, then write what was read: only safe under the logs' locks.
					_, err := tx.Exec(ctx, `UPDATE thing SET note = $1 WHERE id = 0`, note+"x")
					return err
				}})
				if err != nil {
					t.Errorf("write: %v", err)
				}
			})
		}
	}
	wg.Wait()
	var note string
	if err := replicas[0].QueryRow(t.Context(), `SELECT note FROM thing WHERE id = 0`).Scan(&note); err != nil {
		t.Fatal(err)
	}
	if len(note) != 101 {
		t.Errorf("%d updates survived, want 100", len(note)-1)
	}
}

func TestReaderCannotWrite(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, dbtest.SQLite(t))
	makeTable(t, db)
	rows, err := db.Query(t.Context(), `INSERT INTO thing (id, note) VALUES (1, 'x') RETURNING id`)
	if err == nil {
		for rows.Next() {
		}
		err = rows.Err()
		rows.Close()
	}
	if err == nil {
		t.Error("a write went through the readers")
	}
	if n := count(t, db); n != 0 {
		t.Errorf("%d rows, want 0", n)
	}
}

func TestNoRows(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		makeTable(t, db)
		var id int
		if err := db.QueryRow(t.Context(), `SELECT id FROM thing`).Scan(&id); !errors.Is(err, sql.ErrNoRows) {
			t.Errorf("err = %v, want sql.ErrNoRows", err)
		}
	})
}
