package decisions

import (
	"context"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/api/route"
	"writ/internal/enforcement"
	"writ/internal/fault"
	"writ/internal/intent"
	"writ/internal/intent/plan"
	"writ/internal/principal"
	"writ/internal/throttle"
)

// mountTrust serves delegations. Published SDKs ask for them in two shapes on one path, and an older one on a path of
// its own.
func (h *Handlers) mountTrust(r *route.Router) {
	delegates := func(rt route.Route) route.Route {
		return rt.For(route.Key).Scoped(principal.Enforce).Throttled(throttle.Delegate).Records("plan.delegated").
			Answers(http.StatusCreated)
	}
	route.Raw[DelegateBody, DelegatedBody](r, delegates(route.Post("/iap/trust/delegate",
		"Delegate a part of a plan to whoever holds a key; it can only narrow")), h.delegate)
	route.Raw[DelegateBody, DelegatedBody](r, delegates(route.Post("/delegation/create",
		"Delegate a part of a plan, as the oldest SDK asks for it")), h.delegate)
	route.Handle(r, route.Post("/iap/trust/reanchor",
		"Put another plan in the place of one; what it permits in addition waits for a person").
		For(route.Key).Scoped(principal.Enforce).Records("plan.reanchored"), h.reanchor)
	route.Handle(r, route.Post("/iap/trust/revoke", "Revoke a plan or delegation; what came of it counts no more").
		For(route.PersonOrKey).Needs(principal.ReadTelemetry).Scoped(principal.Enforce).StoppedToo().
		Records("plan.revoked"), h.revoke)
	route.Handle(r, route.Get("/iap/trust/chain/{planId}",
		"A plan, its versions and all that was delegated from it, to draw").
		For(route.PersonOrKey).Needs(principal.ReadTelemetry).Scoped(principal.Enforce).Throttled(throttle.ShowChain),
		h.getChain)
}

func (h *Handlers) delegate(w http.ResponseWriter, r *http.Request, caller principal.Principal) error {
	if caller.OrgID == "" {
		return route.NoOrganization()
	}
	body, release, err := h.Bodies.Read(r, h.MaxBodyBytes)
	defer release()
	if err != nil {
		return err
	}
	var in wireDelegate
	if err := route.ReadObject(body, &in); err != nil {
		return fault.Field(route.FieldOf(err), "%s", route.Describe(err))
	}
	if err := in.check(); err != nil {
		return err
	}
	asked, err := in.request()
	if err != nil {
		return err
	}
	settings, err := h.Enforcement.Settings(r.Context(), caller.OrgID)
	if err != nil {
		return err
	}
	asked.MaxLife = settings.MaxPlanTTL
	held := HeldProof(r, body)
	asked.Held, asked.Sent = held.Proof, held.Sent
	made, err := h.Intent.Delegate(r.Context(), caller, asked)
	if err != nil && !isSent(in.Plan) { // then the plan is that of the subtask, if there is any
		return fault.Within(err, "plan", "subtask")
	}
	if err != nil {
		return err
	}
	answer := h.delegatedBody(r.Context(), caller, made)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_ = json.MarshalWrite(w, answer) // a client that is gone can ask again
	return nil
}

type reanchorInput struct {
	Body struct {
		NewPlan   sentPlan `json:"newPlan" doc:"The plan by which calls are judged from now on, in any published shape."`
		Reason    *string  `json:"reason,omitempty" nullable:"true" doc:"Recorded, at most 500 bytes."`
		PlanID    *string  `json:"planId,omitempty" nullable:"true" doc:"The plan whose place it takes. It or intentReference is needed."`
		Reference *string  `json:"intentReference,omitempty" nullable:"true" doc:"Its reference."`
	}
}

func (h *Handlers) reanchor(
	ctx context.Context, caller principal.Principal, in *reanchorInput,
) (ReanchoredBody, error) {
	if caller.OrgID == "" {
		return ReanchoredBody{}, route.NoOrganization()
	}
	settings, err := h.Enforcement.Settings(ctx, caller.OrgID)
	if err != nil {
		return ReanchoredBody{}, err
	}
	done, err := h.Intent.Reanchor(ctx, caller, intent.ReanchorRequest{
		PlanID:    route.OrEmpty(in.Body.PlanID),
		Reference: route.OrEmpty(in.Body.Reference),
		Plan:      in.Body.NewPlan,
		Reason:    route.OrEmpty(in.Body.Reason),
		Widening:  settings.Widening,
	})
	if err != nil {
		return ReanchoredBody{}, fault.Within(err, "plan", "newPlan")
	}
	return reanchoredBody(done), nil
}

