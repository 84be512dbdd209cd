package agent

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/page"
	"writ/internal/principal"
)

// What the audit log says of agents.
const (
	registered      = "agent.registered"
	proposed        = "agent.proposed"
	updated         = "agent.updated"
	statusChanged   = "agent.status_changed"
	settingsChanged = "agent.settings_changed"
)

// Sources are what the registry needs of other areas.
type Sources struct {
	// Role is a person's role in an organization now; empty: no member.
	Role func(ctx context.Context, r database.Reader, orgID, userID string) (principal.Role, error)
	// MissingKey is the first id that is no key of the organization; empty: all are.
	MissingKey func(ctx context.Context, r database.Reader, orgID string, ids []string) (string, error)
	// MadeFrom are some keys of an organization and all that came from them.
	MadeFrom func(ctx context.Context, r database.Reader, orgID string, ids []string) ([]string, error)
	// FindingKinds are those that a trip may count.
	FindingKinds []string
	// Findings counts what was found in an organization after a time, of some kinds.
	Findings func(ctx context.Context, orgID string, kinds []string, after time.Time) ([]Found, error)
	// Spent is what an agent's id has cost since a time, in 10^-9 US dollars.
	Spent func(ctx context.Context, orgID, agentID string, since time.Time) (int64, error)
	// Certified is until when a certificate proves that its holder is an agent; false: it does not. Nil: none does.
	Certified func(ctx context.Context, orgID, certificateID, agentID string) (time.Time, bool, error)
	// LeaseKey finds the public key that leases are signed with.
	LeaseKey LeaseKey
	// Tripped notifies people of a trip, within its change; nil: nobody is notified.
	Tripped func(ctx context.Context, tx *database.Tx, orgID string, stop Stop) error
	// Plans are the latest plans of agents that have not ended by themselves, by the agent's id.
	Plans func(ctx context.Context, r database.Reader, orgID string, agentIDs []string) (map[string]Plan, error)
	// HasPlan reports whether an id is that of a plan of an organization. Nil: every id is taken for one.
	HasPlan func(ctx context.Context, r database.Reader, orgID, id string) (bool, error)
	// Lists reports whether the registry of MCP servers has a server, and a tool, of one of these names, in any case of
	// their letters. No names: whichever. Nil: it has none.
	Lists func(ctx context.Context, r database.Reader, orgID string, servers, tools []string) (bool, error)
	// PlansEnd is when the last live plan ends of a holder; nil: there is none.
	PlansEnd func(ctx context.Context, r database.Reader, orgID string, of PlanHolder) (*time.Time, error)
	// Suspended notifies people of an agent that was suspended because its owner left.
	Suspended func(ctx context.Context, tx *database.Tx, orgID string, a Agent) error
}

// Service registers agents and says what decisions must know of them. Make one per
// process: all requests share what it has seen.
type Service struct {
	db      *database.DB
	log     *audit.Log
	sources Sources
	seen    *seen
	looks   *looks
}

// New makes a Service. It starts nothing: the app calls Flush and Prune.
func New(db *database.DB, log *audit.Log, sources Sources) *Service {
	return &Service{
		db:      db,
		log:     log,
		sources: sources,
		seen:    newSeen(),
		looks:   newLooks(db.Now()),
	}
}

func (s *Service) write(
	ctx context.Context, orgID string, do func(ctx context.Context, tx *database.Tx) error,
) error {
	return s.db.Write(ctx, database.Change{Logs: []string{audit.LogOf(orgID)}, Do: do})
}

// Register registers an agent, with a person as its owner; empty: the caller. A key
// proposes one for its own owner, which a person confirms. To propose the same agent
// again changes nothing.
func (s *Service) Register(
	ctx context.Context, p principal.Principal, id, ownerID string, profile Profile,
) (Agent, error) {
	id, err := checkID(id)
	if err != nil {
		return Agent{}, err
	}
	if profile, err = s.checked(profile); err != nil {
		return Agent{}, err
	}
	if ownerID, err = registrant(p, ownerID, profile); err != nil {
		return Agent{}, err
	}
	var a Agent
	err = s.write(ctx, p.OrgID, func(ctx context.Context, tx *database.Tx) (err error) {
		a = Agent{ID: id, OwnerID: ownerID, Profile: profile, Status: Active}
		if p.Kind == principal.Key {
			a, err = s.propose(ctx, tx, p, a)
		} else {
			a, err = s.register(ctx, tx, p, a)
		}
		return err
	})
	return a, err
}

