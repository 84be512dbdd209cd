package policies

import (
	"context"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/policy"
	"writ/internal/principal"
)

func (h *Handlers) mountBindings(r *route.Router) {
	route.Handle(r, route.Get("/policies/{policyId}/bindings",
		"To whom a policy applies; without bindings to everybody").
		For(route.Person).Needs(principal.ReadPolicies), h.getBindings)
	route.Handle(r, manage(route.Put("/policies/{policyId}/bindings",
		"Replace the bindings of a policy")).Records("policy.bound").Configures().AsksAgain(), h.putBindings)
	route.Handle(r, manage(route.Post("/policies/{policyId}/bindings", "Add bindings to a policy")).
		Records("policy.bound").Configures().AsksAgain(), h.addBindings)
	route.Handle(r, manage(route.Delete("/policies/{policyId}/bindings/{kind}/{subject}",
		"Remove a binding from a policy")).Records("policy.bound").AsksAgain(), h.removeBinding)
}

// BindingsBody says to whom a policy applies.
type BindingsBody struct {
	Members []string `json:"members,omitempty" nullable:"false" maxItems:"500" doc:"Ids of members of the organization."`
	Clients []string `json:"clients,omitempty" nullable:"false" maxItems:"500" doc:"Ids of API keys, or names that agents give themselves. A name can only restrict: a policy that allows must apply to the key alone too."`
	Roles   []string `json:"roles,omitempty" nullable:"false" maxItems:"5" doc:"Roles in the organization."`
}

// PolicyBindingsBody is BindingsBody in an answer, where nothing is left out.
type PolicyBindingsBody struct {
	Members []string `json:"members" nullable:"false"`
	Clients []string `json:"clients" nullable:"false"`
	Roles   []string `json:"roles" nullable:"false"`
}

func showBindings(b policy.Bindings, err error) (PolicyBindingsBody, error) {
	none := []string{}
	return PolicyBindingsBody{append(none, b.Members...), append(none, b.Clients...), append(none, b.Roles...)}, err
}

func (h *Handlers) getBindings(
	ctx context.Context, caller principal.Principal, in *PolicyInput,
) (PolicyBindingsBody, error) {
	return showBindings(h.Policies.Bindings(ctx, caller, in.PolicyID))
}

type bindingsInput struct {
	PolicyInput
	Body BindingsBody
}

type putBindingsInput struct {
	PolicyInput
	Body struct {
		BindingsBody
		Everybody bool          `json:"everybody,omitempty" doc:"True, without any binding: the policy applies to everybody."`
		Replaces  *BindingsBody `json:"replaces,omitempty" doc:"The bindings that you have seen, empty for everybody: 409 if it has others by now. Absent: whichever it has."`
	}
}

// putBindings applies a policy to everybody only if the body says so, not because a member name was misspelled.
func (h *Handlers) putBindings(
	ctx context.Context, caller principal.Principal, in *putBindingsInput,
) (PolicyBindingsBody, error) {
	b := policy.Bindings(in.Body.BindingsBody)
	if b.IsEmpty() != in.Body.Everybody {
		return PolicyBindingsBody{}, fault.Field("everybody",
			"must be true if no member, client or role is named, and only then")
	}
	if err := h.requireMembers(ctx, caller, b.Members); err != nil {
		return PolicyBindingsBody{}, err
	}
	var seen []policy.Bindings
	if in.Body.Replaces != nil {
		seen = append(seen, policy.Bindings(*in.Body.Replaces))
	}
	return showBindings(h.Policies.SetBindings(ctx, caller, in.PolicyID, b, seen...))
}

func (h *Handlers) addBindings(
	ctx context.Context, caller principal.Principal, in *bindingsInput,
) (PolicyBindingsBody, error) {
	if err := h.requireMembers(ctx, caller, in.Body.Members); err != nil {
		return PolicyBindingsBody{}, err
	}
	return showBindings(h.Policies.Bind(ctx, caller, in.PolicyID, policy.Bindings(in.Body)))
}

// requireMembers refuses to bind a policy to a person who is not a member, to whom it would never apply.
func (h *Handlers) requireMembers(ctx context.Context, caller principal.Principal, ids []string) error {
	for _, id := range ids {
		_, err := h.Organizations.RoleOf(ctx, caller.OrgID, id)
		if fault.Is(err, fault.Forbidden) {
			return fault.Field("members", "must be ids of members of the organization")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

type bindingInput struct {
	PolicyInput
	Kind    string `path:"kind" doc:"members, clients or roles."`
	Subject string `path:"subject" doc:"The member, client or role."`
}

func (h *Handlers) removeBinding(
	ctx context.Context, caller principal.Principal, in *bindingInput,
) (PolicyBindingsBody, error) {
	var fewer policy.Bindings
	switch in.Kind {
	case "members":
		fewer.Members = []string{in.Subject}
	case "clients":
		fewer.Clients = []string{in.Subject}
	case "roles":
		fewer.Roles = []string{in.Subject}
	default:
		return PolicyBindingsBody{}, fault.New(fault.NotFound, "the policy has no such binding")
	}
	return showBindings(h.Policies.Unbind(ctx, caller, in.PolicyID, fewer))
}
