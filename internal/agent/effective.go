package agent

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"writ/internal/database"
)

// stoppedIn are the keys that the stops of an organization reach which are not lifted, with the stop: those that it
// names, and all that come from them. It says of keys what concerning says of one.
const stoppedIn = `
	WITH RECURSIVE reached (id, stop_id, spares) AS (
		SELECT k.key_id, s.id, CASE WHEN s.scope = 'key' AND s.trip <> '' THEN 1 ELSE 0 END
		FROM agent_stop s
		JOIN agent_stop_key k ON k.stop_id = s.id
		WHERE s.org_id = $1 AND s.lifted_at IS NULL
		UNION
		SELECT k.id, r.stop_id, r.spares
		FROM api_key k
		JOIN reached r ON k.made_by = r.id
		WHERE r.spares = 0 OR NOT EXISTS (SELECT 1 FROM agent_key b WHERE b.key_id = k.id)
	)`

// keyOf pairs agents with their keys: those that are bound to them or, where none are, those that their id was sent
// with.
const keyOf = `
	SELECT b.agent_id AS agent_id, b.key_id AS key_id FROM agent_key b WHERE b.org_id = $1
	UNION ALL
	SELECT s.agent_id, s.key_id FROM agent_seen s
	WHERE s.org_id = $1 AND NOT EXISTS (SELECT 1 FROM agent_key b WHERE b.org_id = $1 AND b.agent_id = s.agent_id)`

// StoppedKeys are those of some keys of an organization that the kill switch has stopped, alone or with it. They are
// judged as those of RefuseStopped.
func (s *Service) StoppedKeys(ctx context.Context, orgID string, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	where := database.Where{Args: []any{orgID}}
	stopped, err := database.Collect(ctx, s.db.Prepared(), database.Column[string], stoppedIn+`
		SELECT k.id FROM api_key k
		WHERE k.org_id = $1 AND k.id IN (`+bindAll(&where, ids)+`)
			AND (k.id IN (SELECT id FROM reached) OR EXISTS (
				SELECT 1 FROM agent_stop p WHERE p.org_id = $1 AND p.lifted_at IS NULL AND p.scope = 'organization'))`,
		where.Args...)
	return stopped, database.Wrap(err, "look for stopped keys")
}

// isKilled is the condition that agent a cannot act: it is stopped itself, or its organization is, or all its keys are.
const isKilled = `
	(EXISTS (SELECT 1 FROM agent_stop p WHERE p.org_id = $1 AND p.lifted_at IS NULL
		AND (p.scope = 'organization' OR p.scope = 'agent' AND p.subject = a.id))
	OR a.id IN (` + stoppedIn + `
		SELECT k.agent_id FROM (` + keyOf + `) k
		LEFT JOIN reached r ON r.id = k.key_id
		GROUP BY k.agent_id
		HAVING COUNT(*) = COUNT(r.id)))`

// maxStoppedKeys is how many stopped keys are told of an agent.
const maxStoppedKeys = 100

// addStops tells of agents what stops them, and which of their keys are stopped. An agent that cannot act is killed.
func addStops(ctx context.Context, r database.Reader, orgID string, agents []Agent) error {
	var stopping bool
	err := r.QueryRow(ctx, `SELECT COUNT(*) > 0 FROM agent_stop WHERE org_id = $1 AND lifted_at IS NULL`,
		orgID).Scan(&stopping)
	if err != nil || !stopping || len(agents) == 0 {
		return database.Wrap(err, "look for stops")
	}
	keys, err := keysWithStops(ctx, r, orgID, agents)
	if err != nil {
		return err
	}
	stops, err := stopsOf(ctx, r, orgID, agents, keys)
	if err != nil {
		return err
	}
	for i := range agents {
		a := &agents[i]
		if a.Stop = a.nearest(stops, a.noteKeys(keys[a.ID])); a.Stop != nil {
			a.Status = Killed
		}
	}
	return nil
}

// noteKeys notes which keys of the agent are stopped, and gives the stop of the first if all are; empty: one may act.
func (a *Agent) noteKeys(keys []keyStop) (stopID string) {
	stopped := 0
	for _, k := range keys {
		if k.stopID == "" {
			continue
		}
		if stopped++; stopped <= maxStoppedKeys {
			a.StoppedKeys = append(a.StoppedKeys, k.keyID)
		}
	}
	if stopped == 0 || stopped < len(keys) {
		return ""
	}
	return keys[0].stopID
}

// nearest is the stop that is told of the agent: its own, else the organization's, else that of its keys.
func (a *Agent) nearest(stops []Stop, ofKeys string) *Stop {
	for _, is := range []func(s Stop) bool{
		func(s Stop) bool { return s.Scope == OfAgent && s.Subject == a.ID },
		func(s Stop) bool { return s.Scope == OfOrganization },
		func(s Stop) bool { return s.ID == ofKeys },
	} {
		if i := slices.IndexFunc(stops, is); i >= 0 {
			return &stops[i]
		}
	}
	return nil
}

// keyStop is a key of an agent, and a stop that reaches it; empty: none.
type keyStop struct{ agentID, keyID, stopID string }

// keysWithStops reads the keys of agents, sorted, by agent.
func keysWithStops(
	ctx context.Context, r database.Reader, orgID string, agents []Agent,
) (map[string][]keyStop, error) {
	where := database.Where{Args: []any{orgID}}
	found, err := database.Collect(ctx, r, func(s database.Scanner) (k keyStop, err error) {
		err = s.Scan(&k.agentID, &k.keyID, &k.stopID)
		return k, err
	}, stoppedIn+`
		SELECT k.agent_id, k.key_id, COALESCE(MIN(r.stop_id), '') FROM (`+keyOf+`) k
		LEFT JOIN reached r ON r.id = k.key_id
		WHERE k.agent_id IN (`+bindAll(&where, idsOf(agents))+`)
		GROUP BY k.agent_id, k.key_id
		ORDER BY k.agent_id, k.key_id`, where.Args...)
	if err != nil {
		return nil, fmt.Errorf("read the stopped keys of agents: %w", err)
	}
	by := map[string][]keyStop{}
	for _, k := range found {
		by[k.agentID] = append(by[k.agentID], k)
	}
	return by, nil
}

// stopsOf reads the stops of agents, of their organization and of their keys, the latest first.
func stopsOf(
	ctx context.Context, r database.Reader, orgID string, agents []Agent, keys map[string][]keyStop,
) ([]Stop, error) {
	ofKeys := map[string]bool{"": true}
	for _, of := range keys {
		for _, k := range of {
			ofKeys[k.stopID] = true
		}
	}
	where := database.Where{Args: []any{orgID}}
	stops, err := database.Collect(ctx, r, scanStop, selectStops+`
		WHERE org_id = $1 AND lifted_at IS NULL AND (scope = 'organization'
			OR scope = 'agent' AND subject IN (`+bindAll(&where, idsOf(agents))+`)
			OR id IN (`+bindAll(&where, slices.Sorted(maps.Keys(ofKeys)))+`))
		ORDER BY position DESC`, where.Args...)
	return stops, database.Wrap(err, "read what stops agents")
}

func idsOf(agents []Agent) []string {
	ids := make([]string, len(agents))
	for i := range agents {
		ids[i] = agents[i].ID
	}
	return ids
}

// bindAll binds values and gives their placeholders as a list.
func bindAll(where *database.Where, values []string) string {
	marks := make([]string, len(values))
	for i, value := range values {
		marks[i] = where.Bind(value)
	}
	return strings.Join(marks, ", ")
}
