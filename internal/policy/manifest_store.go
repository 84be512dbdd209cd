package policy

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"writ/internal/database"
	"writ/internal/principal"
)

// storeManifest keeps what a manifest says beside what it lists.
func storeManifest(ctx context.Context, tx *database.Tx, p principal.Principal, m Manifest) error {
	life := sql.NullInt64{Int64: int64(m.PlanLife / time.Second), Valid: m.PlanLife > 0}
	_, err := tx.Exec(ctx, `
		INSERT INTO agent_manifest (key_id, org_id, agent_id, plan_ttl_seconds, updated_at)
		VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (key_id) DO UPDATE
		SET org_id = excluded.org_id, agent_id = excluded.agent_id, plan_ttl_seconds = excluded.plan_ttl_seconds, updated_at = excluded.updated_at`,
		p.KeyID, p.OrgID, m.AgentID, life, database.Micros(tx.Now()))
	if err != nil {
		return fmt.Errorf("store the manifest of agent %s: %w", m.AgentID, err)
	}
	return nil
}

// PlanLife is how long a plan of the key lives by the manifest that it registered
// for the agent, or 0 where none says. An agent that is not stated is the key's own.
func (s *Service) PlanLife(ctx context.Context, p principal.Principal, agentID string) (time.Duration, error) {
	var registered string
	var seconds sql.NullInt64
	err := s.db.QueryRow(ctx, `
		SELECT agent_id, plan_ttl_seconds
		FROM agent_manifest
		WHERE key_id = $1 AND org_id = $2`, p.KeyID, p.OrgID).Scan(&registered, &seconds)
	switch {
	case errors.Is(err, sql.ErrNoRows) || err == nil && agentID != "" && agentID != registered:
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("read the manifest of key %s: %w", p.KeyID, err)
	}
	return time.Duration(seconds.Int64) * time.Second, nil
}
