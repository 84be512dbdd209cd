package agent

import (
	"context"
	"math"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// EndedBefore is the index of the log before which everything that an agent and key declared, asked for or were
// granted has ended, because the kill switch stopped them, their organization, or let them act again; -1: nothing has.
// While they are stopped it is beyond every index: what is declared meanwhile never holds.
func EndedBefore(ctx context.Context, r database.Reader, orgID, agentID, keyID string) (int64, error) {
	stops, err := concerning(ctx, r, orgID, agentID, keyID)
	if err != nil {
		return 0, err
	}
	if st := stopped(stops); st.All {
		return math.MaxInt64, nil
	}
	return endedBefore(stops), nil
}

// PlanEnded reports whether the kill switch has stopped an agent or key, or ended any of their plans. Without plans it
// reports whether they are stopped.
func PlanEnded(
	ctx context.Context, r database.Reader, orgID, agentID, keyID string, plans ...string,
) (bool, error) {
	stops, err := concerning(ctx, r, orgID, agentID, keyID)
	if err != nil {
		return false, err
	}
	st, before := stopped(stops), endedBefore(stops)
	if st.All {
		return true, nil
	}
	for _, id := range plans {
		if id == "" {
			continue
		}
		if st.HasPlan(id) {
			return true, nil
		}
		if before < 0 {
			continue
		}
		declared, err := audit.FirstAbout(ctx, r, audit.LogOf(orgID), audit.Subject{Type: "plan", ID: id})
		if err != nil || declared < before {
			return true, err
		}
	}
	return false, nil
}

// RefuseStopped refuses a key that the kill switch has stopped, alone or with its organization. It does not say why:
// agents read it.
func (s *Service) RefuseStopped(ctx context.Context, caller principal.Principal) error {
	if caller.Kind != principal.Key {
		return nil
	}
	stops, err := concerning(ctx, s.db.Prepared(), caller.OrgID, "", caller.KeyID)
	if err != nil {
		return err
	}
	if st := stopped(stops); st.All {
		return fault.New(fault.Forbidden, "a person has stopped this key: nothing is allowed until a person revives it")
	}
	return nil
}

// StatusOf is the status of an agent, also for a key, which learns nothing else. An agent is killed too while the
// organization, the key that asks, or every key of its own is stopped.
func (s *Service) StatusOf(ctx context.Context, p principal.Principal, id string) (Status, error) {
	a, err := find(ctx, s.db, p.OrgID, id)
	if err != nil {
		return "", err
	}
	if a.Status == Pending {
		a.Status = Unregistered // as decisions see it
	}
	if p.Kind != principal.Key {
		one := []Agent{a}
		err := addStops(ctx, s.db, p.OrgID, one)
		return one[0].Status, err
	}
	stops, err := concerning(ctx, s.db, p.OrgID, a.ID, p.KeyID)
	if st := stopped(stops); st.All {
		a.Status = Killed
	}
	return a.Status, err
}

// PlanHolder is whose plans are meant: an agent's and those of some keys, or a plan itself with those that were
// accepted under it. Without any member it is everybody's.
type PlanHolder struct {
	AgentID string
	Keys    []string
	PlanID  string
}

// readAffected reads how many keys and which agents stop too, and when the last lease and plan end by which a
// client may still run what is stopped without asking.
func (s *Service) readAffected(ctx context.Context, tx *database.Tx, orgID string, stop *Stop) (err error) {
	if stop.Agents, err = sharing(ctx, tx, orgID, *stop); err != nil {
		return err
	}
	if stop.KeyCount, err = countStopped(ctx, tx, orgID, *stop); err != nil {
		return err
	}
	if stop.LeasesEndAt, err = leasesEnd(ctx, tx, orgID, *stop); err != nil || s.sources.PlansEnd == nil {
		return err
	}
	of := PlanHolder{Keys: stop.Keys}
	switch stop.Scope {
	case OfAgent:
		of.AgentID = stop.Subject
	case OfPlan:
		of.PlanID = stop.Subject
	}
	stop.PlansEndAt, err = s.sources.PlansEnd(ctx, tx, orgID, of)
	return err
}
