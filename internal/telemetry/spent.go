package telemetry

import (
	"context"
	"fmt"
	"time"

	"writ/internal/database"
)

// Spender is whose spending is counted.
type Spender string

// The spenders.
const (
	SpentByOrganization Spender = "organization"
	SpentByAgent        Spender = "agent"
	SpentByUser         Spender = "user"
	SpentBySession      Spender = "session"
)

// lateBy is how long after it happened a trace still counts when it is received.
const lateBy = 24 * time.Hour

// Spent is the usage since a time, by the server's clock: a trace counts when it is received, whatever time its sender
// gave it, unless that is more than a day before. Totals that are reported without spans count in full from the hour
// of their last change. id names the agent, user or session; it is empty for the organization.
func (s *Service) Spent(ctx context.Context, orgID string, by Spender, id string, since time.Time) (Usage, error) {
	if by == SpentByOrganization {
		id = ""
	}
	traces, sessions, err := by.conditions(id)
	if err != nil {
		return Usage{}, err
	}
	from := database.Micros(since)
	spans, err := scanSums(s.db.QueryRow(ctx, `
		SELECT `+sums+`
		FROM trace
		WHERE org_id = $1 AND `+traces+` AND start_time >= $3 AND received_day >= $4 AND pk >= $5`,
		orgID, id, from-lateBy.Microseconds(), receivedDay(from), from<<tagBits))
	if err != nil {
		return Usage{}, fmt.Errorf("add up what traces cost: %w", err)
	}
	reported, err := scanSums(s.db.QueryRow(ctx, `
		SELECT `+sums+`
		FROM reported_usage
		WHERE org_id = $1 AND superseded = 0 AND `+sessions+` AND bucket >= $3`, orgID, id, floor(from, hourMicros)))
	if err != nil {
		return Usage{}, fmt.Errorf("add up what was reported: %w", err)
	}
	return spans.Add(reported), nil
}

// conditions is SQL for what belongs to a spender, with its id as $2: traces, and reports, which only name a session.
// All without a name are one spender.
func (b Spender) conditions(id string) (traces, sessions string, err error) {
	const of = `session_id IN (SELECT id FROM session WHERE org_id = $1 AND `
	switch {
	case b == SpentByOrganization:
		return `$2 = ''`, `$2 = ''`, nil
	case b == SpentByAgent:
		return `agent_id = $2`, of + `agent_id = $2)`, nil
	case b == SpentByUser && id == "":
		return `$2 = '' AND user_id IS NULL`, `$2 = '' AND ` + of + `user_id IS NULL)`, nil
	case b == SpentByUser:
		return `user_id = $2`, of + `user_id = $2)`, nil
	case b == SpentBySession && id == "":
		return `$2 = '' AND session_id IS NULL`, `session_id = $2`, nil
	case b == SpentBySession:
		return `session_id = $2`, `session_id = $2`, nil
	}
	return "", "", fmt.Errorf("unknown spender %q", string(b))
}
