package audit_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/principal"
)

func entry(log string, n int) audit.Entry {
	return audit.Entry{
		Log: log, Action: "thing.changed", Actor: principal.Principal{Kind: principal.User, UserID: "u1"},
		Subject: audit.Subject{Type: "thing", ID: fmt.Sprint(n)}, Payload: map[string]any{"n": n, "note": "é"},
	}
}

func appendTo(ctx context.Context, db *database.DB, entries ...audit.Entry) error {
	log := audit.Unsigned(db)
	var logs []string
	for _, e := range entries {
		logs = append(logs, e.Log)
	}
	return db.Write(ctx, database.Change{Logs: logs, Do: func(ctx context.Context, tx *database.Tx) error {
		for _, e := range entries {
			if _, err := log.Append(ctx, tx, e); err != nil {
				return err
			}
		}
		return nil
	}})
}

// verify rebuilds the whole tree from the stored records with x/mod's own
// storage scheme and compares leaf by leaf, then the root.
func verify(t *testing.T, db *database.DB, log string, want int) []audit.Stored {
	t.Helper()
	head, err := audit.ReadHead(t.Context(), db, log)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := audit.ReadEntries(t.Context(), db, log, 0, want+1)
	if err != nil {
		t.Fatal(err)
	}
	if int(head.Size) != want || len(entries) != want {
		t.Fatalf("log %s: head says %d, %d entries stored, want %d", log, head.Size, len(entries), want)
	}
	var stored []tlog.Hash
	read := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		hashes := make([]tlog.Hash, len(indexes))
		for i, x := range indexes {
			hashes[i] = stored[x]
		}
		return hashes, nil
	})
	for i, e := range entries {
		if e.Index != int64(i) || e.Leaf != tlog.RecordHash([]byte(e.Record)) {
			t.Fatalf("log %s: entry %d has index %d or a leaf that is not its record's", log, i, e.Index)
		}
		hashes, err := tlog.StoredHashes(int64(i), []byte(e.Record), read)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, hashes...)
	}
	root, err := tlog.TreeHash(head.Size, read)
	if err != nil {
		t.Fatal(err)
	}
	if head.Root() != root {
		t.Fatalf("log %s: the head's root is not the tree's", log)
	}
	return entries
}

func TestRootAtEverySize(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		verify(t, db, "never-used", 0)
		for size := 1; size <= 20; size++ {
			if err := appendTo(t.Context(), db, entry("org", size)); err != nil {
				t.Fatal(err)
			}
			verify(t, db, "org", size)
		}
	})
}

func TestRecordSaysWhatHappened(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		if err := appendTo(t.Context(), db, entry("org", 7)); err != nil {
			t.Fatal(err)
		}
		stored := verify(t, db, "org", 1)[0]
		var record struct {
			V       int
			Log     string
			Index   int
			Time    int64
			Action  string
			Actor   struct{ Kind, ID string }
			Subject struct{ Type, ID string }
			Payload string
		}
		if err := json.Unmarshal([]byte(stored.Record), &record); err != nil {
			t.Fatal(err)
		}
		if record.V != 1 || record.Log != "org" || record.Action != "thing.changed" || record.Actor.Kind != "user" ||
			record.Actor.ID != "u1" || record.Subject.ID != "7" || record.Time == 0 {
			t.Errorf("record = %s", stored.Record)
		}
		mac := hmac.New(sha256.New, stored.Salt)
		mac.Write([]byte(stored.Payload))
		if got := hex.EncodeToString(mac.Sum(nil)); got != record.Payload {
			t.Errorf("the record commits to %s, the payload gives %s", record.Payload, got)
		}
		if want := `{"n":7,"note":"\u00e9"}`; stored.Payload != want {
			t.Errorf("payload = %s, want %s", stored.Payload, want)
		}
	})
}

func TestAppendNeedsTheDeclaredLog(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		err := db.Write(t.Context(), database.Change{Logs: []string{"other"}, Do: func(
			ctx context.Context, tx *database.Tx,
		) error {
			_, err := audit.Unsigned(db).Append(ctx, tx, entry("org", 1))
			return err
		}})
		if err == nil || !strings.Contains(err.Error(), "declare") {
			t.Errorf("err = %v, want a refusal", err)
		}
	})
}

func TestGenerationRisesWithChangesOnly(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		observation := entry("org", 2)
		observation.Observation = true
		if err := appendTo(t.Context(), db, entry("org", 1), observation, entry("org", 3)); err != nil {
			t.Fatal(err)
		}
		head, err := audit.ReadHead(t.Context(), db, "org")
		if err != nil || head.Generation != 2 {
			t.Errorf("generation = %d (%v), want 2", head.Generation, err)
		}
	})
}

func TestFailedChangeLeavesNoEntry(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		if err := appendTo(t.Context(), db, entry("org", 1)); err != nil {
			t.Fatal(err)
		}
		err := db.Write(t.Context(), database.Change{Logs: []string{"org"}, Do: func(
			ctx context.Context, tx *database.Tx,
		) error {
			if _, err := audit.Unsigned(db).Append(ctx, tx, entry("org", 2)); err != nil {
				return err
			}
			return fmt.Errorf("no")
		}})
		if err == nil {
			t.Fatal("the change did not fail")
		}
		verify(t, db, "org", 1)
	})
}

// TestReplicasAppendToOneLog has two processes' worth of databases append to
// the same logs at once.
func TestReplicasAppendToOneLog(t *testing.T) {
	t.Parallel()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		replicas := []*database.DB{dbtest.Open(t, o), dbtest.Open(t, o)}
		var wg sync.WaitGroup
		for r, db := range replicas {
			for i := range 40 {
				wg.Go(func() {
					first, second := "a", "b"
					if (r+i)%2 == 0 {
						first, second = "b", "a"
					}
					if err := appendTo(context.Background(), db, entry(first, i), entry(second, i)); err != nil {
						t.Errorf("append: %v", err)
					}
				})
			}
		}
		wg.Wait()
		verify(t, replicas[0], "a", 80)
		verify(t, replicas[1], "b", 80)
	})
}

func TestBeginEpoch(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		if err := appendTo(t.Context(), db, entry("org", 1), entry("org", 2)); err != nil {
			t.Fatal(err)
		}
		err := db.Write(t.Context(), database.Change{Logs: []string{"org"}, Do: func(
			ctx context.Context, tx *database.Tx,
		) error {
			return audit.Unsigned(db).BeginEpoch(ctx, tx, "org", audit.Lost{Known: true, Entries: 5})
		}})
		if err != nil {
			t.Fatal(err)
		}
		entries := verify(t, db, "org", 3)
		if got, want := entries[2].Payload, `{"entries":5,"from":2,"known":true}`; got != want {
			t.Errorf("payload = %s, want %s", got, want)
		}
		heads, err := audit.ReadHeads(t.Context(), db)
		if err != nil || len(heads) != 1 || heads[0].Epoch < 1_000_000_000 {
			t.Fatalf("heads = %+v, %v; want an epoch that is the present second", heads, err)
		}
		epoch := fmt.Sprintf(`"epoch":%d`, heads[0].Epoch)
		if !strings.Contains(entries[2].Record, epoch) || !strings.Contains(entries[1].Record, `"epoch":0`) {
			t.Errorf("records = %s, %s", entries[1].Record, entries[2].Record)
		}
	})
}
