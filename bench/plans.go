package main

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
)

// plan is how SQLite finds what a list asks for.
type plan struct {
	*filter
	steps string
}

// orders are the columns a list is ordered by.
var orders = map[string]string{"traces": "start_time", "sessions": "last_activity_at"}

// tables are what lists are read from.
var tables = map[string]string{"traces": "trace", "sessions": "session"}

// explain asks SQLite for its plans on the database that was just read from. The
// statements are the service's in all that a plan depends on.
func explain(ctx context.Context, i installation) ([]plan, error) {
	db, err := openTelemetry(i)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	var plans []plan
	for n := range filters {
		f := &filters[n]
		at := orders[f.list]
		where := "org_id = '' AND " + at + " >= 0"
		if f.where != "" {
			where += " AND " + f.where
		}
		steps, err := explainOne(ctx, db, fmt.Sprintf(`SELECT * FROM %s WHERE %s ORDER BY %s DESC, id DESC LIMIT 51`,
			tables[f.list], where, at))
		if err != nil {
			return nil, fmt.Errorf("explain %s of %s: %w", f.name, f.list, err)
		}
		plans = append(plans, plan{f, steps})
	}
	return plans, nil
}

// openTelemetry opens the telemetry of an installation on SQLite, for reading.
func openTelemetry(i installation) (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+filepath.Join(i.folder, "telemetry.db")+"?mode=ro&_pragma=query_only(ON)")
}

func explainOne(ctx context.Context, db *sql.DB, query string) (string, error) {
	rows, err := db.QueryContext(ctx, "EXPLAIN QUERY PLAN "+query)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var steps []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			return "", err
		}
		steps = append(steps, detail)
	}
	return strings.Join(steps, "; "), rows.Err()
}
