package decisions

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

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

// DelegateBody documents what is asked for. With parentToken or subtreePath it is the form of current SDKs, which show
// the plan's token with the sub-tree afterwards; else a token of its own is issued.
type DelegateBody struct {
	_ struct{} `additionalProperties:"false"`

	Token     *PresentedTokenBody `json:"token,omitempty" doc:"The token of the plan or delegation, as it was issued. That of a delegation needs a proof of possession in X-Writ-Proof."`
	Delegate  string              `json:"delegate_public_key,omitempty" doc:"Ed25519, in hex or base64: whoever holds the private half may use the delegation."`
	Seconds   float64             `json:"validity_seconds,omitempty" doc:"Absent: 3600. A delegation never outlives its parent."`
	Actions   []string            `json:"allowed_actions,omitempty" nullable:"false" doc:"The tools that are delegated. Absent: all of the parent's."`
	Agent     string              `json:"target_agent,omitempty" doc:"The agent that may use it. Absent: whoever holds the key."`
	Subtask   map[string]any      `json:"subtask,omitempty" doc:"What it is for: goal. With steps it is the plan that is delegated, as plan."`
	Plan      *DeclaredPlanBody   `json:"plan,omitempty" doc:"What is delegated, as a plan: every step must be covered by one of the parent's, and may fix more arguments or limit its calls."`
	Budget    int64               `json:"budget,omitempty" minimum:"1" doc:"How many calls may be made under it and what is delegated from it. Absent: as many as under the parent."`
	MaxDepth  *int                `json:"max_depth,omitempty" minimum:"0" maximum:"7" doc:"How many delegations may follow. Absent: as many as the parent permits."`
	Parent    *PresentedTokenBody `json:"parentToken,omitempty" doc:"In the form of current SDKs: the token of the plan."`
	Whole     map[string]any      `json:"parentPlan,omitempty" nullable:"true" doc:"In that form: a copy of the plan, which is not read."`
	Path      string              `json:"subtreePath,omitempty" doc:"In that form: the part of the plan." example:"/steps/[0]"`
	PublicKey string              `json:"delegatePublicKey,omitempty" doc:"In that form: the delegate's key, which is only recorded."`
	Validity  float64             `json:"validitySeconds,omitempty" doc:"In that form: validity_seconds."`
	PlanID    string              `json:"planId,omitempty" doc:"In that form: the plan, which must be the token's."`
	Reference string              `json:"intentReference,omitempty" doc:"In that form: its reference."`
}

// wireDelegate is what is read of a request.
type wireDelegate struct {
	Token     jsontext.Value `json:"token"`
	Delegate  *string        `json:"delegate_public_key"`
	Seconds   *float64       `json:"validity_seconds"`
	Actions   []string       `json:"allowed_actions"`
	Agent     *string        `json:"target_agent"`
	Subtask   jsontext.Value `json:"subtask"`
	Plan      jsontext.Value `json:"plan"`
	Budget    *int64         `json:"budget"`
	MaxDepth  *int           `json:"max_depth"`
	Parent    jsontext.Value `json:"parentToken"`
	Path      *string        `json:"subtreePath"`
	PublicKey *string        `json:"delegatePublicKey"`
	Validity  *float64       `json:"validitySeconds"`
	PlanID    *string        `json:"planId"`
	Reference *string        `json:"intentReference"`

	ParentPlan jsontext.Value            `json:"parentPlan"` // a copy that is not read
	Others     map[string]jsontext.Value `json:",embed"`
}

// delegateMembers are the members of a request that mean something.
var delegateMembers = strings.Join([]string{
	"token", "delegate_public_key", "validity_seconds", "allowed_actions", "plan", "budget", "max_depth",
	"target_agent", "subtask",
}, ", ")

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
	if err != nil {
		return err
	}
	answer := h.delegatedBody(r.Context(), caller, made)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_ = json.MarshalWrite(w, answer) // a client that is gone can ask again
	return nil
}