// registrant is the owner of an agent that the caller registers, if the caller may.
func registrant(p principal.Principal, ownerID string, profile Profile) (string, error) {
	if p.Kind != principal.Key {
		if ownerID == "" {
			ownerID = p.UserID
		}
		return ownerID, requireManager(p)
	}
	switch {
	case p.OrgID == "":
		return "", fault.New(fault.Forbidden, "this key belongs to no organization")
	case len(profile.Keys) > 0:
		return "", fault.New(fault.Forbidden, "only a person binds keys to an agent")
	case !profile.Trips.IsZero():
		return "", fault.New(fault.Forbidden, "only a person sets the trips of an agent")
	case ownerID != "" && ownerID != p.UserID:
		return "", fault.New(fault.Forbidden, "a key registers agents for its own owner only")
	}
	return p.UserID, nil
}

// checked is a profile with everything in it checked.
func (s *Service) checked(p Profile) (Profile, error) {
	p, err := p.checked()
	if err == nil {
		err = p.Trips.check(s.sources.FindingKinds)
	}
	return p, err
}

func (s *Service) register(ctx context.Context, tx *database.Tx, p principal.Principal, a Agent) (Agent, error) {
	known, err := find(ctx, tx, p.OrgID, a.ID)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return Agent{}, err
	}
	if known.isRegistered() {
		return Agent{}, isRegistered()
	}
	if err := s.checkParties(ctx, tx, p.OrgID, a); err != nil {
		return Agent{}, err
	}
	if err := add(ctx, tx, p.OrgID, a); err != nil {
		return Agent{}, err
	}
	if err := s.record(ctx, tx, p, p.OrgID, registered, a); err != nil {
		return Agent{}, err
	}
	a.Status = known.Status
	if err := s.stopBound(ctx, tx, p, a); err != nil {
		return Agent{}, err
	}
	return find(ctx, tx, p.OrgID, a.ID)
}

// add stores an agent in place of what keys proposed under its id.
func add(ctx context.Context, tx *database.Tx, orgID string, a Agent) error {
	n, err := countAgents(ctx, tx, orgID)
	if err != nil {
		return err
	}
	if n >= MaxAgents {
		return fault.New(fault.Conflict, "an organization has at most %d registered agents", MaxAgents)
	}
	if err := deleteProposals(ctx, tx, orgID, a.ID); err != nil {
		return err
	}
	return insert(ctx, tx, orgID, a)
}

// checkParties refuses an owner who is no member, and keys of elsewhere.
func (s *Service) checkParties(ctx context.Context, tx *database.Tx, orgID string, a Agent) error {
	if !database.IsID(a.OwnerID) {
		return fault.Field("ownerId", "must be a member of the organization")
	}
	role, err := s.sources.Role(ctx, tx, orgID, a.OwnerID)
	if err != nil {
		return err
	}
	if role == "" {
		return fault.Field("ownerId", "must be a member of the organization")
	}
	missing, err := s.sources.MissingKey(ctx, tx, orgID, a.Keys)
	if err == nil && missing != "" {
		return fault.Field("keys", "must be ids of API keys of the organization: %s is none", missing)
	}
	return err
}

// Changes are the parts of an agent that an update replaces; nil: as it is.
type Changes struct {
	Name, OwnerID, Product, Environment, Description *string
	Keys                                             *[]string
	PublicKey                                        *[]byte
	IntentRequired, ProofsOptional                   *bool
	Trips                                            *Trips
}

// apply is the agent with the changes.
func (c Changes) apply(a Agent) Agent {
	for _, text := range []struct{ to, from *string }{
		{&a.Name, c.Name}, {&a.OwnerID, c.OwnerID}, {&a.Product, c.Product},
		{&a.Environment, c.Environment}, {&a.Description, c.Description},
	} {
		if text.from != nil {
			*text.to = *text.from
		}
	}
	if c.Keys != nil {
		a.Keys = *c.Keys
	}
	if c.PublicKey != nil {
		a.PublicKey = *c.PublicKey
	}
	if c.IntentRequired != nil {
		a.IntentRequired = *c.IntentRequired
	}
	if c.ProofsOptional != nil {
		a.ProofsOptional = *c.ProofsOptional
	}
	if c.Trips != nil {
		a.Trips = *c.Trips
	}
	return a
}

