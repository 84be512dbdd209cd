package agent

import (
	"context"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
)

// RequireActive refuses an agent that is not registered and active. Unless keyID is empty, a person must have bound the
// key to it: to a key no other agent exists.
func RequireActive(ctx context.Context, r database.Reader, orgID, agentID, keyID string) error {
	a, err := find(ctx, r, orgID, agentID)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	bound := false
	for _, id := range a.Keys {
		bound = bound || id == keyID
	}
	switch {
	case keyID != "" && (err != nil || !a.isRegistered() || !bound):
		return fault.New(fault.Forbidden, "this API key is not bound to a registered agent with that id")
	case err != nil || !a.isRegistered():
		return fault.New(fault.NotFound, "no such registered agent: register it first (writ agents register)")
	case a.Status != Active:
		return fault.New(fault.Conflict, "the agent is %s", a.Status)
	}
	return nil
}

// Fits reports whether a key may be used beside a certificate of an agent: a person has bound it to that agent, or
// neither has the agent any keys nor the key any agent. It changes only with the organization's log.
func (s *Service) Fits(ctx context.Context, orgID, agentID, keyID string) (bool, error) {
	var registered, here, keys, agents int64
	err := s.db.Prepared().QueryRow(ctx, `
		SELECT
			(SELECT COUNT(*) FROM agent WHERE org_id = $1 AND id = $2),
			(SELECT COUNT(*) FROM agent_key WHERE org_id = $1 AND agent_id = $2 AND key_id = $3),
			(SELECT COUNT(*) FROM agent_key WHERE org_id = $1 AND agent_id = $2),
			(SELECT COUNT(*) FROM agent_key WHERE key_id = $3)`, orgID, agentID, keyID).
		Scan(&registered, &here, &keys, &agents)
	if err != nil {
		return false, database.Wrap(err, "compare a certificate with a key")
	}
	return registered > 0 && (here > 0 || keys == 0 && agents == 0), nil
}

// Attest reports until when a certificate and a key together prove that a call is of an agent; false: they do not. It
// is false wherever nobody can tell. But for the passing of time it changes only with the organization's log.
func (s *Service) Attest(
	ctx context.Context, orgID, agentID, keyID, certificateID string,
) (until time.Time, ok bool, err error) {
	if s.sources.Certified == nil {
		return time.Time{}, false, nil
	}
	if until, ok, err = s.sources.Certified(ctx, orgID, certificateID, agentID); err != nil || !ok {
		return time.Time{}, false, err
	}
	ok, err = s.Fits(ctx, orgID, agentID, keyID)
	return until, ok, err
}
