package main

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"
)

// Everything received lately is moved, whole traces at a time, and nothing twice.
func TestMoveBack(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "telemetry.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	exec := func(statement string, args ...any) {
		t.Helper()
		if _, err := db.Exec(statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec(`CREATE TABLE trace_key (pk INTEGER, received_day INTEGER)`)
	exec(`CREATE TABLE trace (pk INTEGER PRIMARY KEY, received_day INTEGER)`)
	exec(`CREATE TABLE span (trace_pk INTEGER, seq INTEGER, received_day INTEGER, PRIMARY KEY (trace_pk, seq))`)
	const traces = oldAtOnce + 7
	now := time.Now().UTC().Add(-time.Minute)
	day := now.Unix() / 86_400
	for n := range int64(traces) {
		pk := (now.UnixMicro() + n) << 10
		exec(`INSERT INTO trace_key VALUES (?, ?)`, pk, day)
		exec(`INSERT INTO trace VALUES (?, ?)`, pk, day)
		exec(`INSERT INTO span VALUES (?, 0, ?), (?, 1, ?)`, pk, day, pk, day)
	}
	rounds := 0
	for more := true; more; rounds++ {
		if more, err = moveBack(t.Context(), db); err != nil {
			t.Fatal(err)
		}
	}
	if rounds != 3 {
		t.Errorf("%d rounds, want two that move and one that finds nothing", rounds)
	}
	first := now.AddDate(0, 0, -oldDays).UnixMicro() << 10
	for table, rows := range map[string]int{"trace_key": traces, "trace": traces, "span": 2 * traces} {
		key := "pk"
		if table == "span" {
			key = "trace_pk"
		}
		var moved int
		if err := db.QueryRow(`SELECT COUNT(*) FROM `+table+` WHERE received_day = ? AND `+key+` BETWEEN ? AND ?`,
			day-oldDays, first, first+traces<<10).Scan(&moved); err != nil {
			t.Fatal(err)
		}
		if moved != rows {
			t.Errorf("%s: %d rows were moved, want %d", table, moved, rows)
		}
	}
}
