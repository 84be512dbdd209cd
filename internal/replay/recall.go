package replay

import (
	"context"

	"writ/internal/decision"
	"writ/internal/fault"
	"writ/internal/intent/plan"
	"writ/internal/organization"
	"writ/internal/toolcall"
)

// Sources tell what no record holds.
type Sources struct {
	People People
	Keys   Keys
	Plans  Plans
}

// People tells who the members of organizations are.
type People interface {
	PartyOf(ctx context.Context, orgID, userID, address string) (organization.Party, error)
}

// Keys tells whose keys are.
type Keys interface {
	// OwnerOf is the person a key belongs to; empty: nobody knows any more.
	OwnerOf(ctx context.Context, orgID, keyID string) (string, error)
}

// Plans tells what plans said.
type Plans interface {
	// PlanOf is a plan by its id; nil: nobody knows what it said any more.
	PlanOf(ctx context.Context, orgID, planID string) (*plan.Plan, error)
}

const (
	maxRemembered = 10_000 // keys, and people
	maxPlans      = 100    // which are larger
)

// Recall reads the calls of one organization back, with its people as they are
// today: a policy that is put in force meets them as such. It remembers whom it
// has asked about, and serves one goroutine.
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

// NewRecall makes one for an organization.
func NewRecall(sources Sources, orgID string) *Recall {
	return &Recall{
		sources: sources,
		orgID:   orgID,
		owners:  map[string]string{},
		parties: map[partyKey]party{},
		plans:   map[string]*plan.Plan{},
	}
}

// Call is CallOf with what can be told of people. Whom an erased decision was for
// nobody can tell.
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
	} else {
		named, err := c.party(ctx, partyKey{r.UserID, r.Email})
		if err != nil {
			return call, known, err
		}
		if named.user.ID != "" {
			call.User = named.user
		}
	}
	known.gaps = known.gaps.Without("user")
	return call, known, nil
}

func (c *Recall) plan(ctx context.Context, id string) (*plan.Plan, error) {
	if p, ok := c.plans[id]; ok {
		return p, nil
	}
	p, err := c.sources.Plans.PlanOf(ctx, c.orgID, id)
	if err != nil {
		return nil, err
	}
	if len(c.plans) >= maxPlans {
		clear(c.plans)
	}
	c.plans[id] = p
	return p, nil
}

func (c *Recall) owner(ctx context.Context, keyID string) (string, error) {
	if id, ok := c.owners[keyID]; ok {
		return id, nil
	}
	id, err := c.sources.Keys.OwnerOf(ctx, c.orgID, keyID)
	if err != nil {
		return "", err
	}
	if len(c.owners) >= maxRemembered {
		clear(c.owners)
	}
	c.owners[keyID] = id
	return id, nil
}

func (c *Recall) party(ctx context.Context, key partyKey) (party, error) {
	if p, ok := c.parties[key]; ok {
		return p, nil
	}
	found, err := c.sources.People.PartyOf(ctx, c.orgID, key.id, key.address)
	// No member need have an address: then it is as the client says, as for a decision.
	if err != nil && !(key.address != "" && fault.Is(err, fault.NotFound)) {
		return party{}, err
	}
	if len(c.parties) >= maxRemembered {
		clear(c.parties)
	}
	m := found.Member
	p := party{found.OrgName, toolcall.User{ID: m.UserID, Email: m.Email, Role: string(m.Role)}}
	c.parties[key] = p
	return p, nil
}
