package main

import (
	"database/sql"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

func TestInsertFloorInsertsWhatItSays(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	floor, err := insertFloor([]byte(folder))
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	floor.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/insert?for=10ms", nil))
	var inserted insertedBody
	if err := json.Unmarshal(answer.Body.Bytes(), &inserted); err != nil || inserted.Rows < rowsPerCommit {
		t.Fatalf("answer %d: %s (%v), want at least %d rows", answer.Code, answer.Body, err, rowsPerCommit)
	}
	db, err := sql.Open("sqlite", filepath.Join(folder, "bare.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var rows, traces int
	if err := db.QueryRow(`SELECT count(*), count(DISTINCT trace_pk) FROM span WHERE length(attributes) = ?`,
		attributeBytes).Scan(&rows, &traces); err != nil {
		t.Fatal(err)
	}
	if rows != inserted.Rows || traces != rows/spansPerTrace {
		t.Errorf("%d rows of %d traces, want %d of %d", rows, traces, inserted.Rows, inserted.Rows/spansPerTrace)
	}
}

func TestExplainNamesTheIndex(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`CREATE TABLE thing (a TEXT, b TEXT); CREATE INDEX thing_by_a ON thing (a)`); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		`SELECT * FROM thing WHERE a = ''`:            "USING INDEX thing_by_a",
		`SELECT * FROM thing WHERE b = '' ORDER BY b`: "SCAN thing",
	} {
		steps, err := explainOne(t.Context(), db, query)
		if err != nil || !strings.Contains(steps, want) {
			t.Errorf("plan of %s = %q, %v; want it to hold %q", query, steps, err, want)
		}
	}
}
