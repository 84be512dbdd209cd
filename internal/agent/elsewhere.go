package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"writ/internal/audit"
	"writ/internal/audit/ledger"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// Keys may be made in another organization with one of this. They stop with it. Decisions
// there compare the generation of that organization's log, so it gets an entry too, by
// nobody's name: what its members see of it is that some of their keys are stopped.

// elsewhere are the organizations whose logs a change of the kill switch holds beside its own.
type elsewhere struct {
	held   []string
	needed []string // found to be concerned, and not held
}

// errElsewhere has a change run again with the logs that it needs.
var errElsewhere = errors.New("the logs of other organizations are needed")

// holds reports whether the change holds the log of an organization, and notes it otherwise.
func (e *elsewhere) holds(orgID string) bool {
	held := slices.Contains(e.held, orgID)
	if !held {
		e.needed = append(e.needed, orgID)
	}
	return held
}

// maxTries is how often a change of the kill switch begins again, because keys were made in
// yet another organization meanwhile.
const maxTries = 5

// writeAsKiller makes a change of a person who may use the kill switch: owners and admins,
// and approvers if the organization says so.
func (s *Service) writeAsKiller(
	ctx context.Context, p principal.Principal,
	do func(ctx context.Context, tx *database.Tx, e *elsewhere) error,
) error {
	if p.Kind != principal.User || p.OrgID == "" {
		return fault.New(fault.Forbidden, "only a person may use the kill switch")
	}
	if err := p.Require(principal.KillAgents); err != nil {
		return err
	}
	e := &elsewhere{}
	for range maxTries {
		logs := []string{audit.LogOf(p.OrgID)}
		for _, orgID := range e.held {
			logs = append(logs, audit.LogOf(orgID))
		}
		err := s.db.Write(ctx, database.Change{Lane: database.Urgent, Logs: logs, Do: func(
			ctx context.Context, tx *database.Tx,
		) error {
			e.needed = nil
			if err := s.requireKiller(ctx, tx, p); err != nil {
				return err
			}
			return do(ctx, tx, e)
		}})
		if !errors.Is(err, errElsewhere) {
			return err
		}
		e.held = append(e.held, e.needed...)
	}
	return fault.New(fault.Conflict, "keys are being made in other organizations: try again")
}

// requireKiller looks again whether a person may use the kill switch, within the change.
func (s *Service) requireKiller(ctx context.Context, tx *database.Tx, p principal.Principal) error {
	role, err := s.sources.Role(ctx, tx, p.OrgID, p.UserID)
	if err != nil {
		return err
	}
	settings, err := readSettings(ctx, tx, p.OrgID)
	if err != nil {
		return err
	}
	if !role.May(principal.KillAgents) || role == principal.Approver && !settings.ApproversMayKill {
		return fault.New(fault.Forbidden, "your role in this organization does not use the kill switch")
	}
	return nil
}

// killElsewhere stops what the keys of a stop made in other organizations.
func (s *Service) killElsewhere(ctx context.Context, tx *database.Tx, orgID string, e *elsewhere, stop Stop) error {
	if e == nil || s.sources.MadeElsewhere == nil {
		return nil
	}
	made, err := s.sources.MadeElsewhere(ctx, tx, orgID, stop.Keys)
	if err != nil {
		return err
	}
	if err := withoutStopped(ctx, tx, stop.ID, made); err != nil {
		return err
	}
	orgs := slices.Sorted(maps.Keys(made))
	for _, org := range orgs {
		e.holds(org)
	}
	if len(e.needed) > 0 {
		return errElsewhere
	}
	for _, org := range orgs {
		child := Stop{
			ID:        database.NewID(),
			Scope:     OfKey,
			Subject:   made[org][0],
			Keys:      made[org],
			StoppedAt: tx.Now(),
			parent:    stop.ID,
			Reason:    "a key that these come from was stopped in another organization",
		}
		if child.Index, err = s.recordElsewhere(ctx, tx, org, ledger.Killed, child); err != nil {
			return err
		}
		if err := insertStop(ctx, tx, org, child); err != nil {
			return err
		}
	}
	return nil
}

// withoutStopped takes out the keys that are stopped already because of a stop.
func withoutStopped(ctx context.Context, tx *database.Tx, parent string, made map[string][]string) error {
	stopped, err := database.Collect(ctx, tx, database.Column[string], `
		SELECT k.key_id FROM agent_stop s
		JOIN agent_stop_key k ON k.stop_id = s.id
		WHERE s.parent_id = $1 AND s.lifted_at IS NULL`, parent)
	for org, keys := range made {
		made[org] = slices.DeleteFunc(keys, func(key string) bool { return slices.Contains(stopped, key) })
		if len(made[org]) == 0 {
			delete(made, org)
		}
	}
	return database.Wrap(err, "read what is stopped elsewhere")
}

// liftElsewhere lifts what some stops stopped in other organizations.
func (s *Service) liftElsewhere(ctx context.Context, tx *database.Tx, e *elsewhere, stops []Stop) error {
	type child struct {
		Stop
		orgID string
	}
	var all []child
	for _, stop := range stops {
		children, err := database.Collect(ctx, tx, func(s database.Scanner) (c child, err error) {
			c.Scope = OfKey
			err = s.Scan(&c.ID, &c.orgID, &c.Subject)
			return c, err
		}, `SELECT id, org_id, subject FROM agent_stop WHERE parent_id = $1 AND lifted_at IS NULL ORDER BY id`, stop.ID)
		if err != nil {
			return fmt.Errorf("read what is stopped elsewhere: %w", err)
		}
		for _, c := range children {
			e.holds(c.orgID)
		}
		all = append(all, children...)
	}
	if len(e.needed) > 0 {
		return errElsewhere
	}
	for _, c := range all {
		var err error
		if c.Keys, err = database.Collect(ctx, tx, database.Column[string],
			`SELECT key_id FROM agent_stop_key WHERE stop_id = $1 ORDER BY key_id`, c.ID); err != nil {
			return fmt.Errorf("read the keys that are stopped elsewhere: %w", err)
		}
		index, err := s.recordElsewhere(ctx, tx, c.orgID, ledger.Revived, c.Stop)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			UPDATE agent_stop
			SET lifted_by = '', lifted_at = $2, lifted_position = $3
			WHERE id = $1`, c.ID, database.Micros(tx.Now()), index)
		if err != nil {
			return fmt.Errorf("lift what is stopped elsewhere: %w", err)
		}
	}
	return nil
}

// recordElsewhere records a stop of keys, or its end, in the log of their organization.
func (s *Service) recordElsewhere(
	ctx context.Context, tx *database.Tx, orgID, action string, stop Stop,
) (index int64, err error) {
	entry, err := s.log.Append(ctx, tx, audit.Entry{
		Log: audit.LogOf(orgID), Action: action, Actor: principal.Operator(),
		Subject: audit.Subject{Type: string(OfKey), ID: stop.Subject},
		Stop:    ledger.Stop{Scope: string(OfKey), Keys: stop.Keys},
		Payload: map[string]any{"reason": stop.Reason, "stop": stop.ID},
	})
	if err != nil {
		return 0, err
	}
	return entry.Index, nil
}
