package agent

import (
	"context"
	"fmt"
	"slices"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// keysOf are the keys that a stop of a subject names, sorted: its own, and all that these made unless they are too
// many. Decisions find the others by where they come from.
func (s *Service) keysOf(
	ctx context.Context, tx *database.Tx, orgID string, stop Stop, more []string,
) ([]string, error) {
	if stop.Scope != OfAgent && stop.Scope != OfKey {
		return nil, nil
	}
	missing, err := s.sources.MissingKey(ctx, tx, orgID, more)
	if err != nil {
		return nil, err
	}
	if missing != "" {
		return nil, fault.Field("keys", "must be ids of API keys of the organization")
	}
	roots := []string{stop.Subject}
	if stop.Scope == OfAgent {
		if roots, err = s.rootsOf(ctx, tx, orgID, stop.Subject); err != nil {
			return nil, err
		}
	}
	roots = slices.Concat(roots, more)
	slices.Sort(roots)
	if roots = slices.Compact(roots); len(roots) > maxStopKeys {
		return roots, nil
	}
	made, err := s.madeFrom(ctx, tx, orgID, roots, stop)
	if err != nil {
		return nil, err
	}
	if stop.Scope == OfKey && !slices.Contains(made, stop.Subject) {
		return nil, fault.New(fault.NotFound, "no such API key")
	}
	slices.Sort(made)
	if made = slices.Compact(made); len(made) > maxStopKeys {
		return roots, nil
	}
	return made, nil
}

// madeFrom are some keys and those that they made. The trip of a key leaves out what is bound to an agent,
// and what that made: nobody stops an agent with a key that is not bound to it.
func (s *Service) madeFrom(
	ctx context.Context, tx *database.Tx, orgID string, roots []string, stop Stop,
) ([]string, error) {
	if stop.Scope != OfKey || stop.Trip == "" {
		return s.sources.MadeFrom(ctx, tx, orgID, roots)
	}
	made, err := database.Collect(ctx, tx, database.Column[string], `
		WITH RECURSIVE line (id) AS (
			SELECT id FROM api_key WHERE id = $2
			UNION
			SELECT k.id FROM api_key k
			JOIN line l ON k.made_by = l.id
			WHERE NOT EXISTS (SELECT 1 FROM agent_key b WHERE b.key_id = k.id)
		)
		SELECT k.id FROM api_key k JOIN line l ON k.id = l.id WHERE k.org_id = $1`, orgID, stop.Subject)
	return made, database.Wrap(err, "find the keys that stop with a key")
}

// rootsOf are the keys that an agent is known by: those that are bound to it or, if none are,
// those that its id was sent with. An id is missing only if nothing knows it.
func (s *Service) rootsOf(ctx context.Context, tx *database.Tx, orgID, agentID string) ([]string, error) {
	a, missing := find(ctx, tx, orgID, agentID)
	if missing != nil && !fault.Is(missing, fault.NotFound) || len(a.Keys) > 0 {
		return a.Keys, missing
	}
	used, err := usedWith(ctx, tx, orgID, agentID)
	if err != nil || len(used) > 0 || missing == nil {
		return used, err
	}
	if s.sources.IsDelegate != nil { // it may not have called yet, and the key that delegated to it is not its own
		if waits, err := s.sources.IsDelegate(ctx, tx, orgID, agentID); err != nil || waits {
			return nil, err
		}
	}
	return nil, missing
}

// stopBound stops the keys of an agent that is killed, within the change that binds them.
func (s *Service) stopBound(ctx context.Context, tx *database.Tx, p principal.Principal, a Agent) error {
	if a.Status != Killed || len(a.Keys) == 0 {
		return nil
	}
	_, _, err := s.kill(ctx, tx, p, Stop{
		Scope: OfAgent, Subject: a.ID, Reason: "the agent was stopped before this key was bound to it",
	}, nil)
	return err
}

// KeyStopped reports whether the kill switch has stopped a key or its organization. It checks no right: the edge asks.
func (s *Service) KeyStopped(ctx context.Context, orgID, keyID string) (bool, error) {
	stops, err := concerning(ctx, s.db.Prepared(), orgID, "", keyID)
	st := stopped(stops)
	return st.All, err
}

// NotOwn is the first of some ids that is no agent of a stopped key; empty: all are, or the key is not stopped. Its
// agents are those that it is bound to or, if there are none, those whose ids it has sent and that are bound to no key.
func (s *Service) NotOwn(ctx context.Context, orgID, keyID string, ids []string) (string, error) {
	if stopped, err := s.KeyStopped(ctx, orgID, keyID); err != nil || !stopped {
		return "", err
	}
	own, err := database.Collect(ctx, s.db, database.Column[string], `
		SELECT agent_id FROM agent_key WHERE org_id = $1 AND key_id = $2
		UNION
		SELECT s.agent_id FROM agent_seen s
		WHERE s.org_id = $1 AND s.key_id = $2
			AND NOT EXISTS (SELECT 1 FROM agent_key k WHERE k.org_id = $1 AND k.key_id = $2)
			AND NOT EXISTS (SELECT 1 FROM agent_key k WHERE k.org_id = $1 AND k.agent_id = s.agent_id)`, orgID, keyID)
	if err != nil {
		return "", fmt.Errorf("read the agents of a key: %w", err)
	}
	for _, id := range ids {
		if !slices.Contains(own, id) {
			return id, nil
		}
	}
	return "", nil
}
