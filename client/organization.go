package client

import (
	"context"
	"net/http"
	"time"
)

// Organization is an organization as the caller sees it.
type Organization struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Role        string    `json:"role"` // the caller's
	MemberCount int       `json:"memberCount"`
	CreatedAt   time.Time `json:"createdAt"`
	Demo        bool      `json:"demo"` // all of it is made up
}

func organizationPath(orgID string) string { return "/organization/" + segment(orgID) }

// CreateOrganization makes an organization that the caller owns.
func (c *Client) CreateOrganization(ctx context.Context, name string) (Organization, error) {
	return post[Organization](ctx, c, "/organization", nil, map[string]string{"name": name})
}

// MakeDemo makes an organization with demo data; a production server refuses.
func (c *Client) MakeDemo(ctx context.Context) (Organization, error) {
	return post[Organization](ctx, c, "/demo", nil, nil)
}

// Organizations lists the organizations of the caller.
func (c *Client) Organizations(ctx context.Context) ([]Organization, error) {
	return list[Organization](ctx, c, "/organization", nil)
}

// Organization reads an organization.
func (c *Client) Organization(ctx context.Context, orgID string) (Organization, error) {
	return get[Organization](ctx, c, organizationPath(orgID), nil)
}

// RenameOrganization renames an organization.
func (c *Client) RenameOrganization(ctx context.Context, orgID, name string) (Organization, error) {
	return call[Organization](ctx, c, http.MethodPatch, organizationPath(orgID), nil, map[string]string{"name": name})
}

// CloseOrganization closes an organization for good; its audit log stays.
func (c *Client) CloseOrganization(ctx context.Context, orgID string) error {
	return c.delete(ctx, organizationPath(orgID), nil)
}

// Member is a person in an organization.
type Member struct {
	UserID   string    `json:"userId"`
	Email    string    `json:"email"`
	Name     string    `json:"name"`
	Role     string    `json:"role"`
	JoinedAt time.Time `json:"joinedAt"`
}

// Members lists a page of an organization's members.
func (c *Client) Members(ctx context.Context, orgID string, l List) (Page[Member], error) {
	return get[Page[Member]](ctx, c, organizationPath(orgID)+"/members", l.with())
}

// ChangeRole gives a member another role.
func (c *Client) ChangeRole(ctx context.Context, orgID, userID, role string) (Member, error) {
	return call[Member](ctx, c, http.MethodPatch, organizationPath(orgID)+"/members/"+segment(userID)+"/role", nil,
		map[string]string{"role": role})
}

// RemoveMember removes a member; callers can remove themselves.
func (c *Client) RemoveMember(ctx context.Context, orgID, userID string) error {
	_, err := c.RemoveMemberListingKeys(ctx, orgID, userID)
	return err
}

// RemoveMemberListingKeys is RemoveMember, and returns the keys of the former member that go on deciding:
// they belong to the organization.
func (c *Client) RemoveMemberListingKeys(ctx context.Context, orgID, userID string) (keysLeft []Key, err error) {
	var out struct {
		KeysLeft []Key `json:"keysLeft"`
	}
	err = c.Call(ctx, http.MethodDelete, organizationPath(orgID)+"/members/"+segment(userID), nil, nil, &out)
	return out.KeysLeft, err
}

// Invite is an open invitation.
type Invite struct {
	ID        string    `json:"id"`
	Email     string    `json:"email"`
	Role      string    `json:"role"`
	InvitedBy string    `json:"invitedBy"`
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// Invite invites someone by mail. An empty role is the server's default.
func (c *Client) Invite(ctx context.Context, orgID, email, role string) (Invite, error) {
	body := map[string]string{"email": email}
	if role != "" {
		body["role"] = role
	}
	return post[Invite](ctx, c, organizationPath(orgID)+"/members/invite", nil, body)
}

// Invites lists open invitations.
func (c *Client) Invites(ctx context.Context, orgID string) ([]Invite, error) {
	return list[Invite](ctx, c, organizationPath(orgID)+"/invites", nil)
}

// WithdrawInvite withdraws an invitation.
func (c *Client) WithdrawInvite(ctx context.Context, orgID, inviteID string) error {
	return c.delete(ctx, organizationPath(orgID)+"/invites/"+segment(inviteID), nil)
}

// Invitation is what somebody is invited to.
type Invitation struct {
	Organization string `json:"organization"` // its name
	Role         string `json:"role"`
}

// LookAtInvite reads an invitation of the caller, who has not accepted it yet.
func (c *Client) LookAtInvite(ctx context.Context, token string) (Invitation, error) {
	return post[Invitation](ctx, c, "/organization/invites/look", nil, map[string]string{"token": token})
}

// AcceptInvite joins the organization that invited the caller.
func (c *Client) AcceptInvite(ctx context.Context, token string) (Organization, error) {
	return post[Organization](ctx, c, "/organization/invites/accept", nil, map[string]string{
		"token": token,
	})
}
