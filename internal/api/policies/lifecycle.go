package policies

import (
	"context"
	"net/http"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/policy"
	"writ/internal/principal"
)

func (h *Handlers) mountLifecycle(r *route.Router) {
	route.HandleOutput(r, manage(route.Post("/policies/{policyId}/activate", "Activate a version of a policy")).
		Records("policy.activated").Configures().AsksAgain(), h.activate)
	route.Handle(r, manage(route.Post("/policies/{policyId}/deactivate", "Deactivate a policy")).
		Records("policy.deactivated").Configures().AsksAgain(), h.deactivate)
	route.HandleOutput(r, manage(route.Post("/policies/{policyId}/rollback",
		"Make an old version the latest again, and active if the policy is")).
		Records("policy.rolled_back").Configures().AsksAgain(), h.rollback)
	route.Handle(r, manage(route.Delete("/policies/{policyId}",
		"Delete a policy that is not active; its versions stay for the record")).
		Records("policy.deleted").AsksAgain().Answers(http.StatusNoContent), h.delete)
	route.HandleOutput(r, manage(route.Post("/policies/{policyId}/shadow",
		"Run a version of a policy as a shadow, which is recorded but decides nothing")).
		Records("policy.shadow_started").Configures(), h.startShadow)
	route.Handle(r, manage(route.Delete("/policies/{policyId}/shadow", "End the shadow of a policy")).
		Records("policy.shadow_ended"), h.endShadow)
}

// IfActiveBody is what a person has seen of a policy that they change.
type IfActiveBody struct {
	IfActive *int `json:"ifActive,omitempty" minimum:"0" maximum:"1000000" doc:"The version that you have seen to be active, 0 for none: 409 if another one is by now. Absent: whichever is."`
}

// seen is what was given, if anything was.
func (b *IfActiveBody) seen() []policy.Seen {
	if b == nil || b.IfActive == nil {
		return nil
	}
	return []policy.Seen{{ActiveVersion: *b.IfActive}}
}

// ActivateBody names a version to activate.
type ActivateBody struct {
	ChosenVersionBody
	IfActiveBody
}

type activateInput struct {
	PolicyInput
	Body *ActivateBody
}

func (h *Handlers) activate(ctx context.Context, caller principal.Principal, in *activateInput) (*policyOutput, error) {
	body := in.Body
	if body == nil {
		body = &ActivateBody{}
	}
	version, err := body.number()
	if err != nil {
		return nil, err
	}
	return shown(h.Policies.Activate(ctx, caller, in.PolicyID, version, body.seen()...))
}

type deactivateInput struct {
	PolicyInput
	Body *IfActiveBody
}

func (h *Handlers) deactivate(
	ctx context.Context, caller principal.Principal, in *deactivateInput,
) (ListedPolicyBody, error) {
	p, err := h.Policies.Deactivate(ctx, caller, in.PolicyID, in.Body.seen()...)
	return listedPolicy(p), err
}

type rollbackInput struct {
	PolicyInput
	Body ActivateBody
}

func (h *Handlers) rollback(ctx context.Context, caller principal.Principal, in *rollbackInput) (*policyOutput, error) {
	version, err := in.Body.number()
	if err != nil {
		return nil, err
	}
	if version == policy.LatestVersion {
		return nil, fault.Field("version", "must be the version to go back to")
	}
	return shown(h.Policies.Rollback(ctx, caller, in.PolicyID, version, in.Body.seen()...))
}

func (h *Handlers) delete(ctx context.Context, caller principal.Principal, in *PolicyInput) (route.None, error) {
	return route.None{}, h.Policies.Delete(ctx, caller, in.PolicyID)
}

type startShadowInput struct {
	PolicyInput
	Body *ChosenVersionBody
}

func (h *Handlers) startShadow(
	ctx context.Context, caller principal.Principal, in *startShadowInput,
) (*policyOutput, error) {
	version, err := in.Body.number()
	if err != nil {
		return nil, err
	}
	return shown(h.Policies.StartShadow(ctx, caller, in.PolicyID, version))
}

func (h *Handlers) endShadow(
	ctx context.Context, caller principal.Principal, in *PolicyInput,
) (ListedPolicyBody, error) {
	p, err := h.Policies.EndShadow(ctx, caller, in.PolicyID)
	return listedPolicy(p), err
}
