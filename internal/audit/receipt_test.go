package audit_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"sync"
	"testing"

	"writ/internal/audit"
	"writ/internal/audit/ledger"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/fault"
)

// TestReceipts appends in changes of every small size and checks every receipt
// against the record that was stored.
func TestReceipts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := open(t, db)
		keys := keysOf(t, s)
		n := 0
		for size := 1; size <= 12; size++ {
			var entries []audit.Entry
			for range size {
				entries = append(entries, decision("org", n))
				n++
			}
			for _, a := range mustDecide(t, db, s.Log, entries...) {
				receipt, err := a.Receipt()
				if err != nil {
					t.Fatal(err)
				}
				stored, err := audit.ReadEntries(t.Context(), db, "org", a.Index, 1)
				if err != nil || len(stored) != 1 {
					t.Fatal(err)
				}
				if _, err := receipt.CheckRecord([]byte(stored[0].Record), keys); err != nil {
					t.Errorf("receipt of entry %d: %v", a.Index, err)
				}
				if c, err := receipt.Check(keys); err != nil || c.Size != int64(n) {
					t.Errorf("entry %d: checkpoint of %d entries (%v), want %d", a.Index, c.Size, err, n)
				}
			}
		}
	})
}

// TestConcurrentDecisionsShareCheckpoints has many callers wait for one commit.
func TestConcurrentDecisionsShareCheckpoints(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := open(t, db)
		keys := keysOf(t, s)
		var wg sync.WaitGroup
		for i := range 120 {
			wg.Go(func() {
				appended, err := decide(context.Background(), db, s.Log, decision(fmt.Sprint("org", i%3), i))
				if err != nil {
					t.Error(err)
					return
				}
				receipt, err := appended[0].Receipt()
				if err == nil {
					_, err = receipt.Check(keys)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for i := range 3 {
			if report := export(t, s, fmt.Sprint("org", i), "", audit.ExportOptions{}); report.Size != 40 {
				t.Errorf("org%d has %d entries, want 40", i, report.Size)
			}
		}
	})
}

// TestNoReceiptWithoutCommit asks inside the change, after a change that failed
// beside good ones, and after a commit nobody knows the outcome of.
func TestNoReceiptWithoutCommit(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := open(t, db)
		fill(t, db, s.Log, "org", 0, 3)
		before, err := s.Checkpoint(t.Context(), "org")
		if err != nil {
			t.Fatal(err)
		}
		var early *audit.Appended
		refused := errors.New("no")
		err = db.Write(t.Context(), database.Change{Logs: []string{"org"}, Do: func(
			ctx context.Context, tx *database.Tx,
		) error {
			if early, err = s.Append(ctx, tx, decision("org", 3)); err != nil {
				return err
			}
			if _, err := early.Receipt(); !errors.Is(err, audit.ErrNotCommitted) {
				t.Errorf("a receipt before the commit: %v", err)
			}
			return refused
		}})
		if !errors.Is(err, refused) {
			t.Fatal(err)
		}
		if _, err := early.Receipt(); !errors.Is(err, audit.ErrNotCommitted) {
			t.Errorf("a receipt after a rollback: %v", err)
		}
		if after, err := s.Checkpoint(t.Context(), "org"); err != nil || after != before {
			t.Errorf("the rollback left a checkpoint: %s (%v)", after, err)
		}
	})
}

// TestFailedCommitReleasesNothing has the last step before the commit fail, after
// the checkpoint was signed.
func TestFailedCommitReleasesNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := open(t, db)
		fill(t, db, s.Log, "org", 0, 255)
		var added *audit.Appended
		lost := errors.New("lost")
		err := db.Write(t.Context(), database.Change{Logs: []string{"org"}, Do: func(
			ctx context.Context, tx *database.Tx,
		) (err error) {
			if added, err = s.Append(ctx, tx, decision("org", 255)); err != nil {
				return err
			}
			tx.BeforeCommit(func(context.Context) error { return lost })
			return nil
		}})
		if !errors.Is(err, lost) {
			t.Fatal(err)
		}
		if _, err := added.Receipt(); !errors.Is(err, audit.ErrNotCommitted) {
			t.Errorf("receipt: %v", err)
		}
		// The place is taken by another entry, and the tile that was rolled back is
		// written again.
		mustDecide(t, db, s.Log, decision("org", 1000))
		if report := export(t, s, "org", "", audit.ExportOptions{}); report.Size != 256 {
			t.Errorf("%d entries", report.Size)
		}
		if _, _, err := s.Entry(t.Context(), "org", 3); err != nil {
			t.Error(err)
		}
	})
}

