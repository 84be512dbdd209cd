package organizations

import (
	"context"
	"net/http"
	"time"

	"writ/internal/api/route"
	"writ/internal/apikey"
	"writ/internal/database"
	"writ/internal/organization"
	"writ/internal/page"
	"writ/internal/principal"
	"writ/internal/throttle"
)

func (h *Handlers) mountMembers(r *route.Router) {
	route.Handle(r, route.Get("/organization/{orgId}/members", "Who belongs to an organization").
		For(route.Person).Needs(principal.ReadMembers), h.listMembers)
	route.Handle(r, route.Patch("/organization/{orgId}/members/{userId}/role", "Change a member's role").
		For(route.Person).Needs(principal.ManageMembers).Records("member.role_changed").Configures().AsksAgain(),
		h.changeRole)
	// A person may always leave, so the service checks who may remove whom.
	route.Handle(r,
		route.Delete("/organization/{orgId}/members/{userId}",
			"Remove a member, or leave; the answer names the member's keys that go on deciding").
			For(route.Person).Needs(principal.ReadOrganization).Records("member.removed"), h.removeMember)
	route.Handle(r, route.Post("/organization/{orgId}/members/invite", "Invite someone by mail").
		For(route.Person).Needs(principal.ManageMembers).Throttled(throttle.Invite).
		Records("invite.created").Configures().AsksAgain().MayAskForPayment().Answers(http.StatusCreated), h.invite)
	route.Handle(r, route.Get("/organization/{orgId}/invites", "Open invitations").
		For(route.Person).Needs(principal.ManageMembers), h.listInvites)
	route.Handle(r, route.Delete("/organization/{orgId}/invites/{id}", "Withdraw an invitation").
		For(route.Person).Needs(principal.ManageMembers).Records("invite.withdrawn").
		Answers(http.StatusNoContent), h.withdrawInvite)
	route.Handle(r, route.Post("/organization/invites/look", "Whom an invitation is of, with the mailed token").
		For(route.Person).Unrecorded(), h.lookAtInvite)
	route.Handle(r, route.Post("/organization/invites/accept", "Accept an invitation with the mailed token").
		For(route.Person).Records("invite.accepted"), h.acceptInvite)
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

type listMembersInput struct {
	route.OrgInput
	route.PageInput
}

func (h *Handlers) listMembers(
	ctx context.Context, caller principal.Principal, in *listMembersInput,
) (page.Page[MemberBody], error) {
	members, err := h.Organizations.Members(ctx, caller, in.Cursor, in.Limit)
	return route.MapPage(members, memberBody), err
}

// MemberInput is the path of a route about one member.
type MemberInput struct {
	route.OrgInput
	UserID string `path:"userId"`
}

type changeRoleInput struct {
	MemberInput
	Body struct {
		Role principal.Role `json:"role" enum:"owner,admin,approver,member,viewer"`
	}
}

func (h *Handlers) changeRole(
	ctx context.Context, caller principal.Principal, in *changeRoleInput,
) (MemberBody, error) {
	member, err := h.Organizations.ChangeRole(ctx, caller, in.UserID, in.Body.Role)
	return memberBody(member), err
}

// RemovedMemberBody says what a former member leaves behind.
type RemovedMemberBody struct {
	KeysLeft []KeyBody `json:"keysLeft" nullable:"false" doc:"Keys of agents that the member made here. They belong to the organization and go on deciding until somebody revokes them; at most 1,000 are named."`
}

func (h *Handlers) removeMember(
	ctx context.Context, caller principal.Principal, in *MemberInput,
) (RemovedMemberBody, error) {
	body := RemovedMemberBody{KeysLeft: []KeyBody{}}
	err := h.Organizations.Remove(ctx, caller, in.UserID, func(
		ctx context.Context, tx *database.Tx, orgID, userID string,
	) ([]string, error) {
		left, err := apikey.LeftBy(ctx, tx, orgID, userID)
		body.KeysLeft = body.KeysLeft[:0]
		ids := []string{}
		for _, k := range left {
			body.KeysLeft, ids = append(body.KeysLeft, h.keyBody(k)), append(ids, k.ID)
		}
		if err == nil {
			err = h.Agents.OwnerLeft(ctx, tx, caller, orgID, userID)
		}
		return ids, err
	})
	return body, err
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
	route.OrgInput
	Body struct {
		Email string         `json:"email" maxLength:"254"`
		Role  principal.Role `json:"role,omitempty" default:"member" enum:"owner,admin,approver,member,viewer"`
	}
}

func (h *Handlers) invite(ctx context.Context, caller principal.Principal, in *inviteInput) (InviteBody, error) {
	invite, err := h.Organizations.Invite(ctx, caller, in.Body.Email, in.Body.Role)
	return inviteBody(invite), err
}

func (h *Handlers) listInvites(
	ctx context.Context, caller principal.Principal, _ *route.OrgInput,
) (route.Items[InviteBody], error) {
	invites, err := h.Organizations.Invites(ctx, caller)
	return route.ItemsOf(invites, inviteBody), err
}

type inviteIDInput struct {
	route.OrgInput
	route.IDInput
}

func (h *Handlers) withdrawInvite(
	ctx context.Context, caller principal.Principal, in *inviteIDInput,
) (route.None, error) {
	return route.None{}, h.Organizations.Withdraw(ctx, caller, in.ID)
}

type mailedTokenInput struct {
	Body struct {
		Token string `json:"token" minLength:"1" maxLength:"200"`
	}
}

// InvitationBody is what the person who is invited may know.
type InvitationBody struct {
	Organization string         `json:"organization" doc:"Its name."`
	Role         principal.Role `json:"role" enum:"owner,admin,approver,member,viewer" doc:"What they would be there."`
}

func (h *Handlers) lookAtInvite(
	ctx context.Context, caller principal.Principal, in *mailedTokenInput,
) (InvitationBody, error) {
	user, err := h.Accounts.Get(ctx, caller)
	if err != nil {
		return InvitationBody{}, err
	}
	invited, err := h.Organizations.Invited(ctx, caller, user.Email, in.Body.Token)
	return InvitationBody{Organization: invited.Name, Role: invited.Role}, err
}

func (h *Handlers) acceptInvite(
	ctx context.Context, caller principal.Principal, in *mailedTokenInput,
) (OrganizationBody, error) {
	user, err := h.Accounts.Get(ctx, caller)
	if err != nil {
		return OrganizationBody{}, err
	}
	membership, err := h.Organizations.Accept(ctx, caller, user.Email, in.Body.Token)
	return organizationBody(membership), err
}
