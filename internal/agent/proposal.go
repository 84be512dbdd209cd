package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// What a key registers is a proposal. Its id counts as unregistered, so that a key gains nothing, restricts nobody and
// takes no id from others. It becomes an agent when a person changes it or sets its status.

// Limits of proposals.
const (
	MaxProposals        = 20  // of a key
	maxProposalsOfOwner = 200 // of all keys of a person in an organization
	forgetProposals     = 90 * 24 * time.Hour
)

// propose stores what a key says about an agent. To propose it again changes nothing: what a person has seen is what
// they confirm.
func (s *Service) propose(ctx context.Context, tx *database.Tx, p principal.Principal, a Agent) (Agent, error) {
	known, err := find(ctx, tx, p.OrgID, a.ID)
	switch {
	case err != nil && !fault.Is(err, fault.NotFound):
		return Agent{}, err
	case known.isRegistered() && known.OwnerID == p.UserID:
		return known, nil
	case known.isRegistered():
		return Agent{}, isRegistered()
	}
	mine, err := findProposal(ctx, tx, p.OrgID, a.ID, p.KeyID)
	if !fault.Is(err, fault.NotFound) {
		return mine, err
	}
	if err := errors.Join(s.checkParties(ctx, tx, p.OrgID, a), refuseMany(ctx, tx, p)); err != nil {
		return Agent{}, err
	}
	a.Status, a.CreatedAt = Pending, tx.Now()
	if err := insertProposal(ctx, tx, p, a); err != nil {
		return Agent{}, err
	}
	_, err = s.log.Append(ctx, tx, audit.Entry{
		Log: audit.LogOf(p.OrgID), Action: proposed, Actor: p,
		Subject: audit.Subject{Type: "agent", ID: a.ID}, Payload: a.payload(),
		Observation: true, // nothing is decided by it
	})
	return a, err
}

// refuseMany bounds what a key, and a person with many keys, may propose.
func refuseMany(ctx context.Context, tx *database.Tx, p principal.Principal) error {
	var ofKey, ofOwner int
	err := tx.QueryRow(ctx, `
		SELECT (SELECT COUNT(*) FROM agent_proposal WHERE key_id = $3),
			(SELECT COUNT(*) FROM agent_proposal WHERE org_id = $1 AND owner_id = $2)`,
		p.OrgID, p.UserID, p.KeyID).Scan(&ofKey, &ofOwner)
	switch {
	case err != nil:
		return fmt.Errorf("count the agents that a key proposes: %w", err)
	case ofKey >= MaxProposals:
		return fault.New(fault.Conflict, "a key proposes at most %d agents: a person confirms them first", MaxProposals)
	case ofOwner >= maxProposalsOfOwner:
		return fault.New(fault.Conflict, "your keys propose %d agents: a person confirms them first", ofOwner)
	}
	return nil
}

// confirm makes an agent of a proposal, within the change of a person.
func (s *Service) confirm(ctx context.Context, tx *database.Tx, p principal.Principal, a Agent) (Agent, error) {
	if a.Status == Pending {
		a.Status = Active
	}
	if err := add(ctx, tx, p.OrgID, a); err != nil {
		return Agent{}, err
	}
	return a, s.record(ctx, tx, p, p.OrgID, registered, a)
}

func findProposal(ctx context.Context, r database.Reader, orgID, id, keyID string) (a Agent, err error) {
	var key []byte
	a.ID, a.Status = id, Pending
	err = r.QueryRow(ctx, `
		SELECT created_at, name, owner_id, product, environment, description, public_key, intent_required
		FROM agent_proposal
		WHERE org_id = $1 AND agent_id = $2 AND key_id = $3`, orgID, id, keyID).Scan(database.ToTime(&a.CreatedAt),
		&a.Name, &a.OwnerID, &a.Product, &a.Environment, &a.Description, &key, database.ToBool(&a.IntentRequired))
	a.PublicKey = key
	return a, database.OrMissing(err, noSuchAgent(), "read a proposed agent")
}

func insertProposal(ctx context.Context, tx *database.Tx, p principal.Principal, a Agent) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO agent_proposal (org_id, agent_id, key_id, owner_id, name, product, environment, description,
			public_key, intent_required, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		p.OrgID, a.ID, p.KeyID, a.OwnerID, a.Name, a.Product, a.Environment, a.Description,
		optionalBytes(a.PublicKey), database.Bit(a.IntentRequired), database.Micros(a.CreatedAt))
	return database.Wrap(err, "store a proposed agent")
}

// deleteProposals forgets what keys proposed about an id that is registered now.
func deleteProposals(ctx context.Context, tx *database.Tx, orgID, id string) error {
	_, err := tx.Exec(ctx, `DELETE FROM agent_proposal WHERE org_id = $1 AND agent_id = $2`, orgID, id)
	return database.Wrap(err, "forget proposed agents")
}

func pruneProposals(ctx context.Context, tx *database.Tx) (int64, error) {
	return tx.Exec(ctx, `
		DELETE FROM agent_proposal
		WHERE (org_id, agent_id, key_id) IN (
			SELECT org_id, agent_id, key_id FROM agent_proposal WHERE created_at < $1 LIMIT $2)`,
		database.Micros(tx.Now().Add(-forgetProposals)), pruneSlice)
}
