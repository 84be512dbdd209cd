package agent

import (
	"context"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

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
