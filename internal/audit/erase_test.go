package audit_test

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/fault"
	"writ/internal/principal"
)

var owner = principal.Principal{Kind: principal.User, UserID: "u1", Role: principal.Owner}

func TestErasePayload(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := open(t, db)
		fill(t, db, s.Log, "org", 0, 5)
		fill(t, db, s.Log, "other", 0, 5)
		earlier, err := s.Checkpoint(t.Context(), "org")
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time there is nothing left to do
			if err := s.ErasePayload(t.Context(), owner, "org", 2, "asked for by the person"); err != nil {
				t.Fatal(err)
			}
		}
		entry, receipt, err := s.Entry(t.Context(), "org", 2)
		if err != nil || entry.Payload != "" || entry.Salt != nil {
			t.Errorf("entry = %+v, %v; want no payload and no salt", entry, err)
		}
		if _, err := receipt.CheckRecord([]byte(entry.Record), keysOf(t, s)); err != nil {
			t.Errorf("the proof broke: %v", err)
		}
		report := export(t, s, "org", earlier, audit.ExportOptions{})
		if report.Size != 6 || report.Erased != 1 || report.Payloads != 5 {
			t.Errorf("report = %+v; want one erased and one entry that says so", report)
		}
		last, _, err := s.Entry(t.Context(), "org", 5)
		if err != nil || last.Action != "payload.erased" ||
			!strings.Contains(last.Record, `"subject":{"id":"2","type":"entry"}`) {
			t.Errorf("last = %+v, %v", last, err)
		}
		if report := export(t, s, "other", "", audit.ExportOptions{}); report.Erased != 0 || report.Size != 5 {
			t.Errorf("another organization's log = %+v", report)
		}
	})
}

func TestErasePayloadRefuses(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := open(t, db)
		fill(t, db, s.Log, "org", 0, 2)
		err := db.Write(t.Context(), database.Change{Logs: []string{"org"}, Do: func(
			ctx context.Context, tx *database.Tx,
		) error {
			return s.BeginEpoch(ctx, tx, "org", audit.Lost{})
		}})
		if err != nil {
			t.Fatal(err)
		}
		admin := owner
		admin.Role = principal.Admin
		for name, c := range map[string]struct {
			who   principal.Principal
			index int64
			want  fault.Kind
		}{
			"an admin":                    {admin, 0, fault.Forbidden},
			"a key":                       {principal.Principal{Kind: principal.Key, KeyID: "k"}, 0, fault.Forbidden},
			"no such entry":               {owner, 3, fault.NotFound},
			"a negative entry":            {owner, -1, fault.NotFound},
			"what the log says of itself": {owner, 2, fault.Conflict},
		} {
			if err := s.ErasePayload(t.Context(), c.who, "org", c.index, ""); fault.KindOf(err) != c.want {
				t.Errorf("%s: %v, want %s", name, err, c.want)
			}
		}
		if report := export(t, s, "org", "", audit.ExportOptions{}); report.Size != 3 || report.Erased != 0 {
			t.Errorf("report = %+v", report)
		}
	})
}

func TestRetirePayloads(t *testing.T) {
	t.Parallel()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		c := &clock{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
		o.Now = c.Now
		db := dbtest.Open(t, o)
		s := open(t, db)
		fill(t, db, s.Log, "org", 0, 600) // more than two slices, many of one instant
		c.now = c.now.Add(24 * time.Hour)
		fill(t, db, s.Log, "org", 600, 10)
		fill(t, db, s.Log, "other", 0, 1)
		c.now = c.now.Add(12 * time.Hour)
		for range 2 { // a second run finds nothing
			if err := s.RetirePayloads(t.Context(), 24*time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		report := export(t, s, "org", "", audit.ExportOptions{})
		if report.Erased != 600 || report.Payloads != 13 || report.Size != 613 {
			t.Errorf("report = %+v; want 600 erased, and three entries that say so", report)
		}
		c.now = c.now.Add(24 * time.Hour)
		change(t, db, `UPDATE audit_head SET erased_until = $1`, database.Micros(c.now.Add(time.Hour)))
		if err := s.RetirePayloads(t.Context(), 24*time.Hour); err != nil {
			t.Fatal(err)
		}
		report = export(t, s, "org", "", audit.ExportOptions{})
		if report.Erased != 610 || report.Size != 614 {
			t.Errorf("a day later: %+v; want those of the log itself kept", report)
		}
		if report := export(t, s, "other", "", audit.ExportOptions{}); report.Erased != 1 || report.Size != 2 {
			t.Errorf("the other log: %+v", report)
		}
	})
}

func TestExportWithoutPayloads(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := open(t, db)
		fill(t, db, s.Log, "org", 0, 1203) // several pages
		report := export(t, s, "org", "", audit.ExportOptions{Since: 700, WithoutPayloads: true})
		if report.From != 700 || report.Erased != 503 || report.Payloads != 0 || report.Size != 1203 {
			t.Errorf("report = %+v", report)
		}
	})
}

// TestRestoredLog goes on in a new epoch, with proofs over the border.
func TestRestoredLog(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := open(t, db)
		fill(t, db, s.Log, "org", 0, 5)
		earlier, err := s.Checkpoint(t.Context(), "org")
		if err != nil {
			t.Fatal(err)
		}
		err = db.Write(t.Context(), database.Change{Logs: []string{"org"}, Do: func(
			ctx context.Context, tx *database.Tx,
		) error {
			return s.BeginEpoch(ctx, tx, "org", audit.Lost{Known: true, Entries: 3})
		}})
		if err != nil {
			t.Fatal(err)
		}
		fill(t, db, s.Log, "org", 5, 2)
		report := export(t, s, "org", earlier, audit.ExportOptions{})
		if len(report.Restores) != 1 || report.Restores[0].Index != 5 || report.Restores[0].Lost != 3 ||
			report.Epoch != report.Restores[0].Epoch {
			t.Errorf("report = %+v", report)
		}
		entry, receipt, err := s.Entry(t.Context(), "org", 2)
		if err != nil || receipt.Epoch != report.Epoch {
			t.Fatalf("receipt = %+v, %v", receipt, err)
		}
		if record, err := receipt.CheckRecord([]byte(entry.Record), keysOf(t, s)); err != nil || record.Epoch != 0 {
			t.Errorf("record = %+v, %v", record, err)
		}
	})
}

// TestErasedIsGoneFromTheFile looks for what was erased in the file itself, small
// and too large for a page.
func TestErasedIsGoneFromTheFile(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"small": 1, "large": 5000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := dbtest.SQLite(t)
			db, err := database.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			s := open(t, db)
			secret := decision("org", 1)
			secret.Payload = map[string]any{"n": strings.Repeat("a person's words ", size)}
			mustDecide(t, db, s.Log, secret, decision("org", 2))
			if err := s.ErasePayload(t.Context(), owner, "org", 0, ""); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(o.SQLitePath)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(content, []byte("agent2")) || bytes.Contains(content, []byte("a person's words")) {
				t.Error("the file still holds what was erased, or nothing at all")
			}
		})
	}
}
