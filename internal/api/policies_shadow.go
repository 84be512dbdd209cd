package api

import (
	"context"
	"net/http"

	"writ/internal/principal"
)

func (a *API) mountShadows() {
	manage := func(method, summary, records string) Route {
		return Route{
			Method:  method,
			Path:    "/policies/{policyId}/shadow",
			Tag:     policyTag,
			Summary: summary,
			Audit:   records,
			Mode:    JWT,
			Action:  principal.ManagePolicies,
		}
	}
	handle(a,
		manage(http.MethodPost, "Have a version of a policy run as a shadow: written down, never decisive",
			"policy.shadow_started"), a.startShadow)
	handle(a, manage(http.MethodDelete, "End the shadow of a policy", "policy.shadow_ended"), a.endShadow)
}

type startShadowInput struct {
	PolicyInput
	Body *ChosenVersionBody
}

func (a *API) startShadow(
	ctx context.Context, caller principal.Principal, in *startShadowInput,
) (*policyOutput, error) {
	version, err := in.Body.number()
	if err != nil {
		return nil, err
	}
	return shown(a.Policies.StartShadow(ctx, caller, in.PolicyID, version))
}

func (a *API) endShadow(ctx context.Context, caller principal.Principal, in *PolicyInput) (*listedPolicyOutput, error) {
	p, err := a.Policies.EndShadow(ctx, caller, in.PolicyID)
	if err != nil {
		return nil, err
	}
	return &listedPolicyOutput{listedPolicy(p)}, nil
}
