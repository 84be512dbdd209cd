package testenv

import (
	"fmt"
	"math"
	"strings"

	"writ/internal/audit"
)

// Number reads one number.
func (e *Env) Number(query string, args ...any) (n int64) {
	e.T.Helper()
	if err := e.DB.QueryRow(e.T.Context(), query, args...).Scan(&n); err != nil {
		e.T.Fatalf("%s: %v", query, err)
	}
	return n
}

// Entries are those of a log, oldest first.
func (e *Env) Entries(log string) []audit.Stored {
	e.T.Helper()
	entries, err := audit.ReadEntries(e.T.Context(), e.DB, log, 0, math.MaxInt32)
	if err != nil {
		e.T.Fatalf("read the log %s: %v", log, err)
	}
	return entries
}

// Actions are those of a log's entries, oldest first.
func (e *Env) Actions(log string) (actions []string) {
	e.T.Helper()
	for _, entry := range e.Entries(log) {
		actions = append(actions, entry.Action)
	}
	return actions
}

// Text is everything that tables hold.
func (e *Env) Text(tables ...string) string {
	e.T.Helper()
	var b strings.Builder
	for _, table := range tables {
		for _, row := range e.rowsOf(table) {
			b.WriteString(row)
		}
	}
	return b.String()
}

// Rows are the rows of each table: a line "table.column=value" for each column.
func (e *Env) Rows(tables ...string) map[string][]string {
	e.T.Helper()
	all := map[string][]string{}
	for _, table := range tables {
		all[table] = e.rowsOf(table)
	}
	return all
}

func (e *Env) rowsOf(table string) (texts []string) {
	e.T.Helper()
	rows, err := e.DB.Query(e.T.Context(), `SELECT * FROM `+table+` ORDER BY 1`)
	if err != nil {
		e.T.Fatalf("read %s: %v", table, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		e.T.Fatalf("read %s: %v", table, err)
	}
	values, targets := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		targets[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			e.T.Fatalf("read %s: %v", table, err)
		}
		texts = append(texts, rowText(table, columns, values))
	}
	if err := rows.Err(); err != nil {
		e.T.Fatalf("read %s: %v", table, err)
	}
	return texts
}

func rowText(table string, columns []string, values []any) string {
	var b strings.Builder
	for i, value := range values {
		if raw, ok := value.([]byte); ok {
			value = string(raw)
		}
		fmt.Fprintf(&b, "%s.%s=%v\n", table, columns[i], value)
	}
	return b.String()
}
