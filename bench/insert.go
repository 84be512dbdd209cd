package main

import (
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// rowsPerCommit is how many spans writd puts into one change.
const rowsPerCommit = 500

// bareTable has the columns of writd's table of spans, and its one index.
const bareTable = `
	CREATE TABLE span (
		received_day BIGINT NOT NULL, trace_pk BIGINT NOT NULL, seq BIGINT NOT NULL,
		id TEXT NOT NULL, parent_id TEXT, session_id TEXT, kind TEXT NOT NULL, name TEXT NOT NULL,
		start_time BIGINT NOT NULL, end_time BIGINT, duration_ms BIGINT, status TEXT NOT NULL, attributes TEXT NOT NULL,
		tool_name TEXT, model TEXT, input_tokens BIGINT NOT NULL, output_tokens BIGINT NOT NULL, cache_read BIGINT NOT NULL,
		cache_write BIGINT NOT NULL, cost_nanos BIGINT NOT NULL,
		policy_id TEXT, policy_name TEXT, decision TEXT, rule_id TEXT,
		PRIMARY KEY (trace_pk, seq)
	)`

const bareColumns = 24

// Columns that the floor sets for every row.
const (
	pkColumn  = 1
	seqColumn = 2
)

// bare inserts rows that are ready in memory, durably, and does nothing else.
type bare struct {
	mu   sync.Mutex // one turn at a time
	db   *sql.DB
	rows [][]any
	next int // the next row, which also makes its key
}

// insertFloor inserts into a new database in a folder: GET /insert?for=2s.
func insertFloor(folder []byte) (http.Handler, error) {
	db, err := openDurable(filepath.Join(string(folder), "bare.db"))
	if err != nil {
		return nil, err
	}
	if _, err := db.Exec(bareTable); err != nil {
		return nil, fmt.Errorf("make the table: %w", err)
	}
	b := &bare{db: db, rows: bareRows(newWorkload())}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ready", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /insert", func(w http.ResponseWriter, r *http.Request) {
		length, err := time.ParseDuration(r.FormValue("for"))
		var rows int
		if err == nil {
			rows, err = b.insertFor(length)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		answer(w, insertedBody{Rows: rows})
	})
	return mux, nil
}

type insertedBody struct {
	Rows int `json:"rows"`
}

// bareRows are rows of the spans that ingest sends.
func bareRows(w *workload) [][]any {
	var rows [][]any
	for len(rows) < 16*spansPerRequest {
		t := w.trace(newID(), time.Now())
		for _, s := range w.spans(t, spansPerTrace) {
			rows = append(rows, []any{
				20_000, 0, 0, s.id, null(s.parent), s.session, s.kind, s.name,
				s.start.UnixMicro(), s.start.UnixMicro() + s.durationMs*1000, s.durationMs, s.status, s.attributes,
				null(s.tool), null(s.model), s.input, s.output, s.cacheRead, 0, s.costNanos,
				null(s.policyID), null(s.policyID), null(s.decision), null(s.ruleID),
			})
		}
	}
	return rows
}

func null(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func (b *bare) insertFor(length time.Duration) (rows int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for end := time.Now().Add(length); time.Now().Before(end); rows += rowsPerCommit {
		if err := b.commit(); err != nil {
			return 0, err
		}
	}
	return rows, nil
}

func (b *bare) commit() error {
	tx, err := b.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit this is a no-op
	insert, err := tx.Prepare("INSERT INTO span VALUES (?" + strings.Repeat(", ?", bareColumns-1) + ")")
	if err != nil {
		return err
	}
	defer insert.Close()
	for range rowsPerCommit {
		row := b.rows[b.next%len(b.rows)]
		row[pkColumn], row[seqColumn] = b.next/spansPerTrace, b.next%spansPerTrace
		b.next++
		if _, err := insert.Exec(row...); err != nil {
			return err
		}
	}
	return tx.Commit()
}