func TestUnknownOutcomeReleasesNothing(t *testing.T) {
	t.Parallel()
	o, line := dbtest.PostgresOnALine(t)
	db := dbtest.Open(t, o)
	s := open(t, db)
	fill(t, db, s.Log, "org", 0, 3)
	line.LoseCommits(true)
	appended, err := decide(t.Context(), db, s.Log, decision("org", 3))
	if !fault.Is(err, fault.Unavailable) || len(appended) != 1 {
		t.Fatalf("err = %v", err)
	}
	if _, err := appended[0].Receipt(); !errors.Is(err, audit.ErrNotCommitted) {
		t.Errorf("receipt: %v", err)
	}
	line.LoseCommits(false)
	// It was committed, though nobody was told; the log goes on after it.
	mustDecide(t, db, s.Log, decision("org", 4))
	if report := export(t, s, "org", "", audit.ExportOptions{}); report.Size != 5 {
		t.Errorf("%d entries, want 5", report.Size)
	}
}

// TestReplicasSignOneHistory has two replicas append to one organization. Every
// receipt of either must lie on the one history that is there in the end.
func TestReplicasSignOneHistory(t *testing.T) {
	t.Parallel()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		replicas := []*database.DB{dbtest.Open(t, o), dbtest.Open(t, o)}
		services := []*audit.Service{open(t, replicas[0]), open(t, replicas[1])}
		if services[0].PublicKey() != services[1].PublicKey() {
			t.Fatal("the replicas are two installations")
		}
		keys := keysOf(t, services[0])
		var mu sync.Mutex
		seen := map[string]ledger.Checkpoint{}
		var wg sync.WaitGroup
		for r, db := range replicas {
			for i := range 60 {
				wg.Go(func() {
					appended, err := decide(context.Background(), db, services[r].Log, decision("org", 1000*r+i))
					if err != nil {
						t.Error(err)
						return
					}
					receipt, err := appended[0].Receipt()
					if err != nil {
						t.Error(err)
						return
					}
					c, err := receipt.Check(keys)
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					seen[receipt.Checkpoint] = c
				})
			}
		}
		wg.Wait()
		now, err := audit.ReadHead(t.Context(), replicas[0], "org")
		if err != nil {
			t.Fatal(err)
		}
		for text, c := range seen {
			proof, err := services[1].ConsistencyProof(t.Context(), "org", c.Size, now.Size)
			if err == nil {
				err = ledger.CheckConsistency(proof, c.Size, c.Root, now.Size, now.Root())
			}
			if err != nil {
				t.Errorf("a checkpoint of %d entries is not of this history: %v", c.Size, err)
			}
			export(t, services[c.Size%2], "org", text, audit.ExportOptions{})
		}
	})
}

func TestRotatedKey(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		key := checkpointKey
		log, err := audit.Open(t.Context(), db, func(context.Context, *audit.Log) (ed25519.PrivateKey, error) {
			return key, nil
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := audit.New(log, nil)
		fill(t, db, s.Log, "org", 0, 3)
		old := s.PublicKey()
		earlier, err := s.Checkpoint(t.Context(), "org")
		if err != nil {
			t.Fatal(err)
		}
		if _, key, err = ed25519.GenerateKey(nil); err != nil {
			t.Fatal(err)
		}
		if err := s.RefreshKey(t.Context()); err != nil {
			t.Fatal(err)
		}
		// Nothing was appended since: the export is signed by the new key all the same.
		export(t, s, "org", "", audit.ExportOptions{})
		fill(t, db, s.Log, "org", 3, 1)
		both, err := ledger.ParseKeys(old + "\n" + s.PublicKey())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ledger.OpenCheckpoint(earlier, both); err != nil {
			t.Error(err)
		}
		_, receipt, err := s.Entry(t.Context(), "org", 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := receipt.Check(keysOf(t, s)); err != nil {
			t.Errorf("after an append: %v", err)
		}
	})
}

// TestAppendWithoutTheKey leaves a head that nobody signed: no server signs it later.
func TestAppendWithoutTheKey(t *testing.T) {
	t.Parallel()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		plain := dbtest.Open(t, o)
		appended := mustDecide(t, plain, audit.Unsigned(plain), decision("org", 0))
		if _, err := appended[0].Receipt(); !errors.Is(err, audit.ErrNotSigned) {
			t.Errorf("receipt: %v", err)
		}
		s := open(t, dbtest.Open(t, o))
		if text, err := s.Checkpoint(t.Context(), "org"); !fault.Is(err, fault.Unavailable) {
			t.Errorf("checkpoint = %q, %v; want a refusal", text, err)
		}
	})
}

// A log that was not opened has no signer, and must not leave an unsigned head behind.
func TestLogThatWasNotOpenedCommitsNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		if _, err := decide(t.Context(), db, &audit.Log{}, decision("org", 0)); err == nil {
			t.Error("what nobody can sign was committed")
		}
		if head, err := audit.ReadHead(t.Context(), db, "org"); err != nil || head.Size != 0 {
			t.Errorf("head = %+v, %v", head, err)
		}
	})
}

func TestKeyThatCannotBeHad(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		away := errors.New("away")
		if _, err := audit.Open(t.Context(), db, func(context.Context, *audit.Log) (ed25519.PrivateKey, error) {
			return nil, away
		}, nil); !errors.Is(err, away) {
			t.Errorf("err = %v", err)
		}
		if _, err := audit.Open(t.Context(), db, withKey(checkpointKey[:10]), nil); err == nil {
			t.Error("a key that is none is taken")
		}
	})
}
