package agent

import (
	"context"
	"slices"
	"strings"
	"time"

	"writ/internal/audit"
	"writ/internal/audit/ledger"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/names"
	"writ/internal/principal"
	"writ/internal/toolname"
)

// Scope is what a stop is about.
type Scope string

// The scopes of stops.
const (
	OfAgent        Scope = "agent"
	OfOrganization Scope = "organization" // everything; its subject is empty
	OfServer       Scope = "server"
	OfTool         Scope = "tool" // of every server, or SERVER.TOOL
	OfPlan         Scope = "plan"
	OfKey          Scope = "key" // an API key and those that came from it
)

// maxStopKeys is how many keys an entry names, and maxNamedKeys how many all entries of a stop do.
const (
	maxStopKeys  = 1_000
	maxNamedKeys = 100_000
)

// Stop is something that the kill switch has stopped. No entry of the organization's log
// behind Index allows what it is about, until the entry that lifts it.
type Stop struct {
	ID        string
	Scope     Scope
	Subject   string
	Reason    string
	Index     int64  // of its entry
	StoppedBy string // empty: a trip
	StoppedAt time.Time
	Trip      Rule   // empty: a person
	parent    string // the stop of another organization that it follows from; empty: none

	Keys        []string   // that are stopped, sorted; others stop because they come from them
	KeyCount    int        // of all keys of the organization that stop; only of a kill
	Elsewhere   int        // other organizations in which keys are still to be stopped; only of a kill
	LeasesEndAt *time.Time // when the last lease ends that may permit it; nil: none is left; only of a kill
	PlansEndAt  *time.Time // when the last plan ends by whose answer a client may run it unasked; as LeasesEndAt
	Agents      []string   // other agents that stop, because they use these keys, sorted
	Unseen      bool       // nobody has seen a server or tool of this name: perhaps it is misspelled; only of a kill
}

// Kill stops a subject from the entry of the log on whose index the answer tells. An agent
// stops with its keys: those that are bound to it or, if none are, those that its id was
// seen with, and more that the caller names; and with them every key that one of them made
// or was replaced by. What was declared or approved before ends. To stop it again adds the
// keys that were not stopped yet.
func (s *Service) Kill(
	ctx context.Context, p principal.Principal, scope Scope, subject, reason string, more []string,
) (stop Stop, err error) {
	if subject, err = checkSubject(scope, subject); err != nil {
		return Stop{}, err
	}
	if reason, err = checkReason(reason); err != nil {
		return Stop{}, err
	}
	if scope != OfAgent && len(more) > 0 {
		return Stop{}, fault.Field("keys", "are only for an agent")
	}
	err = s.writeAsKiller(ctx, p, func(ctx context.Context, tx *database.Tx, _ principal.Role) (err error) {
		if err := s.requirePlan(ctx, tx, p.OrgID, scope, subject); err != nil {
			return err
		}
		fresh := false
		stop, fresh, err = s.kill(ctx, tx, p, Stop{Scope: scope, Subject: subject, Reason: reason}, more)
		if err != nil || !fresh || s.sources.Killed == nil {
			return err
		}
		return s.sources.Killed(ctx, tx, p.OrgID, stop)
	})
	if err == nil {
		stop.Unseen = s.isUnseen(ctx, p.OrgID, scope, subject)
	}
	if err == nil && len(stop.Keys) > 0 {
		stop.Elsewhere = s.followSoon(ctx, stop.ID)
	}
	return stop, err
}

// kill stops a subject within a change; fresh is false if it was stopped before. What its keys
// made in other organizations is stopped afterwards; after a trip, once a person kills it again.
func (s *Service) kill(
	ctx context.Context, tx *database.Tx, p principal.Principal, stop Stop, more []string,
) (_ Stop, fresh bool, err error) {
	if _, err := checkSubject(stop.Scope, stop.Subject); err != nil {
		return Stop{}, false, err
	}
	active, err := activeStops(ctx, tx, p.OrgID, stop.Scope, stop.Subject)
	if err != nil {
		return Stop{}, false, err
	}
	if stop.Keys, err = s.keysOf(ctx, tx, p.OrgID, stop, more); err != nil {
		return Stop{}, false, err
	}
	for _, a := range active {
		if a.covers(stop) { // nothing is left to stop here
			if stop.Trip == "" {
				if err := markToFollow(ctx, tx, a.ID); err != nil {
					return Stop{}, false, err
				}
			}
			return a, false, s.readAffected(ctx, tx, p.OrgID, &a)
		}
	}
	stop.ID, stop.StoppedBy, stop.StoppedAt = database.NewID(), p.UserID, tx.Now()
	if err := stop.begin(ctx, tx, s.log, p, p.OrgID, stop.payload()); err != nil {
		return Stop{}, false, err
	}
	return stop, true, s.readAffected(ctx, tx, p.OrgID, &stop)
}

// covers reports whether a stop that is active stops all that another would. The trip of a key
// spares agents, which the kill of a person does not.
func (s *Stop) covers(other Stop) bool {
	if s.parent != "" || s.Scope == OfKey && s.Trip != "" && other.Trip == "" {
		return false
	}
	isNew := func(key string) bool {
		_, known := slices.BinarySearch(s.Keys, key)
		return !known
	}
	return !slices.ContainsFunc(other.Keys, isNew)
}

