package client

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// Proposal is a profile that a plugin proposed. Policy and Explanation are those
// of one that was asked for; a list leaves them out.
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

// ActiveProfile is the profile in force; its Policy is null where none is.
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

// StageProfile keeps a profile for the caller to propose.
func (c *Client) StageProfile(ctx context.Context, orgID string, profile json.RawMessage) (StagedProfile, error) {
	return call[StagedProfile](ctx, c, http.MethodPut, profilePath+"draft", inOrg(orgID), map[string]any{
		"policy": profile,
	})
}

// ProposeProfile proposes what the caller has staged.
func (c *Client) ProposeProfile(ctx context.Context, orgID, reason string) (Proposal, error) {
	return call[Proposal](ctx, c, http.MethodPost, profilePath+"propose", inOrg(orgID), map[string]any{
		"reason": reason,
	})
}

// ActiveProfile is the profile that calls are judged by.
func (c *Client) ActiveProfile(ctx context.Context, orgID string) (ActiveProfile, error) {
	return call[ActiveProfile](ctx, c, http.MethodGet, profilePath+"active", inOrg(orgID), nil)
}

// Proposals lists a page of what was proposed, newest first; all states where none
// is given.
func (c *Client) Proposals(ctx context.Context, orgID, state string, l List) (Page[Proposal], error) {
	query := l.values()
	for name, value := range map[string]string{"organizationId": orgID, "state": state} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return call[Page[Proposal]](ctx, c, http.MethodGet, profilePath+"proposals", query, nil)
}

// Proposal is a proposal with its profile and what it means.
func (c *Client) Proposal(ctx context.Context, orgID, id string) (Proposal, error) {
	return call[Proposal](ctx, c, http.MethodGet, profilePath+"proposals/"+segment(id), inOrg(orgID), nil)
}

// WithdrawProposal takes back a proposal that waits.
func (c *Client) WithdrawProposal(ctx context.Context, orgID, id string) error {
	return c.Call(ctx, http.MethodDelete, profilePath+"proposals/"+segment(id), inOrg(orgID), nil, nil)
}

// ConfirmProfile puts a proposal in force, by the hash of what was read.
func (c *Client) ConfirmProfile(ctx context.Context, orgID, id, hash string) (Proposal, error) {
	return call[Proposal](ctx, c, http.MethodPost, profilePath+"confirm", inOrg(orgID), map[string]any{
		"proposalId": id, "hash": hash,
	})
}

// ProfileTemplates are the profiles to begin with.
func (c *Client) ProfileTemplates(ctx context.Context) ([]ProfileTemplate, error) {
	out, err := call[struct{ Items []ProfileTemplate }](ctx, c, http.MethodGet, profilePath+"template", nil, nil)
	return out.Items, err
}

// ProfileTemplate is one of them.
func (c *Client) ProfileTemplate(ctx context.Context, name string) (ProfileTemplate, error) {
	return call[ProfileTemplate](ctx, c, http.MethodGet, profilePath+"template/"+segment(name), nil, nil)
}
