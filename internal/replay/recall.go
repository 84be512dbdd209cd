package replay

import (
	"context"

	"writ/internal/decision"
	"writ/internal/fault"
	"writ/internal/intent/plan"
	"writ/internal/organization"
	"writ/internal/toolcall"
)

// Sources hold what records lack.
type Sources struct {
	People People
	Keys   Keys
	Plans  Plans
}

// People finds members of organizations.
type People interface {
	PartyOf(ctx context.Context, orgID, userID, address string) (organization.Party, error)
}

// Keys finds the owners of keys.
type Keys interface {
	// OwnerOf is the person a key belongs to; empty: unknown.
	OwnerOf(ctx context.Context, orgID, keyID string) (string, error)
}

// Plans finds declared plans.
type Plans interface {
	// PlanOf is a plan by its id; nil: unknown, or its text was erased.
	PlanOf(ctx context.Context, orgID, planID string) (*plan.Plan, error)
}

const (
	maxCached = 10_000 // keys, and people
	maxPlans  = 100    // which are larger
)

// Recall rebuilds the calls of one organization, with its people as they are today,
// because an activated policy will apply to them. It caches what it reads, and serves
// one goroutine.
type Recall struct {
	sources Sources
	orgID   string
	owners  map[string]string
	parties map[partyKey]party
	plans   map[string]*plan.Plan
}

type partyKey struct{ id, address string }

type party struct {
	orgName string
	user    toolcall.User
}

// NewRecall makes a Recall for an organization.
func NewRecall(sources Sources, orgID string) *Recall {
	return &Recall{
		sources: sources,
		orgID:   orgID,
		owners:  map[string]string{},
		parties: map[partyKey]party{},
		plans:   map[string]*plan.Plan{},
	}
}

// Call is CallOf with what is known about people. The user of an erased decision stays
// unknown.
func (c *Recall) Call(ctx context.Context, r decision.Record) (toolcall.Call, Known, error) {
	call, known := CallOf(r)
	if r.PlanID != "" {
		declared, err := c.plan(ctx, r.PlanID)
		if err != nil {
			return call, known, err
		}
		known.readPlan(&call, r, declared)
	}
	ownerID, err := c.owner(ctx, r.KeyID)
	if err != nil || ownerID == "" {
		return call, known, err
	}
	owner, err := c.party(ctx, partyKey{id: ownerID})
	if err != nil {
		return call, known, err
	}
	call.Key.OwnerID, call.Key.OwnerRole, call.Org.Name = ownerID, owner.user.Role, owner.orgName
	known.gaps = known.gaps.Without("key").Without("org", "name")
	if r.Erased {
		return call, known, nil
	}
	if r.UserID == "" && r.Email == "" {
		call.User = owner.user
		call.User.ID = ownerID
	} else if err := c.addNamed(ctx, &call, r); err != nil {
		return call, known, err
	}
	known.gaps = known.gaps.Without("user")
	return call, known, nil
}

// addNamed sets the user that the call named, if it is a member.
func (c *Recall) addNamed(ctx context.Context, call *toolcall.Call, r decision.Record) error {
	named, err := c.party(ctx, partyKey{r.UserID, r.Email})
	if err == nil && named.user.ID != "" {
		call.User = named.user
	}
	return err
}

func (c *Recall) plan(ctx context.Context, id string) (*plan.Plan, error) {
	return cached(c.plans, maxPlans, id, func() (*plan.Plan, error) { return c.sources.Plans.PlanOf(ctx, c.orgID, id) })
}

func (c *Recall) owner(ctx context.Context, keyID string) (string, error) {
	return cached(c.owners, maxCached, keyID, func() (string, error) {
		return c.sources.Keys.OwnerOf(ctx, c.orgID, keyID)
	})
}

func (c *Recall) party(ctx context.Context, key partyKey) (party, error) {
	return cached(c.parties, maxCached, key, func() (party, error) {
		found, err := c.sources.People.PartyOf(ctx, c.orgID, key.id, key.address)
		if key.address != "" && fault.Is(err, fault.NotFound) {
			err = nil // an address need not be a member's: as in a decision, the client's words count
		}
		m := found.Member
		return party{found.OrgName, toolcall.User{ID: m.UserID, Email: m.Email, Role: string(m.Role)}}, err
	})
}

// cached loads a value unless it is cached. A full cache is cleared.
func cached[K comparable, V any](cache map[K]V, most int, key K, load func() (V, error)) (V, error) {
	if value, ok := cache[key]; ok {
		return value, nil
	}
	value, err := load()
	if err != nil {
		return value, err
	}
	if len(cache) >= most {
		clear(cache)
	}
	cache[key] = value
	return value, nil
}
