package organizations

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/organization"
	"writ/internal/principal"
	"writ/internal/throttle"
)

func (h *Handlers) mountDemo(r *route.Router) {
	route.Handle(r, route.Post("/demo", "Make an organization with demo data; not in production").
		For(route.Person).Throttled(throttle.MakeDemo).Records("organization.created").
		Answers(http.StatusCreated), h.makeDemo)
}

type demoInput struct {
	Authorization string `header:"Authorization" hidden:"true"`
}

// makeDemo is whole or leaves nothing open: an organization that could not be filled is closed.
func (h *Handlers) makeDemo(ctx context.Context, caller principal.Principal, in *demoInput) (OrganizationBody, error) {
	if h.FillDemo == nil {
		return OrganizationBody{}, fault.New(fault.Forbidden, "a production server makes no demo data: see writd demo")
	}
	created, err := h.Organizations.CreateDemo(ctx, caller)
	if err != nil {
		return OrganizationBody{}, err
	}
	_, token, _ := strings.Cut(in.Authorization, " ")
	if err := h.FillDemo(ctx, token, created.ID); err != nil {
		caller.OrgID, caller.Role = created.ID, principal.Owner
		closing := h.Organizations.Close(context.WithoutCancel(ctx), caller)
		if closing == nil && fault.Is(err, fault.TooMany) {
			return OrganizationBody{}, err
		}
		err = errors.Join(err, closing)
		return OrganizationBody{}, fault.Wrap(err, fault.Internal, "the demo data could not be made")
	}
	return organizationBody(organization.Membership{
		Organization: created, Role: principal.Owner, MemberCount: 1,
	}), nil
}
