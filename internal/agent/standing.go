package agent

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"writ/internal/database"
	"writ/internal/names"
)

// Standing is what a decision must know of an agent that calls with a key. The zero
// value may not act.
type Standing struct {
	Name       string // empty: not registered
	Status     Status
	Registered bool // it counts as the registered agent
	// Proven: a person has bound the key to the agent, so that its id is more than a word.
	Proven bool
	// Stranger: the id is bound to other keys. Nothing that the agent may do counts, and all that it may not.
	Stranger bool
	// SuspendedAs is the suspended agent that this call is of, which may be one that it does
	// not name; empty: none.
	SuspendedAs    string
	IntentRequired bool
	// ProofsOptional: a person has said so of the agent, and its own key calls.
	ProofsOptional bool
	// MayAct is false if unregistered agents may not act, and this is one.
	MayAct bool
	// Counting is what trips count of its calls.
	Counting Counting
	trips    Trips
	// Stopped is what the kill switch has stopped.
	Stopped Stopped
	// EndedBefore is the index of the last entry that stopped the agent, its key or the
	// organization, or let it act again; -1: there is none. Plans and approvals from before have ended.
	EndedBefore int64
}

// StandingOf reads the standing of the agent that a call names (empty: none) and of the
// key that it is made with; without a key the agent counts as with one of its own. It
// checks no right: enforcement asks.
func (s *Service) StandingOf(ctx context.Context, orgID, agentID, keyID string) (Standing, error) {
	return s.standingIn(ctx, s.db.Prepared(), orgID, agentID, keyID)
}

func (s *Service) standingIn(
	ctx context.Context, r database.Reader, orgID, agentID, keyID string,
) (Standing, error) {
	settings, err := readSettings(ctx, r, orgID)
	if err != nil {
		return Standing{}, err
	}
	if !names.Valid(agentID) {
		agentID = "" // nobody registered it
	}
	agents, err := readConcerned(ctx, r, orgID, agentID, keyID)
	if err != nil {
		return Standing{}, fmt.Errorf("read the standing of an agent: %w", err)
	}
	stops, err := concerning(ctx, r, orgID, agentID, keyID)
	if err != nil {
		return Standing{}, err
	}
	st := standing(agents, settings)
	st.Stopped, st.EndedBefore = stopped(stops), endedBefore(stops)
	if st.Stopped.All {
		st.Status = Killed
	}
	return st, st.count(ctx, r, orgID, keyID, settings, agents)
}

// count sets what trips count of the calls. What is stopped or suspended is not counted.
func (st *Standing) count(
	ctx context.Context, r database.Reader, orgID, keyID string, settings Settings, agents []concerned,
) error {
	counts := countedFor(agents, keyID, settings)
	if len(counts) == 0 {
		root, err := rootKey(ctx, r, keyID)
		if err != nil {
			return err
		}
		counts = []Counting{newCounting(Subject{OfKey, keyID}, Subject{OfKey, root}, settings.Trips)}
	}
	st.trips = *counts[0].trips
	if keyID == "" && counts[0].Subject.Scope == OfKey || st.Stopped.All || st.SuspendedAs != "" {
		return nil
	}
	counts = slices.DeleteFunc(counts, func(c Counting) bool { return c.trips.IsZero() })
	for i := range len(counts) - 1 {
		counts[i].More = &counts[i+1]
	}
	if len(counts) > 0 {
		st.Counting = counts[0]
	}
	return nil
}

// countedFor are the agents that a call counts for, the named one first: all that the key is bound
// to or, if none are, all that the nearest key in its line is bound to. A key gets no fresh count
// by naming its agents in turn, nor by making another key. A trip stops the agent if its own key
// has called, else only that key: nobody trips an agent with a key that is not bound to it.
func countedFor(agents []concerned, keyID string, settings Settings) (counts []Counting) {
	nearest := -1
	for _, a := range agents {
		if a.inLine() && (nearest < 0 || a.near < nearest) {
			nearest = a.near
		}
	}
	for _, a := range agents {
		if !a.inLine() || a.near != nearest {
			continue
		}
		at := Subject{OfAgent, a.id}
		stops := at
		if !a.boundHere() {
			stops = Subject{OfKey, keyID}
		}
		c := newCounting(stops, at, a.trips.over(settings.Trips))
		if a.named {
			counts = slices.Insert(counts, 0, c)
		} else {
			counts = append(counts, c)
		}
	}
	return counts
}

