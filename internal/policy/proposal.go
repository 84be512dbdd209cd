package policy

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/node"
	"writ/internal/page"
	"writ/internal/principal"
)

// The actions of audit entries about profiles. Their policies have entries of their own.
const (
	profileProposed  action = "profile.proposed"
	profileConfirmed action = "profile.confirmed"
	profileWithdrawn action = "profile.withdrawn"
)

// recordedProfile is the payload of an audit entry about a proposal.
type recordedProfile struct {
	ProposalID   string `json:"proposalId"`
	Name         string `json:"name"`
	Version      int    `json:"version"`
	Hash         string `json:"hash"`
	OwnerID      string `json:"ownerId"`
	Confirmation int    `json:"confirmation,omitzero"`
}

func (s *Service) recordProfile(
	ctx context.Context, tx *database.Tx, actor principal.Principal, a action, p Policy, proposal Proposal,
) error {
	_, err := s.log.Append(ctx, tx, audit.Entry{
		Log: audit.LogOf(p.OrgID), Action: string(a), Actor: actor, Subject: audit.Subject{Type: "policy", ID: p.ID},
		Payload: recordedProfile{
			ProposalID: proposal.ID, Name: proposal.Name, Version: proposal.Version, Hash: proposal.Hash,
			OwnerID: proposal.OwnerID, Confirmation: proposal.Confirmation,
		},
	})
	return err
}

// ProposeProfile asks people to activate what the caller has staged. The same profile again returns the open proposal.
// An active profile is refused: a caller whose new profile was not staged must not mistake the old one for it.
func (s *Service) ProposeProfile(
	ctx context.Context, p principal.Principal, reason string,
) (proposal Proposal, err error) {
	if err := requireProposer(p); err != nil {
		return Proposal{}, err
	}
	if err := checkReason(reason); err != nil {
		return Proposal{}, err
	}
	staged, err := findDraft(ctx, s.db, p.OrgID, p.UserID)
	if err != nil {
		return Proposal{}, err
	}
	read, err := staged.Read()
	if err != nil {
		return Proposal{}, fault.Wrap(err, fault.Conflict,
			"what was staged cannot be read by this server: stage it again")
	}
	c, err := s.compileProfile(ctx, p, read)
	if err != nil {
		return Proposal{}, err
	}
	err = s.inLog(ctx, p.OrgID, func(ctx context.Context, tx *database.Tx) error {
		now, err := findDraft(ctx, tx, p.OrgID, p.UserID)
		if err != nil {
			return err
		}
		if now.Hash != staged.Hash {
			return fault.New(fault.Conflict, "another profile was staged meanwhile: propose again")
		}
		proposal, err = s.propose(ctx, tx, p, staged, reason, c)
		return err
	})
	return proposal, err
}

func checkReason(reason string) error {
	switch {
	case len(reason) > MaxReason:
		return fault.Field("reason", "must be at most %d bytes", MaxReason)
	case !utf8.ValidString(reason) || node.HasHidden(reason):
		return fault.Field("reason",
			"must not hold control characters other than line breaks and tabs, nor characters that change the text's direction")
	}
	return nil
}

func (s *Service) propose(
	ctx context.Context, tx *database.Tx, p principal.Principal, staged StagedProfile, reason string, c compiled,
) (Proposal, error) {
	waiting, err := findOpenProposal(ctx, tx, p.OrgID, p.UserID)
	if err != nil {
		return Proposal{}, err
	}
	if waiting != nil && waiting.Hash == staged.Hash {
		return *waiting, nil
	}
	active, err := findActiveProfile(ctx, tx, p.OrgID)
	if err != nil {
		return Proposal{}, err
	}
	if waiting == nil && active != nil && active.Hash == staged.Hash {
		return Proposal{}, fault.New(fault.Conflict,
			"what is staged is in force already: it was confirmed as proposal %s; stage another profile first",
			active.ID)
	}
	if waiting != nil {
		if err := s.supersede(ctx, tx, p.OrgID, *waiting); err != nil {
			return Proposal{}, err
		}
	}
	full, err := s.writeProfile(ctx, tx, p, c)
	if err != nil {
		return Proposal{}, err
	}
	proposal := Proposal{
		StagedProfile: staged,
		ID:            database.NewID(),
		PolicyID:      full.Policy.ID,
		Version:       full.Version.Number,
		OwnerID:       p.UserID,
		Author:        authorOf(p),
		Reason:        reason,
		State:         Open,
		ProposedAt:    tx.Now(),
	}
	if err := insertProposal(ctx, tx, p.OrgID, proposal); err != nil {
		return Proposal{}, err
	}
	if err := s.proposals.proposed(ctx, tx, p.OrgID, proposal); err != nil {
		return Proposal{}, err
	}
	return proposal, s.recordProfile(ctx, tx, p, profileProposed, full.Policy, proposal)
}