// Update changes a registered agent, for all later decisions.
func (s *Service) Update(ctx context.Context, p principal.Principal, id string, c Changes) (Agent, error) {
	return s.change(ctx, p, id, updated, func(ctx context.Context, tx *database.Tx, a Agent) (_ Agent, err error) {
		a = c.apply(a)
		if a.Profile, err = s.checked(a.Profile); err != nil {
			return a, err
		}
		if err := s.checkParties(ctx, tx, p.OrgID, a); err != nil {
			return a, err
		}
		if err := update(ctx, tx, p.OrgID, a); err != nil {
			return a, err
		}
		return a, s.stopBound(ctx, tx, p, a)
	})
}

// SetStatus suspends an agent or sets it active again.
func (s *Service) SetStatus(
	ctx context.Context, p principal.Principal, id string, to Status, reason string,
) (Agent, error) {
	if to != Active && to != Suspended {
		return Agent{}, fault.Field("status", "must be active or suspended")
	}
	reason, err := checkReason(reason)
	if err != nil {
		return Agent{}, err
	}
	return s.change(ctx, p, id, statusChanged, func(ctx context.Context, tx *database.Tx, a Agent) (Agent, error) {
		if a.Status == Killed {
			return a, fault.New(fault.Conflict, "the agent is killed: revive it first")
		}
		if to == Active {
			if err := s.checkParties(ctx, tx, p.OrgID, a); err != nil {
				return a, err // its owner has left: name another first
			}
		}
		a.Status, a.SuspendedFor = to, ""
		if to == Suspended {
			a.SuspendedFor = reason
		}
		return a, updateStatus(ctx, tx, p.OrgID, a)
	})
}

// change changes a registered agent of the caller's organization and records it. It confirms one that a key proposes.
func (s *Service) change(
	ctx context.Context, p principal.Principal, id, action string,
	do func(ctx context.Context, tx *database.Tx, a Agent) (Agent, error),
) (changed Agent, err error) {
	if err := requireManager(p); err != nil {
		return Agent{}, err
	}
	err = s.write(ctx, p.OrgID, func(ctx context.Context, tx *database.Tx) error {
		a, err := find(ctx, tx, p.OrgID, id)
		if err != nil {
			return err
		}
		if a.isProposed() {
			if a, err = s.confirm(ctx, tx, p, a); err != nil {
				return err
			}
		} else if !a.isRegistered() {
			return fault.New(fault.Conflict, "the agent is not registered: register it first")
		}
		if a, err = do(ctx, tx, a); err != nil {
			return err
		}
		if err := s.record(ctx, tx, p, p.OrgID, action, a); err != nil {
			return err
		}
		changed, err = find(ctx, tx, p.OrgID, id)
		return err
	})
	return changed, err
}

// OwnerLeft suspends the agents of a member who leaves, within that change, and has
// people notified.
func (s *Service) OwnerLeft(
	ctx context.Context, tx *database.Tx, by principal.Principal, orgID, userID string,
) error {
	ids, err := ownedBy(ctx, tx, orgID, userID)
	if err != nil {
		return err
	}
	for _, id := range ids {
		a, err := find(ctx, tx, orgID, id)
		if err != nil {
			return err
		}
		a.Status, a.SuspendedFor = Suspended, "its owner left the organization"
		err = errors.Join(updateStatus(ctx, tx, orgID, a), s.record(ctx, tx, by, orgID, statusChanged, a))
		if err == nil && s.sources.Suspended != nil {
			err = s.sources.Suspended(ctx, tx, orgID, a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

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

// record appends to the organization's log what is said about an agent.
func (s *Service) record(
	ctx context.Context, tx *database.Tx, by principal.Principal, orgID, action string, a Agent,
) error {
	_, err := s.log.Append(ctx, tx, audit.Entry{
		Log: audit.LogOf(orgID), Action: action, Actor: by,
		Subject: audit.Subject{Type: "agent", ID: a.ID}, Payload: a.payload(),
	})
	return err
}

// payload is what entries say of the agent.
func (a Agent) payload() map[string]any {
	payload := map[string]any{
		"name": a.Name, "owner": a.OwnerID, "product": a.Product, "environment": a.Environment,
		"description": a.Description, "keys": orEmpty(a.Keys), "intentRequired": a.IntentRequired,
		"status": string(a.Status),
	}
	if a.ProofsOptional {
		payload["proofsOptional"] = true
	}
	if !a.Trips.IsZero() {
		payload["trips"] = a.Trips
	}
	if a.SuspendedFor != "" {
		payload["suspendedFor"] = a.SuspendedFor
	}
	if len(a.PublicKey) > 0 {
		payload["publicKey"] = base64.StdEncoding.EncodeToString(a.PublicKey)
	}
	return payload
}

func orEmpty(ids []string) []string {
	if ids == nil {
		return []string{}
	}
	return ids
}
