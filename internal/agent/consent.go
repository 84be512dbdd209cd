package agent

import (
	"cmp"
	"context"
	"slices"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/page"
	"writ/internal/principal"
)

// maxChoices is how many agents a person is shown to choose from.
const maxChoices = 200

// Choices are the active agents that a person may let OAuth clients act as, newest first: all to whoever manages
// agents, else the person's own.
func (s *Service) Choices(ctx context.Context, p principal.Principal) ([]Agent, error) {
	if err := requireReader(p); err != nil {
		return nil, err
	}
	f := Filter{Status: Active, OwnerID: p.UserID}
	if p.May(principal.ManageAgents) {
		f.OwnerID = ""
	}
	return list(ctx, s.db, p.OrgID, f, page.Cursor{}, maxChoices)
}

// BindConsented binds the key of a consent to an agent, within the change that records the consent. Only whoever owns
// the agent or manages agents may give a client its name. Keys of consents that have ended make room.
func (s *Service) BindConsented(
	ctx context.Context, tx *database.Tx, p principal.Principal, agentID, keyID string,
) error {
	if p.Kind != principal.User || p.OrgID == "" {
		return fault.New(fault.Forbidden, "only a person may bind keys to agents")
	}
	a, err := find(ctx, tx, p.OrgID, agentID)
	if err == nil && !a.isRegistered() {
		err = noSuchAgent()
	}
	switch {
	case fault.Is(err, fault.NotFound):
		return fault.Field("agentId", "must be a registered agent of the organization")
	case err != nil:
		return err
	case a.OwnerID != p.UserID && !p.May(principal.ManageAgents):
		return fault.New(fault.Forbidden, "only the owner of this agent, or somebody who manages agents, may do this")
	case a.Status != Active:
		return fault.New(fault.Conflict, "the agent is %s", a.Status)
	}
	ended, err := endedConsents(ctx, tx, p.OrgID, agentID)
	if err != nil {
		return err
	}
	a.Keys = append(slices.DeleteFunc(a.Keys, func(id string) bool { return slices.Contains(ended, id) }), keyID)
	slices.Sort(a.Keys)
	if len(a.Keys) > MaxKeys {
		return fault.New(fault.Conflict, "%d keys are bound to the agent: unbind some first", MaxKeys)
	}
	if err := update(ctx, tx, p.OrgID, a); err != nil {
		return err
	}
	return s.record(ctx, tx, p, p.OrgID, updated, a)
}

// MayConsent reports whether a person with a role may let clients act as an agent.
func (s *Service) MayConsent(
	ctx context.Context, orgID, agentID, userID string, role principal.Role,
) (bool, error) {
	if role.May(principal.ManageAgents) {
		return true, nil
	}
	a, err := find(ctx, s.db, orgID, agentID)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil && a.OwnerID == userID, err
}

// EnvironmentOf is the environment that the key of a consent acts in: the agent's, and where it names none, production,
// so that rules about production hold.
func (s *Service) EnvironmentOf(ctx context.Context, r database.Reader, orgID, agentID string) (string, error) {
	a, err := find(ctx, r, orgID, agentID)
	if err != nil && !fault.Is(err, fault.NotFound) { // BindConsented says what is wrong with the id
		return "", err
	}
	return cmp.Or(a.Environment, "production"), nil
}

// UnbindConsented takes the key of a consent that ends from its agent, unless no other key is bound to it: an agent
// without bound keys would count with every key.
func (s *Service) UnbindConsented(
	ctx context.Context, tx *database.Tx, by principal.Principal, orgID, agentID, keyID string,
) error {
	a, err := find(ctx, tx, orgID, agentID)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil || !slices.Contains(a.Keys, keyID) || len(a.Keys) == 1 {
		return err
	}
	a.Keys = slices.DeleteFunc(a.Keys, func(id string) bool { return id == keyID })
	if err := update(ctx, tx, orgID, a); err != nil {
		return err
	}
	return s.record(ctx, tx, by, orgID, updated, a)
}

// endedConsents are the keys of consents that are bound to an agent and revoked.
func endedConsents(ctx context.Context, r database.Reader, orgID, agentID string) ([]string, error) {
	ids, err := database.Collect(ctx, r, database.Column[string], `
		SELECT b.key_id FROM agent_key b
		JOIN api_key k ON k.id = b.key_id
		WHERE b.org_id = $1 AND b.agent_id = $2 AND k.hidden = 1 AND k.revoked_at IS NOT NULL`, orgID, agentID)
	return ids, database.Wrap(err, "find the ended consents of an agent")
}
