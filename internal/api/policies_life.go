package api

import (
	"context"
	"net/http"
	"slices"

	"writ/internal/fault"
	"writ/internal/policy"
	"writ/internal/principal"
)

func (a *API) mountPolicyLife() {
	manage := func(method, path, summary, records string, status int) Route {
		return Route{
			Method:  method,
			Path:    path,
			Tag:     policyTag,
			Summary: summary,
			Status:  status,
			Audit:   records,
			Mode:    JWT,
			Action:  principal.ManagePolicies,
		}
	}
	handle(a,
		manage(http.MethodPost, "/policies/{policyId}/activate", "Have calls judged by a version of a policy",
			"policy.activated", 0), a.activatePolicy)
	handle(a,
		manage(http.MethodPost, "/policies/{policyId}/deactivate", "Stop judging calls by a policy",
			"policy.deactivated", 0), a.deactivatePolicy)
	handle(a,
		manage(http.MethodPost, "/policies/{policyId}/rollback",
			"Make an old version the latest again; active at once if the policy is", "policy.rolled_back", 0),
		a.rollbackPolicy)
	handle(a,
		manage(http.MethodDelete, "/policies/{policyId}",
			"Delete a policy that is not active; its versions are kept for the record", "policy.deleted",
			http.StatusNoContent), a.deletePolicy)
}

type activateInput struct {
	PolicyInput
	Body *ChosenVersionBody
}

func (a *API) activatePolicy(
	ctx context.Context, caller principal.Principal, in *activateInput,
) (*policyOutput, error) {
	version, err := in.Body.number()
	if err != nil {
		return nil, err
	}
	return shown(a.Policies.Activate(ctx, caller, in.PolicyID, version))
}

type listedPolicyOutput struct{ Body ListedPolicyBody }

func (a *API) deactivatePolicy(
	ctx context.Context, caller principal.Principal, in *PolicyInput,
) (*listedPolicyOutput, error) {
	p, err := a.Policies.Deactivate(ctx, caller, in.PolicyID)
	if err != nil {
		return nil, err
	}
	return &listedPolicyOutput{listedPolicy(p)}, nil
}

type rollbackInput struct {
	PolicyInput
	Body ChosenVersionBody
}

func (a *API) rollbackPolicy(
	ctx context.Context, caller principal.Principal, in *rollbackInput,
) (*policyOutput, error) {
	version, err := in.Body.number()
	if err != nil {
		return nil, err
	}
	if version == policy.LatestVersion {
		return nil, fault.Field("version", "must be given: the version to go back to")
	}
	return shown(a.Policies.Rollback(ctx, caller, in.PolicyID, version))
}

func (a *API) deletePolicy(ctx context.Context, caller principal.Principal, in *PolicyInput) (*none, error) {
	return nil, a.Policies.Delete(ctx, caller, in.PolicyID)
}

func (a *API) mountBindings() {
	const path = "/policies/{policyId}/bindings"
	handle(a, Route{
		Method: http.MethodGet, Path: path, Tag: policyTag,
		Summary: "For whom a policy counts; without bindings for everybody",
		Mode:    JWT, Action: principal.ReadPolicies,
	}, a.getBindings)
	change := func(method, path, summary string) Route {
		return Route{
			Method:  method,
			Path:    path,
			Tag:     policyTag,
			Summary: summary,
			Mode:    JWT,
			Action:  principal.ManagePolicies,
			Audit:   "policy.bound",
		}
	}
	handle(a, change(http.MethodPut, path, "Say for whom a policy counts, in place of what was said before"),
		a.putBindings)
	handle(a, change(http.MethodPost, path, "Have a policy count for some more"), a.addBindings)
	handle(a, change(http.MethodDelete, path+"/{kind}/{subject}", "Have a policy not count for someone any more"),
		a.removeBinding)
}

// BindingsBody says for whom a policy counts.
type BindingsBody struct {
	Members []string `json:"members,omitempty" nullable:"false" maxItems:"500" doc:"Ids of members of the organization."`
	Clients []string `json:"clients,omitempty" nullable:"false" maxItems:"500" doc:"Ids of API keys, or names that agents give themselves. A name restricts only: what is to allow must count for the key alone too."`
	Roles   []string `json:"roles,omitempty" nullable:"false" maxItems:"5" doc:"Roles in the organization."`
}

// bindingsShown is BindingsBody in an answer, where nothing is left out.
type bindingsShown struct {
	Body struct {
		Members []string `json:"members" nullable:"false"`
		Clients []string `json:"clients" nullable:"false"`
		Roles   []string `json:"roles" nullable:"false"`
	}
}

func showBindings(b policy.Bindings, err error) (*bindingsShown, error) {
	if err != nil {
		return nil, err
	}
	out := &bindingsShown{}
	out.Body.Members, out.Body.Clients, out.Body.Roles = slices.Concat([]string{}, b.Members),
		slices.Concat([]string{}, b.Clients), slices.Concat([]string{}, b.Roles)
	return out, nil
}

func (a *API) getBindings(ctx context.Context, caller principal.Principal, in *PolicyInput) (*bindingsShown, error) {
	return showBindings(a.Policies.Bindings(ctx, caller, in.PolicyID))
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
func (a *API) putBindings(
	ctx context.Context, caller principal.Principal, in *putBindingsInput,
) (*bindingsShown, error) {
	b := policy.Bindings(in.Body.BindingsBody)
	if b.IsEmpty() != in.Body.Everybody {
		return nil, fault.Field("everybody", "must be true where no member, client or role is named, and only there")
	}
	if err := a.requireMembers(ctx, caller, b.Members); err != nil {
		return nil, err
	}
	return showBindings(a.Policies.SetBindings(ctx, caller, in.PolicyID, b))
}

func (a *API) addBindings(ctx context.Context, caller principal.Principal, in *bindingsInput) (*bindingsShown, error) {
	if err := a.requireMembers(ctx, caller, in.Body.Members); err != nil {
		return nil, err
	}
	return showBindings(a.Policies.Bind(ctx, caller, in.PolicyID, policy.Bindings(in.Body)))
}

// requireMembers refuses to bind a policy to who is not there: it would count for
// nobody, and look as if it did.
func (a *API) requireMembers(ctx context.Context, caller principal.Principal, ids []string) error {
	for _, id := range ids {
		_, err := a.Organizations.RoleOf(ctx, caller.OrgID, id)
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

func (a *API) removeBinding(ctx context.Context, caller principal.Principal, in *bindingInput) (*bindingsShown, error) {
	var fewer policy.Bindings
	switch in.Kind {
	case "members":
		fewer.Members = []string{in.Subject}
	case "clients":
		fewer.Clients = []string{in.Subject}
	case "roles":
		fewer.Roles = []string{in.Subject}
	default:
		return nil, fault.New(fault.NotFound, "the policy has no such binding")
	}
	return showBindings(a.Policies.Unbind(ctx, caller, in.PolicyID, fewer))
}
