package apikey

import (
	"encoding/binary"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
)

var noon = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

func numbered(n int) (hash keyHash) {
	binary.BigEndian.PutUint64(hash[:], uint64(n))
	return hash
}

func TestCacheTrust(t *testing.T) {
	t.Parallel()
	expires := noon.Add(500 * time.Millisecond)
	tests := []struct {
		name    string
		expires *time.Time
		after   time.Duration
		want    bool
	}{
		{"at once", nil, 0, true},
		{"within the second", nil, time.Second - 1, true},
		{"after the second", nil, time.Second, false},
		{"clock set back", nil, -1, false},
		{"before its expiry", &expires, 500*time.Millisecond - 1, true},
		{"at its expiry", &expires, 500 * time.Millisecond, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newCache()
			c.put(numbered(1), &cached{readAt: noon, expiresAt: tt.expires}, 0)
			if found, _ := c.get(numbered(1), noon.Add(tt.after)); (found != nil) != tt.want {
				t.Errorf("found = %v, want %t", found, tt.want)
			}
			if found, _ := c.get(numbered(2), noon.Add(tt.after)); found != nil {
				t.Error("found another key")
			}
		})
	}
}

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := newCache()
	for n := range cacheSize + 10 {
		c.put(numbered(n), &cached{readAt: noon}, 0)
		if len(c.entries) > cacheSize {
			t.Fatalf("%d entries, want at most %d", len(c.entries), cacheSize)
		}
		if found, _ := c.get(numbered(n), noon); found == nil {
			t.Fatalf("entry %d is not remembered", n)
		}
	}
}

func TestLookupBegunBeforeARevocationIsNotRemembered(t *testing.T) {
	t.Parallel()
	c := newCache()
	_, emptied := c.get(numbered(1), noon)
	c.empty()
	c.put(numbered(1), &cached{readAt: noon}, emptied)
	found, emptied := c.get(numbered(1), noon)
	if found != nil {
		t.Fatal("a stale entry came back")
	}
	c.put(numbered(1), &cached{readAt: noon}, emptied)
	if found, _ := c.get(numbered(1), noon); found == nil {
		t.Error("a lookup begun after the revocation is not remembered")
	}
	c.empty()
	if found, _ := c.get(numbered(1), noon); found != nil {
		t.Error("an entry outlived the revocation")
	}
}

func TestFailedFlushKeepsEverything(t *testing.T) {
	t.Parallel()
	db, err := database.Open(t.Context(), database.Options{SQLitePath: filepath.Join(t.TempDir(), "writ.db")})
	if err != nil {
		t.Fatal(err)
	}
	s := New(db, audit.Unsigned(db), slog.New(slog.DiscardHandler), nil)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s.used.note("a", noon)
	s.used.note("a", noon.Add(-time.Second))
	s.used.note("b", noon)
	if err := s.FlushLastUsed(t.Context()); !fault.Is(err, fault.Unavailable) {
		t.Fatalf("err = %v, want unavailable", err)
	}
	if kept := s.used.take(); len(kept) != 2 || !kept["a"].Equal(noon) || !kept["b"].Equal(noon) {
		t.Errorf("kept %v, want a and b at %v", kept, noon)
	}
}
