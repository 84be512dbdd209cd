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

// storeManifest stores the part of a manifest that is not a policy.
func storeManifest(ctx context.Context, tx *database.Tx, p principal.Principal, m Manifest) error {
	life := sql.NullInt64{Int64: int64(m.PlanLife / time.Second), Valid: m.PlanLife > 0}
	_, err := tx.Exec(ctx, `
		INSERT INTO agent_manifest (key_id, org_id, agent_id, plan_ttl_seconds, updated_at, require_proofs,
			proxy_timeout_seconds, proxy_retries)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (key_id) DO UPDATE
		SET org_id = excluded.org_id, agent_id = excluded.agent_id, plan_ttl_seconds = excluded.plan_ttl_seconds,
			updated_at = excluded.updated_at, require_proofs = excluded.require_proofs,
			proxy_timeout_seconds = excluded.proxy_timeout_seconds, proxy_retries = excluded.proxy_retries`,
		p.KeyID, p.OrgID, m.AgentID, life, database.Micros(tx.Now()), database.Bit(m.Proxy.RequireProofs),
		int64(m.Proxy.Timeout/time.Second), m.Proxy.Retries)
	return database.Wrap(err, "store the manifest of agent %s", m.AgentID)
}

// PlanLife is the life of a plan according to the manifest that the key registered for the agent, or 0 if that gives
// none. An empty agent id means the key's own agent.
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

// ProxySettings are those of the manifest that a key has registered; stated is false where it has none.
func (s *Service) ProxySettings(
	ctx context.Context, p principal.Principal,
) (settings ProxySettings, stated bool, err error) {
	var seconds int64
	err = s.db.Prepared().QueryRow(ctx, `
		SELECT require_proofs, proxy_timeout_seconds, proxy_retries
		FROM agent_manifest
		WHERE key_id = $1 AND org_id = $2`, p.KeyID, p.OrgID).Scan(database.ToBool(&settings.RequireProofs), &seconds,
		&settings.Retries)
	if errors.Is(err, sql.ErrNoRows) {
		return ProxySettings{}, false, nil
	}
	settings.Timeout = time.Duration(seconds) * time.Second
	return settings, err == nil, database.Wrap(err, "read what a manifest says of the proxy")
}
