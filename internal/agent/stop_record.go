package agent

import (
	"context"
	"fmt"
	"slices"

	"writ/internal/audit"
	"writ/internal/audit/ledger"
	"writ/internal/database"
	"writ/internal/principal"
)

// begin records and stores a stop within a change, and sets its index. Its first entry stops everything; more follow
// where it has more keys than one can name.
func (s *Stop) begin(
	ctx context.Context, tx *database.Tx, log *audit.Log, by principal.Principal, orgID string, payload map[string]any,
) error {
	first, err := log.Append(ctx, tx, s.entry(by, orgID, s.recordedKeys(), payload))
	if err != nil {
		return err
	}
	s.Index = first.Index
	if err := insertStop(ctx, tx, orgID, *s); err != nil {
		return err
	}
	return s.nameOthers(ctx, tx, log, by, orgID)
}

// entry is one of the entries that begin the stop.
func (s *Stop) entry(by principal.Principal, orgID string, keys []string, payload map[string]any) audit.Entry {
	return audit.Entry{
		Log: audit.LogOf(orgID), Action: ledger.Killed, Actor: by,
		Subject:  audit.Subject{Type: string(s.Scope), ID: s.subjectID(orgID)},
		Decision: s.record(),
		Stop:     ledger.Stop{Scope: string(s.Scope), Keys: keys, IDs: []string{s.ID}},
		Payload:  payload,
	}
}

// nameOthers has further entries name the keys of the organization that stop, and that the first one could not: whoever
// verifies the log knows them by their names alone.
func (s *Stop) nameOthers(
	ctx context.Context, tx *database.Tx, log *audit.Log, by principal.Principal, orgID string,
) error {
	if len(s.Keys) == 0 {
		return nil
	}
	all, err := stoppedKeys(ctx, tx, orgID, *s)
	if err != nil {
		return err
	}
	named := s.recordedKeys()
	all = slices.DeleteFunc(all, func(key string) bool {
		_, known := slices.BinarySearch(named, key)
		return known
	})
	for keys := range slices.Chunk(all, maxStopKeys) {
		payload := map[string]any{"stop": s.ID, "continues": s.Index}
		if _, err := log.Append(ctx, tx, s.entry(by, orgID, keys, payload)); err != nil {
			return fmt.Errorf("name the keys of a stop: %w", err)
		}
	}
	return nil
}

// stoppedKeys are the keys of an organization that a stop stops: those that it has, and all that come from them. The
// trip of a key spares those that are bound to an agent.
func stoppedKeys(ctx context.Context, tx *database.Tx, orgID string, s Stop) ([]string, error) {
	keys, err := database.Collect(ctx, tx, database.Column[string], `
		WITH RECURSIVE line (id) AS (
			SELECT key_id FROM agent_stop_key WHERE stop_id = $2
			UNION
			SELECT k.id FROM api_key k
			JOIN line l ON k.made_by = l.id
			WHERE $3 = 0 OR NOT EXISTS (SELECT 1 FROM agent_key b WHERE b.key_id = k.id)
		)
		SELECT k.id FROM api_key k
		JOIN line l ON k.id = l.id
		WHERE k.org_id = $1
		ORDER BY k.id LIMIT $4`, orgID, s.ID, database.Bit(s.Scope == OfKey && s.Trip != ""), maxNamedKeys)
	return keys, database.Wrap(err, "find the keys that stop")
}

// payload is what the entry says until it is erased.
func (s Stop) payload() map[string]any {
	payload := map[string]any{"reason": s.Reason, "stop": s.ID}
	if s.Trip != "" {
		payload["trip"] = string(s.Trip)
	}
	if len(s.Keys) > maxStopKeys {
		payload["keys"] = len(s.Keys) // the record names only some
	}
	return payload
}

// recordedKeys are those that the entry names: a record has a limit.
func (s Stop) recordedKeys() []string { return s.Keys[:min(len(s.Keys), maxStopKeys)] }

// subjectID is the subject in the log.
func (s Stop) subjectID(orgID string) string {
	if s.Scope == OfOrganization {
		return orgID
	}
	return s.Subject
}

// record is what the entry says for good, in the members of decisions that it is about.
func (s Stop) record() (d audit.Decision) {
	switch s.Scope {
	case OfAgent:
		d.Agent = s.Subject
	case OfServer:
		d.Server = s.Subject
	case OfTool:
		d.Tool = s.Subject
	case OfPlan:
		d.Plan = s.Subject
	}
	return d
}