// check refuses members that are not what they should be. A token may also be a text, as it was issued. A member that
// is not known is refused too: a misspelled restriction would delegate all of the plan.
func (in *wireDelegate) check() error {
	for _, name := range slices.Sorted(maps.Keys(in.Others)) {
		return fault.Field(name, "is not known here; expected %s", delegateMembers)
	}
	if isSent(in.Plan) && in.Actions != nil {
		return fault.Field("allowed_actions", "must be absent beside plan, which says by its steps what is delegated")
	}
	for _, member := range []struct {
		name   string
		value  jsontext.Value
		asText bool
	}{
		{"token", in.Token, true}, {"parentToken", in.Parent, true}, {"plan", in.Plan, false}, {"subtask",
			in.Subtask, false},
	} {
		kind := member.value.Kind()
		if isSent(member.value) && kind != jsontext.KindBeginObject && !(member.asText && kind == jsontext.KindString) {
			return fault.Field(member.name, "has a value of the wrong type")
		}
	}
	return nil
}

// request is what is asked for, in either shape.
func (in *wireDelegate) request() (r intent.DelegateRequest, err error) {
	r.Envelope = in.Parent != nil || in.Path != nil
	token, field := in.Token, "token"
	if r.Envelope {
		token, field = in.Parent, "parentToken"
	}
	switch {
	case r.Envelope && (in.Token != nil || in.Delegate != nil):
		return r, fault.Field("token", "must be absent beside parentToken and subtreePath, which are another form")
	case token == nil || token.Kind() == jsontext.KindNull:
		return r, fault.Field(field, "must be the token of a plan, as it was issued")
	}
	if r.Parent = plan.ParsePresented(token); r.Parent.IsZero() {
		return r, fault.Field(field, "must be the token of a plan, as it was issued")
	}
	if r.Envelope {
		return in.envelope(r)
	}
	r.Delegate, r.AgentID = route.OrEmpty(in.Delegate), route.OrEmpty(in.Agent)
	r.ExpiresIn, r.Actions, r.Further = in.Seconds, in.Actions, in.MaxDepth
	if in.Budget != nil {
		if r.Budget = *in.Budget; r.Budget < 1 {
			return r, fault.Field("budget", "must be at least 1")
		}
	}
	if isSent(in.Plan) {
		r.Plan = in.Plan
	}
	return r, in.subtask(&r)
}

func isSent(v jsontext.Value) bool { return len(v) > 0 && v.Kind() != jsontext.KindNull }

// envelope reads the form of current SDKs.
func (in *wireDelegate) envelope(r intent.DelegateRequest) (intent.DelegateRequest, error) {
	r.Delegate, r.ExpiresIn = route.OrEmpty(in.PublicKey), in.Validity
	if r.Subtree = strings.TrimSpace(route.OrEmpty(in.Path)); r.Subtree == "" {
		return r, fault.Field("subtreePath", "must be a part of the plan: /steps/[0] or /")
	}
	if id := route.OrEmpty(in.PlanID); id != "" {
		if r.Parent.PlanID != "" && r.Parent.PlanID != id {
			return r, fault.Field("planId", "must be the plan of the token")
		}
		r.Parent.PlanID = id
	}
	if ref := route.OrEmpty(in.Reference); ref != "" {
		if r.Parent.Reference != "" && r.Parent.Reference != ref {
			return r, fault.Field("intentReference", "must be that of the token")
		}
		r.Parent.Reference = ref
	}
	return r, nil
}

// subtask reads what a delegation is for.
func (in *wireDelegate) subtask(r *intent.DelegateRequest) error {
	if !isSent(in.Subtask) {
		return nil
	}
	var task struct {
		Goal  jsontext.Value `json:"goal"`
		Steps jsontext.Value `json:"steps"`
	}
	if err := json.Unmarshal(in.Subtask, &task); err != nil {
		return fault.Field("subtask", "cannot be read")
	}
	if isSent(task.Steps) && r.Plan == nil {
		r.Plan = in.Subtask
	}
	if isSent(task.Goal) && task.Goal.Kind() == jsontext.KindString {
		return json.Unmarshal(task.Goal, &r.Goal)
	}
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
		return ReanchoredBody{}, err
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