type revokeTrustInput struct {
	route.OrganizationQuery
	Body struct {
		Token     route.SentObject `json:"token,omitempty" nullable:"true" doc:"The token of the plan or delegation, as it was issued."`
		TrustID   *string          `json:"trustId,omitempty" nullable:"true" doc:"The id of a delegation, in place of its token; beside the token of a plan, of one that came from it."`
		Reason    *string          `json:"reason,omitempty" nullable:"true" doc:"Recorded, at most 500 bytes."`
		Cascade   *bool            `json:"cascade,omitempty" nullable:"true" doc:"Whether what was delegated from it is marked as revoked too; true unless set. It counts no more either way."`
		PlanID    *string          `json:"planId,omitempty" nullable:"true" doc:"The plan, which must be the token's; without a token, as trustId."`
		Reference *string          `json:"intentReference,omitempty" nullable:"true" doc:"Its reference."`
	}
}

func (h *Handlers) revoke(
	ctx context.Context, caller principal.Principal, in *revokeTrustInput,
) (TrustRevokedBody, error) {
	b := &in.Body
	asked := intent.RevokeRequest{
		Token:   plan.ParsePresented(b.Token),
		ID:      route.OrEmpty(b.TrustID),
		Reason:  route.OrEmpty(b.Reason),
		Cascade: b.Cascade == nil || *b.Cascade,
	}
	planID := route.OrEmpty(b.PlanID)
	switch {
	case asked.Token.IsZero() && isSent(jsontext.Value(b.Token)):
		return TrustRevokedBody{}, fault.Field("token", "must be the token of a plan or delegation, as it was issued")
	case asked.Token.IsZero() && asked.ID == "":
		asked.ID = planID
	case !asked.Token.IsZero() && planID != "" && asked.Token.PlanID != "" && asked.Token.PlanID != planID:
		return TrustRevokedBody{}, fault.Field("planId", "must be the plan of the token")
	case !asked.Token.IsZero() && asked.Token.PlanID == "":
		asked.Token.PlanID, asked.Token.Reference = planID, route.OrEmpty(b.Reference)
	}
	done, err := h.Intent.Revoke(ctx, caller, asked)
	if err != nil {
		return TrustRevokedBody{}, err
	}
	return revokedBody(done, asked.Cascade), nil
}

func (h *Handlers) getChain(ctx context.Context, caller principal.Principal, in *PlanInput) (TrustTreeBody, error) {
	tree, err := h.Intent.Chain(ctx, caller, in.PlanID)
	if err != nil {
		return TrustTreeBody{}, err
	}
	return trustTreeBody(in.PlanID, tree), nil
}

// delegatedBody is the answer in both shapes at once: each SDK reads its own members.
func (h *Handlers) delegatedBody(ctx context.Context, caller principal.Principal, d intent.Delegated) DelegatedBody {
	body := DelegatedBody{
		TrustID:      d.ID,
		DelegationID: d.ID,
		Delta:        delegationDelta(d),
		Metadata: DelegationDetailsBody{
			PlanID:   d.RootID,
			ParentID: d.ParentID,
			Delegate: d.Delegate,
			AgentID:  d.AgentID,
			Depth:    d.Depth,
			MaxDepth: d.Further,
			Budget:   d.Budget,
		},
	}
	if d.Token == "" {
		return body
	}
	delta := body.Delta
	body.TrustDelta = &delta
	own := &plan.Plan{Steps: d.Steps}
	validation, _ := h.Enforcement.Foresee(ctx, caller, own, nil, enforcement.Parties{AgentID: d.AgentID})
	body.Delegation = &DelegatedTokenBody{
		TokenID:           d.ID,
		PlanID:            d.ID,
		PlanHash:          d.PlanHash,
		Signature:         d.Signature,
		IssuedAt:          d.IssuedAt.Unix(),
		ExpiresAt:         d.ExpiresAt.Unix(),
		CompositeIdentity: d.Identity,
		PolicyValidation:  validation,
		StepProofs:        d.Proofs,
		TotalSteps:        len(d.Steps),
		JWT:               d.Token,
		ClientInfo:        ClientInfoBody{ClientID: caller.KeyID, ClientName: caller.KeyID, OrgID: caller.OrgID},
	}
	return body
}
