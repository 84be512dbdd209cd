package intent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"writ/internal/database"
)

// longestLife is the longest life that an organization can set for its plans.
const longestLife = 30 * 24 * time.Hour

// Live is a plan that has neither ended nor expired.
type Live struct {
	ID, KeyID, AgentID   string
	CreatedAt, ExpiresAt time.Time
}

// LiveOf reads the latest live plan of each agent that has one.
func LiveOf(ctx context.Context, r database.Reader, orgID string, agentIDs []string, now time.Time) ([]Live, error) {
	if len(agentIDs) == 0 {
		return nil, nil
	}
	// An older one has expired: this bounds how far the index is read.
	args := []any{orgID, database.Micros(now), database.Micros(now.Add(-longestLife))}
	var rows []string
	for _, id := range agentIDs {
		args = append(args, id)
		rows = append(rows, fmt.Sprintf("($%d)", len(args)))
	}
	found, err := database.Collect(ctx, r, func(s database.Scanner) (l Live, err error) {
		err = s.Scan(&l.ID, &l.KeyID, &l.AgentID, database.ToTime(&l.CreatedAt), database.ToTime(&l.ExpiresAt))
		return l, err
	}, `
		SELECT id, key_id, agent_id, created_at, expires_at
		FROM plan
		WHERE org_id = $1 AND id IN (
			SELECT (
				SELECT p.id FROM plan p
				WHERE p.org_id = $1 AND p.agent_id = wanted.column1 AND p.created_at > $3 AND p.expires_at > $2
					AND p.status = 'active'
				ORDER BY p.created_at DESC, p.id DESC
				LIMIT 1
			)
			FROM (VALUES `+strings.Join(rows, ", ")+`) AS wanted
		)`, args...)
	return found, database.Wrap(err, "read the live plans of agents")
}
