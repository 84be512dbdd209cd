package organizations

import (
	"context"

	"writ/internal/api/route"
	"writ/internal/principal"
)

func (h *Handlers) mountRoles(r *route.Router) {
	route.Handle(r, route.Get("/organization/{orgId}/roles", "What each role allows, from most to least").
		For(route.Person).Needs(principal.ReadOrganization), h.listRoles)
}

// RoleBody is a role that members may have.
type RoleBody struct {
	Role   principal.Role     `json:"role" enum:"owner,admin,approver,member,viewer"`
	Rights []principal.Action `json:"rights" nullable:"false" doc:"What it allows; the routes name what they need."`
}

func (h *Handlers) listRoles(
	context.Context, principal.Principal, *route.OrgInput,
) (route.Items[RoleBody], error) {
	return route.ItemsOf(principal.Roles(), func(role principal.Role) RoleBody {
		return RoleBody{role, role.Rights()}
	}), nil
}