// rootKey is the first of the keys that a key comes from, in whichever organization.
func rootKey(ctx context.Context, r database.Reader, keyID string) (root string, err error) {
	err = r.QueryRow(ctx, `
		WITH RECURSIVE line (id) AS (
			SELECT id FROM api_key WHERE id = $1
			UNION
			SELECT k.made_by FROM api_key k JOIN line l ON k.id = l.id WHERE k.made_by IS NOT NULL
		)
		SELECT k.id FROM api_key k JOIN line l ON k.id = l.id WHERE k.made_by IS NULL`, keyID).Scan(&root)
	if errors.Is(err, sql.ErrNoRows) {
		return keyID, nil
	}
	return root, database.Wrap(err, "find the key that a key comes from")
}

// concerned is a registered agent that a call names, or that its key is bound to, or one that
// its key comes from.
type concerned struct {
	id, name       string
	suspended      bool
	intentRequired bool
	proofsOptional bool
	bound          bool // to any key
	named          bool // by the call
	// near is how many keys lie between the key of the call and one that is bound to the agent:
	// 0 is the key itself, negative none in its line.
	near  int
	trips Trips
}

// stranger reports whether a call names the agent with a key that is not bound to it, although others are.
func (a *concerned) stranger() bool { return a.named && a.bound && !a.boundHere() }

// boundHere reports whether the key of the call is bound to the agent.
func (a *concerned) boundHere() bool { return a.near == 0 }

// inLine reports whether the key of the call, or one that it comes from, is bound to the agent.
func (a *concerned) inLine() bool { return a.bound && a.near >= 0 }

// standing is the standing of a call that names an agent, given what is registered of
// that agent and of all that the line of its key is bound to.
func standing(agents []concerned, settings Settings) Standing {
	st := Standing{Status: Unregistered}
	for _, a := range agents {
		// What restricts a bound key holds whatever agent the call names, and for the keys it makes. What restricts the
		// agent that the call names holds with every key: another one must not shed it.
		if a.suspended && st.SuspendedAs == "" {
			st.SuspendedAs = a.id
		}
		st.IntentRequired = st.IntentRequired || a.intentRequired
		if !a.named {
			continue
		}
		if st.Stranger = a.stranger(); !st.Stranger {
			st.Name, st.Status, st.Registered, st.Proven = a.name, Active, true, a.bound && a.boundHere()
			st.ProofsOptional = a.proofsOptional && st.Proven
		}
		if a.suspended {
			st.Status = Suspended
		}
	}
	st.MayAct = st.Registered || settings.UnregisteredMayAct
	return st
}

// readConcerned reads the agent with an id, and those that a key or its makers are bound to. An
// agent whose owner has left is suspended, whoever ended the membership.
func readConcerned(
	ctx context.Context, r database.Reader, orgID, agentID, keyID string,
) ([]concerned, error) {
	return database.Collect(ctx, r, func(s database.Scanner) (a concerned, err error) {
		var trips string
		err = s.Scan(&a.id, &a.name, database.ToBool(&a.suspended), database.ToBool(&a.intentRequired),
			database.ToBool(&a.proofsOptional), database.ToBool(&a.bound), &a.near, &trips)
		if err == nil {
			a.trips, err = parseTrips(trips)
		}
		a.named = a.id == agentID
		return a, err
	}, `
		WITH RECURSIVE line (id, near) AS (
			SELECT id, 0 FROM api_key WHERE id = $3
			UNION
			SELECT k.made_by, l.near + 1 FROM api_key k JOIN line l ON k.id = l.id WHERE k.made_by IS NOT NULL
		), own (agent_id, near) AS (
			SELECT b.agent_id, MIN(l.near) FROM agent_key b JOIN line l ON b.key_id = l.id
			WHERE b.org_id = $1
			GROUP BY b.agent_id
		)
		SELECT a.id, a.name,
			CASE WHEN a.suspended_at IS NOT NULL OR m.user_id IS NULL THEN 1 ELSE 0 END,
			a.intent_required, a.proofs_optional,
			CASE WHEN EXISTS (SELECT 1 FROM agent_key k WHERE k.org_id = a.org_id AND k.agent_id = a.id) THEN 1 ELSE 0 END,
			CASE WHEN $3 = '' THEN 0 ELSE COALESCE((SELECT o.near FROM own o WHERE o.agent_id = a.id), -1) END,
			a.trips
		FROM agent a
		LEFT JOIN organization_member m ON m.org_id = a.org_id AND m.user_id = a.owner_id
		WHERE a.org_id = $1 AND (a.id = $2 OR a.id IN (SELECT agent_id FROM own))
		ORDER BY a.id`, orgID, agentID, keyID)
}