// Revive lifts every stop of a subject. What ended with it stays ended. A stop that follows
// from one of another organization is lifted there, or here by an owner. Seen is the entry of the
// latest stop that the person knows of: one that came later is not lifted unseen.
func (s *Service) Revive(
	ctx context.Context, p principal.Principal, scope Scope, subject, reason string, seen ...int64,
) (index int64, err error) {
	if subject, err = checkSubject(scope, subject); err != nil {
		return 0, err
	}
	if reason, err = checkReason(reason); err != nil {
		return 0, err
	}
	var lifted []Stop
	err = s.writeAsKiller(ctx, p, func(ctx context.Context, tx *database.Tx, role principal.Role) error {
		active, err := activeStops(ctx, tx, p.OrgID, scope, subject)
		if err != nil {
			return err
		}
		if len(active) == 0 && scope == OfAgent {
			if _, err := find(ctx, tx, p.OrgID, subject); err != nil {
				return err
			}
		}
		if len(active) == 0 {
			return fault.New(fault.Conflict, "it is not stopped")
		}
		if len(seen) > 0 && active[0].Index != seen[0] {
			return fault.New(fault.Conflict,
				"the stop of entry %d stands now, which is not the one that you have seen: look again", active[0].Index)
		}
		if role != principal.Owner {
			active = slices.DeleteFunc(active, func(a Stop) bool { return a.parent != "" })
		}
		if len(active) == 0 {
			return fault.New(fault.Conflict,
				"it was stopped in another organization, and is lifted there or by an owner of this one")
		}
		lifted = active
		index, err = s.lift(ctx, tx, p, Stop{Scope: scope, Subject: subject, Reason: reason}, active)
		return err
	})
	for _, stop := range lifted {
		if err == nil {
			s.followSoon(ctx, stop.ID)
		}
	}
	return index, err
}

// lift lifts stops of one subject within a change, with one entry.
func (s *Service) lift(
	ctx context.Context, tx *database.Tx, p principal.Principal, of Stop, active []Stop,
) (index int64, err error) {
	var ids []string
	for _, a := range active {
		of.Keys, ids = append(of.Keys, a.Keys...), append(ids, a.ID)
	}
	slices.Sort(of.Keys)
	of.Keys = slices.Compact(of.Keys)
	entry, err := s.log.Append(ctx, tx, audit.Entry{
		Log: audit.LogOf(p.OrgID), Action: ledger.Revived, Actor: p,
		Subject:  audit.Subject{Type: string(of.Scope), ID: of.subjectID(p.OrgID)},
		Decision: of.record(),
		Stop:     ledger.Stop{Scope: string(of.Scope), Keys: of.recordedKeys(), IDs: ids},
		Payload:  map[string]any{"reason": of.Reason},
	})
	if err != nil {
		return 0, err
	}
	for _, a := range active {
		if err := markLifted(ctx, tx, a.ID, p.UserID, entry.Index); err != nil {
			return 0, err
		}
	}
	return entry.Index, resetCounts(ctx, tx, p.OrgID, Subject{of.Scope, of.Subject})
}

// Stops lists what is stopped now, the latest first.
func (s *Service) Stops(ctx context.Context, p principal.Principal) ([]Stop, error) {
	if err := requireReader(p); err != nil {
		return nil, err
	}
	return activeStops(ctx, s.db, p.OrgID, "", "")
}

func checkSubject(scope Scope, subject string) (string, error) {
	subject = strings.TrimSpace(subject)
	switch scope {
	case OfOrganization:
		if subject != "" {
			return "", fault.Field("subject", "must be empty for the whole organization")
		}
		return "", nil
	case OfAgent, OfServer, OfTool, OfPlan, OfKey:
		if subject == "" || !names.Valid(subject) {
			return "", fault.Field("subject", "must be 1 to %d bytes without control characters", names.MaxBytes)
		}
		return subject, nil
	}
	return "", fault.Field("scope", "must be agent, organization, server, tool, plan or key")
}

// endedBefore is the last index of stops that end plans and approvals; -1: none.
func endedBefore(stops []concern) int64 {
	last := int64(-1)
	for _, s := range stops {
		if s.scope == OfAgent || s.scope == OfOrganization || s.scope == OfKey {
			last = max(last, s.position)
		}
	}
	return last
}

// Stopped is the stops that a call must not run against.
type Stopped struct {
	All                   bool // the agent, its key or the organization is stopped
	Servers, Tools, Plans []string
}

func stopped(stops []concern) (st Stopped) {
	for _, s := range stops {
		switch {
		case s.lifted:
		case s.scope == OfServer:
			st.Servers = append(st.Servers, toolname.StoppedServer(s.subject)...)
		case s.scope == OfTool:
			st.Tools = append(st.Tools, toolname.StoppedTool(s.subject)...)
		case s.scope == OfPlan:
			st.Plans = append(st.Plans, s.subject)
		default:
			st.All = true
		}
	}
	return st
}

// HasPlan reports whether a plan is stopped.
func (s *Stopped) HasPlan(id string) bool { return slices.Contains(s.Plans, id) }

// HasTool reports whether a tool, or its server, is stopped.
func (s *Stopped) HasTool(server, tool string) bool {
	return toolname.IsStopped(s.Servers, s.Tools, server, tool)
}
