package agent

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"writ/internal/agent/lease"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/toolname"
)

// leaseSkew is how far the clock of a client may differ from the server's.
const leaseSkew = 5 * time.Second

// LeaseUse is a call that a client says it decided by a lease.
type LeaseUse struct {
	OrgID, KeyID, AgentID, UserID string // the key that reports; agent and user may be empty
	LeaseID                       string
	Tool                          lease.Tool
	Number                        *int64    // as the client counts the calls of the lease; nil: it does not
	At                            time.Time // by the client's clock; zero: not stated
	ExecutionID                   string
	Blocked                       bool // the client says that it did not run: only its number counts
}

// LeaseUsed is what the report of a call under a lease shows.
type LeaseUsed struct {
	Problem string // why the call does not fit; empty: it does
	// First to Last are the numbers before this one that no report had; none: Last is less than First.
	First, Last int64
	Late        bool // the number is one that was missing
}

// UseLease checks a reported call against its lease, within the change that stores the report. Its number is taken
// even if it does not fit: it is reported.
func UseLease(ctx context.Context, tx *database.Tx, use LeaseUse) (used LeaseUsed, err error) {
	used.First = 1
	found, err := readLeases(ctx, tx, `l.org_id = $1 AND l.id = $2`, use.OrgID, use.LeaseID)
	if err != nil {
		return used, err
	}
	if len(found) == 0 {
		used.Problem = "there is no such lease"
		return used, nil
	}
	l := &found[0]
	taken := false
	if use.KeyID == l.KeyID && use.Number != nil && *use.Number >= 1 {
		if taken, err = l.take(ctx, tx, use, &used); err != nil {
			return used, err
		}
	}
	if use.Blocked {
		return used, nil
	}
	if used.Problem = l.misfit(use, tx.Now()); used.Problem != "" {
		return used, nil
	}
	if used.Problem, err = stoppedMeanwhile(ctx, tx, l, use); err != nil || used.Problem != "" {
		return used, err
	}
	if !taken {
		used.Problem = "another call was reported with this number of the lease"
	}
	return used, nil
}

// take stores the number of a call; false: another one has it. Clients count by ones from 1, and reports
// may come in any order.
func (l *Lease) take(ctx context.Context, tx *database.Tx, use LeaseUse, used *LeaseUsed) (bool, error) {
	var newest int64
	err := tx.QueryRow(ctx, `SELECT COALESCE(MAX(number), 0) FROM agent_lease_use WHERE lease_id = $1`,
		l.ID).Scan(&newest)
	if err != nil {
		return false, fmt.Errorf("read the uses of a lease: %w", err)
	}
	taken, err := tx.Exec(ctx, `
		INSERT INTO agent_lease_use (lease_id, number, execution_id)
		VALUES ($1, $2, $3)
		ON CONFLICT (lease_id, number) DO NOTHING`, l.ID, *use.Number, use.ExecutionID)
	if err != nil || taken == 0 {
		return false, database.Wrap(err, "store the use of a lease")
	}
	used.First, used.Last, used.Late = newest+1, *use.Number-1, *use.Number < newest
	return true, nil
}

// misfit is why a call is not what the lease permits; empty: it is.
func (l *Lease) misfit(use LeaseUse, now time.Time) string {
	switch {
	case use.KeyID != l.KeyID:
		return "the lease was given to another key"
	case use.AgentID != "" && use.AgentID != l.AgentID:
		return "the lease was given to another agent"
	case use.UserID != "" && use.UserID != l.UserID:
		return "the lease was given for another user"
	case !slices.Contains(l.Tools, use.Tool):
		return "the lease does not permit this tool"
	case use.At.IsZero():
		return "the report does not say when the call ran"
	case use.At.Before(l.Issued.Add(-leaseSkew)):
		return "the call ran before the lease was given"
	case !use.At.Before(l.Expires.Add(leaseSkew)):
		return "the call ran after the lease had ended"
	case use.At.After(now.Add(leaseSkew)):
		return "the report says that the call ran later than now"
	case use.Number == nil || *use.Number < 1:
		return "the report does not number the calls of the lease"
	}
	return ""
}

// stoppedMeanwhile is why a call must not have run: since the lease was given, and before the call,
// somebody stopped or suspended its agent or key, or stopped its tool. A stop that was lifted counts.
func stoppedMeanwhile(ctx context.Context, tx *database.Tx, l *Lease, use LeaseUse) (string, error) {
	at := database.Micros(use.At)
	stops, err := database.Collect(ctx, tx, func(s database.Scanner) (c concern, err error) {
		err = s.Scan(&c.scope, &c.subject)
		return c, err
	}, `
		WITH RECURSIVE line (id) AS (
			SELECT id FROM api_key WHERE id = $5
			UNION
			SELECT k.made_by FROM api_key k JOIN line l ON k.id = l.id WHERE k.made_by IS NOT NULL
		)
		SELECT s.scope, s.subject
		FROM agent_stop s
		WHERE s.org_id = $1 AND s.position > $2 AND s.stopped_at <= $3
			AND (s.scope IN ('organization', 'server', 'tool') OR s.scope = 'agent' AND s.subject = $4
				OR s.id IN (SELECT k.stop_id FROM agent_stop_key k JOIN line l ON k.key_id = l.id))`,
		l.OrgID, l.Index, at, l.AgentID, l.KeyID)
	if err != nil {
		return "", fmt.Errorf("read what was stopped during a lease: %w", err)
	}
	st := stopped(stops)
	hasTool := func(n toolname.Name) bool { return st.HasTool(n.Server, n.Tool) }
	if st.All || slices.ContainsFunc(namesOf(use.Tool), hasTool) {
		return "the call ran after the kill switch had stopped it", nil
	}
	suspended, err := suspendedMeanwhile(ctx, tx, l, use.At)
	if err != nil || !suspended {
		return "", err
	}
	return "the call ran after the agent had been suspended", nil
}

// namesOf are all names that a tool may stand for: a report does not say in which harness the call was made.
func namesOf(tool lease.Tool) (all []toolname.Name) {
	for _, source := range toolname.Hosts() {
		for _, n := range toolname.Candidates(tool.Tool, tool.Server, source) {
			all = append(all, n.Name)
		}
	}
	return all
}

// suspendedMeanwhile reports whether an agent that the lease counts for was suspended between the lease and a time,
// although it may be active again. The log tells: a row knows the present only.
func suspendedMeanwhile(ctx context.Context, tx *database.Tx, l *Lease, at time.Time) (bool, error) {
	agents, err := readConcerned(ctx, tx, l.OrgID, l.AgentID, l.KeyID)
	if err != nil {
		return false, fmt.Errorf("read the agents of a lease: %w", err)
	}
	for _, a := range agents {
		changes, err := audit.About(ctx, tx, audit.AboutQuery{
			Log:     audit.LogOf(l.OrgID),
			Action:  statusChanged,
			Subject: audit.Subject{Type: "agent", ID: a.id},
			After:   l.Index,
			Until:   at,
			Limit:   maxStatusChanges,
		})
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(changes, suspends) || len(changes) == maxStatusChanges {
			return true, nil
		}
	}
	return false, nil
}

// maxStatusChanges is how many changes of an agent's status during a lease are read. Where there are as many, nobody
// can tell what comes after them, and the agent counts as suspended.
const maxStatusChanges = 100

// suspends reports whether an entry about an agent's status suspends it, or was erased, so that nobody can tell.
func suspends(entry audit.Stored) bool {
	var said struct {
		Status Status `json:"status"`
	}
	return json.Unmarshal([]byte(entry.Payload), &said) != nil || said.Status != Active
}
