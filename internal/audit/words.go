package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"writ/internal/database"
)

// Entries are found by the values of their columns, which have few different ones and an index each, and by nothing
// else: an index of words would cost every decision, and payloads are not looked into.

const (
	valuesRead    = 1000 // different values of a column that are compared
	valuesMatched = 20   // of which so many are looked up
)

// foundBy are the columns, which entries each has, and the filter by a value.
var foundBy = []struct {
	column, of string
	filter     func(value string) Filter
}{
	{"agent", "agent IS NOT NULL", func(value string) Filter { return Filter{Agent: value} }},
	{"tool", "tool IS NOT NULL", func(value string) Filter { return Filter{Tool: value} }},
	{"server", "server IS NOT NULL", func(value string) Filter { return Filter{Server: value} }},
	{"action", "verdict IS NULL", func(value string) Filter { return Filter{Action: value} }},
}

// Found is an entry and the value by which it was found.
type Found struct {
	Stored
	Value string
}

// Search finds entries that have an agent, tool, server or action that matches, recorded at a time or before, newest
// first.
func (s *Service) Search(
	ctx context.Context, log string, matches func(value string) bool, until time.Time, limit int,
) ([]Found, error) {
	byIndex := map[int64]Found{}
	for _, by := range foundBy {
		values, err := s.values(ctx, log, by.column, by.of)
		if err != nil {
			return nil, fmt.Errorf("read what entries of log %s are found by: %w", log, err)
		}
		values = slices.DeleteFunc(values, func(value string) bool { return !matches(value) })
		for _, value := range values[:min(len(values), valuesMatched)] {
			f := by.filter(value)
			f.Until = until.Add(time.Microsecond)
			entries, err := Latest(ctx, s.db, log, f, limit)
			if err != nil {
				return nil, err
			}
			for _, e := range entries {
				if _, known := byIndex[e.Index]; !known {
					byIndex[e.Index] = Found{e, value}
				}
			}
		}
	}
	found := make([]Found, 0, len(byIndex))
	for _, f := range byIndex {
		found = append(found, f)
	}
	slices.SortFunc(found, func(a, b Found) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(b.Index, a.Index))
	})
	return found[:min(len(found), limit)], nil
}

// values reads the different values of a column by going from one to the next in its index.
func (s *Service) values(ctx context.Context, log, column, of string) ([]string, error) {
	return database.Collect(ctx, s.db, func(row database.Scanner) (value string, err error) {
		err = row.Scan(&value)
		return value, err
	}, fmt.Sprintf(`
		WITH RECURSIVE known (value) AS (
			SELECT MIN(%[1]s) FROM audit_entry WHERE log = $1 AND %[2]s
			UNION ALL
			SELECT (SELECT MIN(%[1]s) FROM audit_entry WHERE log = $1 AND %[2]s AND %[1]s > known.value)
			FROM known WHERE known.value IS NOT NULL
		)
		SELECT value FROM known WHERE value IS NOT NULL LIMIT %[3]d`, column, of, valuesRead), log)
}
