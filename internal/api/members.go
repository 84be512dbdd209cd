package api

import (
	"context"
	"net/http"
	"time"

	"writ/internal/organization"
	"writ/internal/page"
	"writ/internal/principal"
	"writ/internal/throttle"
)

func (a *API) mountMembers() {
	const tag = "members"
	handle(a, Route{
		Method: http.MethodGet, Path: "/organization/{orgId}/members", Tag: tag,
		Summary: "Who belongs to an organization",
		Mode:    JWT, Action: principal.ReadMembers,
	}, a.listMembers)
	handle(a, Route{
		Method: http.MethodPatch, Path: "/organization/{orgId}/members/{userId}/role", Tag: tag,
		Summary: "Change a member's role",
		Mode:    JWT, Action: principal.ManageMembers, Audit: "member.role_changed",
	}, a.changeRole)
	handle(a, Route{ // a person may always leave, so the area checks who may remove whom
		Method: http.MethodDelete, Path: "/organization/{orgId}/members/{userId}", Tag: tag,
		Summary: "Remove a member, or leave",
		Mode:    JWT, Action: principal.ReadOrganization, Audit: "member.removed", Status: http.StatusNoContent,
	}, a.removeMember)
	handle(a, Route{
		Method:   http.MethodPost,
		Path:     "/organization/{orgId}/members/invite",
		Tag:      tag,
		Summary:  "Invite someone by mail",
		Mode:     JWT,
		Action:   principal.ManageMembers,
		Throttle: throttle.Invite,
		Audit:    "invite.created",
		Status:   http.StatusCreated,
	}, a.invite)
	handle(a, Route{
		Method: http.MethodGet, Path: "/organization/{orgId}/invites", Tag: tag, Summary: "Open invitations",
		Mode: JWT, Action: principal.ManageMembers,
	}, a.listInvites)
	handle(a, Route{
		Method: http.MethodDelete, Path: "/organization/{orgId}/invites/{id}", Tag: tag,
		Summary: "Withdraw an invitation",
		Mode:    JWT, Action: principal.ManageMembers, Audit: "invite.withdrawn", Status: http.StatusNoContent,
	}, a.withdrawInvite)
	handle(a, Route{
		Method: http.MethodPost, Path: "/organization/invites/accept", Tag: tag,
		Summary: "Accept an invitation with the mailed token",
		Mode:    JWT, Audit: "invite.accepted",
	}, a.acceptInvite)
}

// MemberBody is a person in an organization.
type MemberBody struct {
	UserID   string         `json:"userId" format:"uuid"`
	Email    string         `json:"email"`
	Name     string         `json:"name"`
	Role     principal.Role `json:"role" enum:"owner,admin,approver,member,viewer"`
	JoinedAt time.Time      `json:"joinedAt"`
}

func memberBody(m organization.Member) MemberBody {
	return MemberBody{
		UserID:   m.UserID,
		Email:    m.Email,
		Name:     m.Name,
		Role:     m.Role,
		JoinedAt: m.JoinedAt,
	}
}

// PageInput is the query of a list.
type PageInput struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"How many items a page has at most."`
	Cursor string `query:"cursor" doc:"nextCursor of the page before."`
}

type listMembersInput struct {
	OrgInput
	PageInput
}

type membersOutput struct{ Body page.Page[MemberBody] }

func (a *API) listMembers(
	ctx context.Context, caller principal.Principal, in *listMembersInput,
) (*membersOutput, error) {
	members, err := a.Organizations.Members(ctx, caller, in.Cursor, in.Limit)
	if err != nil {
		return nil, err
	}
	return &membersOutput{mapPage(members, memberBody)}, nil
}

// mapPage is a page with its items in another form.
func mapPage[T, U any](p page.Page[T], convert func(T) U) page.Page[U] {
	items := make([]U, len(p.Items))
	for i, item := range p.Items {
		items[i] = convert(item)
	}
	return page.Page[U]{Items: items, NextCursor: p.NextCursor, HasMore: p.HasMore}
}

// MemberInput is the path of a route about one member.
type MemberInput struct {
	OrgInput
	UserID string `path:"userId"`
}

type changeRoleInput struct {
	MemberInput
	Body struct {
		Role principal.Role `json:"role" enum:"owner,admin,approver,member,viewer"`
	}
}

type memberOutput struct{ Body MemberBody }

func (a *API) changeRole(ctx context.Context, caller principal.Principal, in *changeRoleInput) (*memberOutput, error) {
	member, err := a.Organizations.ChangeRole(ctx, caller, in.UserID, in.Body.Role)
	if err != nil {
		return nil, err
	}
	return &memberOutput{memberBody(member)}, nil
}

func (a *API) removeMember(ctx context.Context, caller principal.Principal, in *MemberInput) (*none, error) {
	return nil, a.Organizations.Remove(ctx, caller, in.UserID)
}

// InviteBody is an open invitation. Its token is only in the mail.
type InviteBody struct {
	ID        string         `json:"id" format:"uuid"`
	Email     string         `json:"email"`
	Role      principal.Role `json:"role" enum:"owner,admin,approver,member,viewer"`
	InvitedBy string         `json:"invitedBy" format:"uuid" doc:"The person who invited."`
	CreatedAt time.Time      `json:"createdAt"`
	ExpiresAt time.Time      `json:"expiresAt"`
}

func inviteBody(i organization.Invite) InviteBody {
	return InviteBody{
		ID:        i.ID,
		Email:     i.Email,
		Role:      i.Role,
		InvitedBy: i.InvitedBy,
		CreatedAt: i.CreatedAt,
		ExpiresAt: i.ExpiresAt,
	}
}

type inviteInput struct {
	OrgInput
	Body struct {
		Email string         `json:"email" maxLength:"254"`
		Role  principal.Role `json:"role,omitempty" default:"member" enum:"owner,admin,approver,member,viewer"`
	}
}

type inviteOutput struct{ Body InviteBody }

func (a *API) invite(ctx context.Context, caller principal.Principal, in *inviteInput) (*inviteOutput, error) {
	invite, err := a.Organizations.Invite(ctx, caller, in.Body.Email, in.Body.Role)
	if err != nil {
		return nil, err
	}
	return &inviteOutput{inviteBody(invite)}, nil
}

type invitesOutput struct {
	Body struct {
		Items []InviteBody `json:"items" nullable:"false"`
	}
}

func (a *API) listInvites(ctx context.Context, caller principal.Principal, _ *OrgInput) (*invitesOutput, error) {
	invites, err := a.Organizations.Invites(ctx, caller)
	if err != nil {
		return nil, err
	}
	out := &invitesOutput{}
	for _, i := range invites {
		out.Body.Items = append(out.Body.Items, inviteBody(i))
	}
	return out, nil
}

type inviteIDInput struct {
	OrgInput
	IDInput
}

func (a *API) withdrawInvite(ctx context.Context, caller principal.Principal, in *inviteIDInput) (*none, error) {
	return nil, a.Organizations.Withdraw(ctx, caller, in.ID)
}

type acceptInput struct {
	Body struct {
		Token string `json:"token" minLength:"1" maxLength:"200"`
	}
}

func (a *API) acceptInvite(
	ctx context.Context, caller principal.Principal, in *acceptInput,
) (*organizationOutput, error) {
	user, err := a.Auth.Get(ctx, caller)
	if err != nil {
		return nil, err
	}
	membership, err := a.Organizations.Accept(ctx, caller, user.Email, in.Body.Token)
	if err != nil {
		return nil, err
	}
	return &organizationOutput{organizationBody(membership)}, nil
}
