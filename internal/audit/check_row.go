package audit

import (
	"database/sql"

	"writ/internal/audit/ledger"
	"writ/internal/database"
)

// searchColumns are what entries are found by, as entryRow writes them.
var searchColumns = [...]string{
	"actor", "subject", "agent", "session", "plan", "step", "server", "tool", "verdict",
}

// checkedRow is an entry with what it is found by.
type checkedRow struct {
	Stored
	search [len(searchColumns)]sql.NullString
}

const selectChecked = `
	SELECT position, recorded_at, action, record, COALESCE(payload, ''), salt, leaf,
		actor, subject, agent, session, plan, step, server, tool, verdict
	FROM audit_entry
	WHERE log = $1 AND position >= $2 AND position < $3
	ORDER BY position`

func scanChecked(s database.Scanner) (e checkedRow, err error) {
	var leaf []byte
	into := []any{&e.Index, &e.Time, &e.Action, &e.Record, &e.Payload, &e.Salt, &leaf}
	for i := range e.search {
		into = append(into, &e.search[i])
	}
	if err := s.Scan(into...); err != nil {
		return checkedRow{}, err
	}
	copy(e.Leaf[:], leaf) // one of another length is not that of the record
	return e, nil
}

// differsFrom names a column that does not hold what the record does; empty: none.
func (e *checkedRow) differsFrom(r *ledger.Record) string {
	switch {
	case e.Time != r.Time:
		return "time"
	case e.Action != r.Action:
		return "action"
	}
	for i, want := range appendSearch(nil, r) {
		got := any(nil)
		if e.search[i].Valid {
			got = e.search[i].String
		}
		if got != want {
			return searchColumns[i]
		}
	}
	return ""
}
