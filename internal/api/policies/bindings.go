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
		"For whom a policy counts; without bindings for everybody").
		For(route.Person).Needs(principal.ReadPolicies), h.getBindings)
	route.Handle(r, manage(route.Put("/policies/{policyId}/bindings",
		"Say for whom a policy counts, in place of what was said before")).Records("policy.bound"), h.putBindings)
	route.Handle(r, manage(route.Post("/policies/{policyId}/bindings", "Have a policy count for some more")).
		Records("policy.bound"), h.addBindings)
	route.Handle(r, manage(route.Delete("/policies/{policyId}/bindings/{kind}/{subject}",
		"Have a policy not count for someone any more")).Records("policy.bound"), h.removeBinding)
}

// BindingsBody says for whom a policy counts.
type BindingsBody struct {
	Members []string `json:"members,omitempty" nullable:"false" maxItems:"500" doc:"Ids of members of the organization."`
	Clients []string `json:"clients,omitempty" nullable:"false" maxItems:"500" doc:"Ids of API keys, or names that agents give themselves. A name restricts only: what is to allow must count for the key alone too."`
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
		Everybody bool `json:"everybody,omitempty" doc:"True, and nobody named: the policy counts for everybody."`
	}
}

// putBindings wants it said that a policy is to count for everybody: a misspelt
// member must not mean it.
func (h *Handlers) putBindings(
	ctx context.Context, caller principal.Principal, in *putBindingsInput,
) (PolicyBindingsBody, error) {
	b := policy.Bindings(in.Body.BindingsBody)
	if b.IsEmpty() != in.Body.Everybody {
		return PolicyBindingsBody{}, fault.Field("everybody",
			"must be true where no member, client or role is named, and only there")
	}
	if err := h.requireMembers(ctx, caller, b.Members); err != nil {
		return PolicyBindingsBody{}, err
	}
	return showBindings(h.Policies.SetBindings(ctx, caller, in.PolicyID, b))
}

func (h *Handlers) addBindings(
	ctx context.Context, caller principal.Principal, in *bindingsInput,
) (PolicyBindingsBody, error) {
	if err := h.requireMembers(ctx, caller, in.Body.Members); err != nil {
		return PolicyBindingsBody{}, err
	}
	return showBindings(h.Policies.Bind(ctx, caller, in.PolicyID, policy.Bindings(in.Body)))
}

// requireMembers refuses to bind a policy to who is not there: it would count for
// nobody, and look as if it did.
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