// supersede ends a proposal that waits, because its owner makes another one.
func (s *Service) supersede(ctx context.Context, tx *database.Tx, orgID string, waiting Proposal) error {
	waiting.State = Superseded
	if err := updateProposal(ctx, tx, orgID, waiting); err != nil {
		return err
	}
	return s.proposals.settled(ctx, tx, orgID, waiting.ID)
}

// writeProfile stores the next version of the policy of the proposer's profiles, or its first.
func (s *Service) writeProfile(ctx context.Context, tx *database.Tx, p principal.Principal, c compiled) (Full, error) {
	policy, err := findProfilePolicy(ctx, tx, p.OrgID, p.UserID)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return s.create(ctx, tx, p, p.OrgID, c, AsProfile)
	case err != nil:
		return Full{}, err
	case policy.LatestVersion >= MaxVersions:
		return Full{}, fault.New(fault.Conflict,
			"%d profiles were proposed, which is the most: a person must delete policy %s first", policy.LatestVersion,
			policy.ID)
	}
	name := c.doc.Name
	if policy.ActiveVersion != 0 {
		name = policy.Name // of the profile in force, until a person confirms this one
	}
	if policy, err = nextVersion(ctx, tx, policy, name); err != nil {
		return Full{}, err
	}
	return s.write(ctx, tx, p, updated, policy, c, 0)
}

// ConfirmProfile activates a proposal instead of the active profile. The hash is of the text that the person has read.
func (s *Service) ConfirmProfile(
	ctx context.Context, p principal.Principal, id, hash string,
) (proposal Proposal, err error) {
	if err := requireManager(p); err != nil {
		return Proposal{}, err
	}
	before, err := findProposal(ctx, s.db, p.OrgID, id)
	if err != nil {
		return Proposal{}, err
	}
	if _, err := before.Read(); err != nil {
		return Proposal{}, fault.Wrap(err, fault.Conflict, "the proposal cannot be read by this server")
	}
	v, c, err := s.loadVersion(ctx, p.OrgID, before.PolicyID, before.Version)
	if err != nil {
		return Proposal{}, err
	}
	err = s.inLog(ctx, p.OrgID, func(ctx context.Context, tx *database.Tx) (err error) {
		if proposal, err = findProposal(ctx, tx, p.OrgID, id); err != nil {
			return err
		}
		if err := confirmable(proposal, hash); err != nil || proposal.Active {
			return err
		}
		if proposal, err = s.confirm(ctx, tx, p, proposal, v, c.doc.Name); err != nil {
			return err
		}
		return s.proposals.settled(ctx, tx, p.OrgID, proposal.ID)
	})
	return proposal, err
}

func confirmable(proposal Proposal, hash string) error {
	switch {
	case proposal.State == Superseded:
		return fault.New(fault.Conflict, "its proposer has proposed another profile meanwhile: read that one")
	case proposal.State != Open && proposal.State != Confirmed:
		return fault.New(fault.Conflict, "the proposal was withdrawn")
	case !strings.EqualFold(proposal.Hash, hash):
		return fault.New(fault.Conflict,
			"the proposal is not the one of this hash: read it again, and confirm what you have read")
	}
	return nil
}

