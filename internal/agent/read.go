package agent

import (
	"context"
	"slices"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/page"
	"writ/internal/principal"
)

// Get reads an agent that is registered or was seen.
func (s *Service) Get(ctx context.Context, p principal.Principal, id string) (Agent, error) {
	if err := requireReader(p); err != nil {
		return Agent{}, err
	}
	a, err := find(ctx, s.db, p.OrgID, id)
	if err != nil {
		return Agent{}, err
	}
	if a.SeenKeys, err = seenKeys(ctx, s.db, p.OrgID, id); err != nil {
		return Agent{}, err
	}
	if a.Sharing, err = wouldShare(ctx, s.db, p.OrgID, a); err != nil {
		return Agent{}, err
	}
	one := []Agent{a}
	if err := addStops(ctx, s.db, p.OrgID, one); err != nil {
		return Agent{}, err
	}
	err = s.addPlans(ctx, p.OrgID, one)
	return one[0], err
}

// Filter narrows a list of agents. Empty members narrow nothing.
type Filter struct {
	Status  Status
	OwnerID string
}

// List lists agents, newest first: those that are registered, are proposed or were seen.
func (s *Service) List(
	ctx context.Context, p principal.Principal, f Filter, cursor string, limit int,
) (page.Page[Agent], error) {
	if err := requireReader(p); err != nil {
		return page.Page[Agent]{}, err
	}
	if f.Status != "" && !slices.Contains([]Status{Unregistered, Pending, Active, Suspended, Killed}, f.Status) {
		return page.Page[Agent]{}, fault.Field("status", "must be unregistered, pending, active, suspended or killed")
	}
	if f.OwnerID != "" && !database.IsID(f.OwnerID) {
		return page.Page[Agent]{}, fault.Field("ownerId", "must be the id of a person")
	}
	scope := p.OrgID + "/" + string(f.Status) + "/" + f.OwnerID
	q := page.Query{List: "agent", Scope: scope, Cursor: cursor, Limit: limit}
	return page.Read(q, func(after page.Cursor, limit int) ([]Agent, error) {
		found, err := list(ctx, s.db, p.OrgID, f, after, limit)
		if err != nil {
			return nil, err
		}
		if err := addStops(ctx, s.db, p.OrgID, found); err != nil {
			return nil, err
		}
		return found, s.addPlans(ctx, p.OrgID, found)
	}, func(a Agent) (time.Time, string) { return a.CreatedAt, a.ID })
}

// Names are the ids and names of the active agents that a key may be, the oldest first:
// those that it is bound to, or else those of its owner that no key is bound to.
func (s *Service) Names(ctx context.Context, p principal.Principal, most int) ([]Agent, error) {
	if p.Kind != principal.Key || p.OrgID == "" {
		return nil, fault.New(fault.Forbidden, "only a key of an organization has agents")
	}
	return namesFor(ctx, s.db, p.OrgID, p.KeyID, p.UserID, most)
}

// requireReader admits every member. A key reads no agents.
func requireReader(p principal.Principal) error {
	if p.Kind != principal.User || p.OrgID == "" {
		return fault.New(fault.Forbidden, "only a person may read agents")
	}
	return p.Require(principal.ReadOrganization)
}
