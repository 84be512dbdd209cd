package agent

import (
	"context"
	"errors"
	"slices"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// Changes are the parts of an agent that an update replaces; nil: as it is.
type Changes struct {
	Name, OwnerID, Product, Environment, Description *string
	Keys                                             *[]string
	AddKeys                                          []string // to those that it has by then
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
	a.Keys = slices.Concat(a.Keys, c.AddKeys)
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
	if c.Keys != nil && len(c.AddKeys) > 0 {
		return Agent{}, fault.Field("addKeys", "must not be given beside keys, which replaces all of them")
	}
	as := edit{action: updated, registeredOnly: len(c.AddKeys) > 0}
	return s.change(ctx, p, id, as, func(ctx context.Context, tx *database.Tx, a Agent) (_ Agent, err error) {
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
	as := edit{action: statusChanged}
	return s.change(ctx, p, id, as, func(ctx context.Context, tx *database.Tx, a Agent) (Agent, error) {
		if a.Status == Killed {
			return a, fault.New(fault.Conflict, "the agent is killed: revive it first")
		}
		if to == Active {
			if err := s.checkParties(ctx, tx, p.OrgID, a); err != nil {
				return a, err // its owner has left: name another first
			}
		}
		was := a.Status
		a.Status, a.SuspendedFor = to, ""
		if to == Suspended {
			a.SuspendedFor = reason
		}
		if err := updateStatus(ctx, tx, p.OrgID, a); err != nil || to != Suspended || was == Suspended {
			return a, err
		}
		return a, s.notifySuspended(ctx, tx, p.OrgID, a, p)
	})
}

// An edit says how a change of an agent is recorded, and whether it confirms one that a key proposes.
type edit struct {
	action string
	// Whoever adds to what an agent has does not say that they have read what a key proposes of it.
	registeredOnly bool
}

// change changes a registered agent of the caller's organization and records it. It confirms one that a key proposes.
func (s *Service) change(
	ctx context.Context, p principal.Principal, id string, as edit,
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
			if as.registeredOnly {
				return fault.New(fault.Conflict, "the agent is only proposed, by a key: look at it (writ agents show AGENT), "+
					"and register it: writ agents register AGENT --key KEY")
			}
			if a, err = s.confirm(ctx, tx, p, a); err != nil {
				return err
			}
		} else if !a.isRegistered() {
			return fault.New(fault.Conflict, "the agent is not registered: register it first")
		}
		if a, err = do(ctx, tx, a); err != nil {
			return err
		}
		if err := s.record(ctx, tx, p, p.OrgID, as.action, a); err != nil {
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
		if err == nil {
			err = s.notifySuspended(ctx, tx, orgID, a, principal.Principal{})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// notifySuspended has people notified, but not the person who suspended the agent.
func (s *Service) notifySuspended(
	ctx context.Context, tx *database.Tx, orgID string, a Agent, by principal.Principal,
) error {
	if s.sources.Suspended == nil {
		return nil
	}
	return s.sources.Suspended(ctx, tx, orgID, a, by)
}