func (s *Service) confirm(
	ctx context.Context, tx *database.Tx, p principal.Principal, proposal Proposal, v Version, name string,
) (Proposal, error) {
	policy, err := find(ctx, tx, p.OrgID, proposal.PolicyID)
	if err != nil {
		return Proposal{}, err
	}
	replaced, err := selectActiveProfiles(ctx, tx, p.OrgID)
	if err != nil {
		return Proposal{}, err
	}
	for _, other := range replaced {
		if other.ID == policy.ID {
			continue
		}
		if _, err := s.deactivate(ctx, tx, p, other); err != nil {
			return Proposal{}, err
		}
	}
	policy.Name = name
	if policy, err = s.activate(ctx, tx, p, policy, v, activated); err != nil {
		return Proposal{}, err
	}
	last, err := lastConfirmation(ctx, tx, p.OrgID)
	if err != nil {
		return Proposal{}, err
	}
	now := tx.Now()
	proposal.State, proposal.Active, proposal.Confirmation = Confirmed, true, last+1
	proposal.DecidedBy, proposal.DecidedAt = p.UserID, &now
	if err := updateProposal(ctx, tx, p.OrgID, proposal); err != nil {
		return Proposal{}, err
	}
	return proposal, s.recordProfile(ctx, tx, p, profileConfirmed, policy, proposal)
}

// WithdrawProposal withdraws an open proposal. Its proposer may, and everybody who could confirm it. For a manager it
// also deletes the policy if that was never active. It does not for the proposer, who could otherwise propose without
// limit, and end a shadow.
func (s *Service) WithdrawProposal(ctx context.Context, p principal.Principal, id string) error {
	if err := requireDrafter(p); err != nil {
		return err
	}
	return s.inLog(ctx, p.OrgID, func(ctx context.Context, tx *database.Tx) error {
		proposal, err := findProposal(ctx, tx, p.OrgID, id)
		if err != nil {
			return err
		}
		switch {
		case proposal.OwnerID != p.UserID && requireManager(p) != nil:
			return fault.New(fault.Forbidden,
				"only its proposer and members who could confirm it may withdraw a proposal")
		case proposal.State == Withdrawn:
			return nil
		case proposal.State != Open:
			return fault.New(fault.Conflict, "the proposal is no longer open: it is %s", proposal.State)
		}
		if err := s.withdraw(ctx, tx, p, proposal); err != nil {
			return err
		}
		return s.proposals.settled(ctx, tx, p.OrgID, proposal.ID)
	})
}

func (s *Service) withdraw(ctx context.Context, tx *database.Tx, p principal.Principal, proposal Proposal) error {
	policy, err := find(ctx, tx, p.OrgID, proposal.PolicyID)
	if err != nil {
		return err
	}
	now := tx.Now()
	proposal.State, proposal.DecidedBy, proposal.DecidedAt = Withdrawn, p.UserID, &now
	if err := updateProposal(ctx, tx, p.OrgID, proposal); err != nil {
		return err
	}
	if policy.ActivatedAt == nil && policy.ShadowVersion == 0 && requireManager(p) == nil {
		if err := markDeleted(ctx, tx, policy); err != nil {
			return err
		}
	}
	return s.recordProfile(ctx, tx, p, profileWithdrawn, policy, proposal)
}

// proposalList is the list that cursors are bound to.
const proposalList = "policy_profile"

// Proposals lists the proposals, newest first, in one state unless that is empty.
func (s *Service) Proposals(
	ctx context.Context, p principal.Principal, state ProposalState, cursor string, limit int,
) (page.Page[Proposal], error) {
	if err := requireReader(p); err != nil {
		return page.Page[Proposal]{}, err
	}
	if state != "" && !state.Valid() {
		return page.Page[Proposal]{}, fault.Field("state", "must be open, superseded, withdrawn or confirmed")
	}
	query := page.Query{List: proposalList, Scope: p.OrgID + "/" + string(state), Cursor: cursor, Limit: limit}
	return page.Read(query, func(after page.Cursor, limit int) ([]Proposal, error) {
		return selectProposals(ctx, s.db, p.OrgID, state, after, limit)
	}, func(proposal Proposal) (time.Time, string) { return proposal.ProposedAt, proposal.ID })
}
