package intent

import (
	"context"
	"database/sql"
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

// Holder is whose plans LastEnd reads. Without any member it is everybody's.
type Holder struct {
	AgentID string
	Keys    []string
	PlanID  string // the plan itself, and those that were accepted under it
}

// LastEnd is when the last live plan of a holder ends; nil: there is none.
func LastEnd(ctx context.Context, r database.Reader, orgID string, of Holder, now time.Time) (*time.Time, error) {
	var where database.Where
	where.And(`org_id = ?`, orgID)
	where.And(`created_at > ? AND expires_at > ? AND status = 'active'`, database.Micros(now.Add(-longestLife)),
		database.Micros(now))
	var any []string
	if of.AgentID != "" {
		any = append(any, `agent_id = `+where.Bind(of.AgentID))
	}
	for _, key := range of.Keys {
		any = append(any, `key_id = `+where.Bind(key))
	}
	if of.PlanID != "" {
		any = append(any, `id = `+where.Bind(of.PlanID), `parent_id = `+where.Bind(of.PlanID))
	}
	query := `SELECT MAX(expires_at) FROM plan` + where.String()
	if len(any) > 0 {
		query += ` AND (` + strings.Join(any, ` OR `) + `)`
	}
	var end sql.NullInt64
	if err := r.QueryRow(ctx, query, where.Args...).Scan(&end); err != nil || !end.Valid {
		return nil, database.Wrap(err, "find when the last plan ends")
	}
	at := database.Time(end.Int64)
	return &at, nil
}

// Has reports whether an organization has a plan of this id, live or not.
func Has(ctx context.Context, r database.Reader, orgID, id string) (has bool, err error) {
	err = r.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM plan WHERE id = $1 AND org_id = $2)`, id, orgID).Scan(&has)
	return has, database.Wrap(err, "look for a plan")
}
