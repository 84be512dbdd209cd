package client

import (
	"context"
	"encoding/json"
	"time"
)

// Proposal is a profile that a plugin proposed. Lists leave out Policy and
// Explanation.
type Proposal struct {
	ID            string          `json:"id"`
	PolicyID      string          `json:"policyId"`
	PolicyVersion int             `json:"policyVersion"`
	Name          string          `json:"name"`
	Reason        string          `json:"reason"`
	Hash          string          `json:"hash"`
	State         string          `json:"state"`
	Active        bool            `json:"active"`
	OwnerID       string          `json:"ownerId"`
	ProposedBy    Author          `json:"proposedBy"`
	ProposedAt    time.Time       `json:"proposedAt"`
	DecidedBy     string          `json:"decidedBy"`
	DecidedAt     *time.Time      `json:"decidedAt"`
	Policy        json.RawMessage `json:"policy"`
	Explanation   []string        `json:"explanation"`
}

// StagedProfile is a profile that waits to be proposed.
type StagedProfile struct {
	Name   string          `json:"name"`
	Hash   string          `json:"hash"`
	Policy json.RawMessage `json:"policy"`
}

// ActiveProfile is the profile in force; its Policy is null where there is none.
type ActiveProfile struct {
	Version     int             `json:"version"`
	Policy      json.RawMessage `json:"policy"`
	Hash        string          `json:"hash"`
	PolicyID    string          `json:"policyId"`
	ConfirmedAt *time.Time      `json:"confirmedAt"`
}

// ProfileTemplate is a profile to begin with.
type ProfileTemplate struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Policy      json.RawMessage `json:"policy"`
}

const profilePath = "/policies/profiles/"

// StageProfile stores a profile for the caller to propose.
func (c *Client) StageProfile(ctx context.Context, orgID string, profile json.RawMessage) (StagedProfile, error) {
	return put[StagedProfile](ctx, c, profilePath+"draft", inOrg(orgID), map[string]any{
		"policy": profile,
	})
}

// ProposeProfile proposes the profile that the caller has staged.
func (c *Client) ProposeProfile(ctx context.Context, orgID, reason string) (Proposal, error) {
	return post[Proposal](ctx, c, profilePath+"propose", inOrg(orgID), map[string]any{
		"reason": reason,
	})
}

// ActiveProfile reads the profile in force.
func (c *Client) ActiveProfile(ctx context.Context, orgID string) (ActiveProfile, error) {
	return get[ActiveProfile](ctx, c, profilePath+"active", inOrg(orgID))
}

// Proposals lists a page of proposals, newest first; with an empty state all of them.
func (c *Client) Proposals(ctx context.Context, orgID, state string, l List) (Page[Proposal], error) {
	return get[Page[Proposal]](ctx, c, profilePath+"proposals", l.with("organizationId", orgID, "state", state))
}

// Proposal reads a proposal with its profile and explanation.
func (c *Client) Proposal(ctx context.Context, orgID, id string) (Proposal, error) {
	return get[Proposal](ctx, c, profilePath+"proposals/"+segment(id), inOrg(orgID))
}

// WithdrawProposal withdraws a proposal that waits.
func (c *Client) WithdrawProposal(ctx context.Context, orgID, id string) error {
	return c.delete(ctx, profilePath+"proposals/"+segment(id), inOrg(orgID))
}

// ConfirmProfile puts a proposal in force, if the hash is that of its profile.
func (c *Client) ConfirmProfile(ctx context.Context, orgID, id, hash string) (Proposal, error) {
	return post[Proposal](ctx, c, profilePath+"confirm", inOrg(orgID), map[string]any{
		"proposalId": id, "hash": hash,
	})
}

// ProfileTemplates lists the profiles to begin with.
func (c *Client) ProfileTemplates(ctx context.Context) ([]ProfileTemplate, error) {
	return list[ProfileTemplate](ctx, c, profilePath+"template", nil)
}

// ProfileTemplate reads a profile to begin with.
func (c *Client) ProfileTemplate(ctx context.Context, name string) (ProfileTemplate, error) {
	return get[ProfileTemplate](ctx, c, profilePath+"template/"+segment(name), nil)
}
