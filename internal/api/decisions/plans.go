package decisions

import (
	"context"
	"strconv"
	"time"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/intent"
	"writ/internal/intent/plan"
	"writ/internal/page"
	"writ/internal/principal"
)

func (h *Handlers) mountPlans(r *route.Router) {
	read := func(rt route.Route) route.Route {
		return rt.For(route.PersonOrKey).Needs(principal.ReadTelemetry).Scoped(principal.Enforce)
	}
	route.Handle(r, read(route.Get("/iap/plan/{planId}", "A plan with its steps; to a key, one that it declared")),
		h.getPlan)
	route.Handle(r, read(route.Get("/iap/plan/{planId}/merkle-tree", "The Merkle tree of a plan, to draw")), h.getTree)
	route.Handle(r, read(route.Get("/iap/plan/{planId}/steps/{step}/proof",
		"Proofs of a step against the plan's hash")), h.getProof)
	route.Handle(r, read(route.Get("/iap/plan/{planId}/report", "What was planned, beside what was decided")),
		h.getReport)
	route.Handle(r, route.Get("/iap/plans", "Plans, newest first").
		For(route.Person).Needs(principal.ReadTelemetry), h.listPlans)
	route.Handle(r,
		route.Post("/iap/plans/{planId}/status", "End a plan; only a person may make an ended one active again").
			For(route.PersonOrKey).Needs(principal.ReadTelemetry).Scoped(principal.Enforce).
			StoppedToo().Records("plan.status_changed"),
		h.setPlanStatus)
}

// PlanInput is the path of a route about one plan. The guard has read it.
type PlanInput struct {
	PlanID string `path:"planId" doc:"The plan."`
}

// PlanState is what is known of a plan beside its text. Ids are empty where the
// client stated none.
type PlanState struct {
	ID        string      `json:"id" format:"uuid"`
	Status    plan.Status `json:"status" enum:"active,completed,failed,expired"`
	Goal      string      `json:"goal" doc:"Redacted; empty for callers who may not read payloads, and where it was erased."`
	Source    string      `json:"source" doc:"Who wrote it, in the client's words."`
	Steps     int         `json:"stepCount"`
	PlanHash  string      `json:"planHash" doc:"Root of its Merkle tree, hex."`
	KeyID     string      `json:"keyId" format:"uuid" doc:"The API key that declared it."`
	UserID    string      `json:"userId"`
	UserEmail string      `json:"userEmail"`
	AgentID   string      `json:"agentId"`
	ContextID string      `json:"contextId"`
	SessionID string      `json:"sessionId"`
	ParentID  *string     `json:"parentId" doc:"The plan under which a plugin's own was let through; null: none."`
	IssuedAt  time.Time   `json:"issuedAt"`
	ExpiresAt time.Time   `json:"expiresAt"`
	CreatedAt time.Time   `json:"createdAt"`
	EndedAt   *time.Time  `json:"endedAt" doc:"Null: nobody ended it."`
	OrgID     string      `json:"organizationId" format:"uuid"`

	DelegatedTo string `json:"delegatedTo" doc:"Of a delegation, the agent that alone may use it; empty: none is named."`
	EndedBy     string `json:"endedBy" enum:",revocation,kill" doc:"What ended it before its time; empty: its end, its client, a report that does not fit it, or nothing."`
}

// endedBy says what ended a plan before its time.
func endedBy(v intent.View) string {
	switch {
	case v.RevokedAt != nil:
		return "revocation"
	case v.Stopped:
		return "kill"
	}
	return ""
}

func planState(v intent.View) PlanState {
	b := v.Binding
	return PlanState{
		ID:        v.ID,
		Status:    v.Status,
		Goal:      v.Goal,
		Source:    v.Source,
		Steps:     v.Steps,
		PlanHash:  v.Hash,
		KeyID:     b.KeyID,
		UserID:    b.UserID,
		UserEmail: b.Email,
		AgentID:   b.AgentID,
		ContextID: b.Context,
		SessionID: b.Session,
		ParentID:  route.OrNull(v.ParentID),
		IssuedAt:  v.IssuedAt,
		ExpiresAt: v.ExpiresAt,
		CreatedAt: v.CreatedAt,
		EndedAt:   v.EndedAt,
		OrgID:     b.OrgID,

		DelegatedTo: v.DelegatedTo,
		EndedBy:     endedBy(v),
	}
}

// PlanBody is a plan with its text.
type PlanBody struct {
	PlanState
	Plan *route.StoredObject `json:"plan" doc:"As the client wrote it, redacted; null for callers who may not read payloads, and where it was erased."`
	Uses []StepUseBody       `json:"uses" nullable:"false" doc:"How often steps were used that the plan limits."`
	// What the text says, however the client wrote it.
	Ordered bool           `json:"ordered" doc:"Whether steps are used in their order."`
	Index   *int64         `json:"auditIndex" doc:"The entry that declared it in the organization's log; null: there is none."`
	Judged  []PlanStepBody `json:"steps" nullable:"false" doc:"The steps as they are judged, redacted; empty where plan is null."`
}

// PlanStepBody is a step of a plan as it is judged.
type PlanStepBody struct {
	Step        int                 `json:"step" doc:"From 0."`
	Server      string              `json:"server"`
	Tool        string              `json:"tool"`
	Action      string              `json:"action" doc:"The tool's name as the client wrote it."`
	Description string              `json:"description"`
	Fixed       []FixedArgumentBody `json:"fixed" nullable:"false" doc:"Arguments that the plan gives."`
	Strict      bool                `json:"strict" doc:"Whether other arguments are refused."`
	MaxCalls    int64               `json:"maxCalls" doc:"How often it may be used; 0: any number of times."`
}

// FixedArgumentBody is an argument that a plan gives.
type FixedArgumentBody struct {
	Name  string `json:"name"`
	Value string `json:"value" doc:"Canonical JSON."`
}

// planSteps reads the steps out of a plan's text, as it is shown: redacted.
func planSteps(text []byte) (steps []PlanStepBody, ordered bool) {
	parsed, err := plan.Parse(text)
	if err != nil {
		return []PlanStepBody{}, false // redacted beyond reading; the text is shown beside
	}
	steps = make([]PlanStepBody, len(parsed.Steps))
	for i, step := range parsed.Steps {
		steps[i] = PlanStepBody{
			Step:        i,
			Server:      step.Server,
			Tool:        step.Tool,
			Action:      step.Action,
			Description: step.Description,
			Fixed:       make([]FixedArgumentBody, len(step.Given)),
			Strict:      step.Strict,
			MaxCalls:    step.MaxCalls,
		}
		for j, given := range step.Given {
			steps[i].Fixed[j] = FixedArgumentBody{given.Key, given.Equal}
		}
	}
	return steps, parsed.Ordered
}

// StepUseBody is how often a step was used.
type StepUseBody struct {
	Step int   `json:"step" doc:"From 0."`
	Uses int64 `json:"uses"`
}

func shownPlan(v intent.View, err error) (PlanBody, error) {
	if err != nil {
		return PlanBody{}, err
	}
	body := PlanBody{PlanState: planState(v), Uses: []StepUseBody{}, Judged: []PlanStepBody{}}
	if v.Index >= 0 {
		body.Index = &v.Index
	}
	if v.Plan != nil {
		text := route.StoredObject(v.Plan)
		body.Plan = &text
		body.Judged, body.Ordered = planSteps(v.Plan)
	}
	for i := range v.Steps {
		if n := v.Uses[i]; n > 0 {
			body.Uses = append(body.Uses, StepUseBody{i, n})
		}
	}
	return body, nil
}

func (h *Handlers) getPlan(ctx context.Context, caller principal.Principal, in *PlanInput) (PlanBody, error) {
	return shownPlan(h.Intent.Get(ctx, caller, in.PlanID))
}

type listPlansInput struct {
	route.OrganizationQuery
	route.PageInput
	Status  string    `query:"status" enum:"active,completed,failed,expired" doc:"Only plans in this state."`
	AgentID string    `query:"agentId" maxLength:"200" doc:"Only plans of this agent."`
	User    string    `query:"user" maxLength:"200" doc:"Only plans for this user id or e-mail."`
	Since   time.Time `query:"since" doc:"Only plans declared then or later."`
	Before  time.Time `query:"before" doc:"Only plans declared earlier."`
}

func (h *Handlers) listPlans(
	ctx context.Context, caller principal.Principal, in *listPlansInput,
) (page.Page[PlanState], error) {
	plans, err := h.Intent.List(ctx, caller, intent.Filter{
		Status:  plan.Status(in.Status),
		AgentID: in.AgentID,
		UserID:  in.User,
		Since:   instant(in.Since),
		Before:  instant(in.Before),
	}, in.Cursor, in.Limit)
	if err != nil {
		return page.Page[PlanState]{}, err
	}
	return route.MapPage(plans, planState), nil
}

// instant is a time that may not have been sent.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// TreeBody is the Merkle tree of a plan.
type TreeBody struct {
	PlanID string      `json:"planId" format:"uuid"`
	Root   string      `json:"root" doc:"Hex; the plan's hash."`
	Nodes  []plan.Node `json:"nodes" nullable:"false" doc:"From the leaves to the root. A leaf has a path, a node its two children."`
}

func (h *Handlers) getTree(ctx context.Context, caller principal.Principal, in *PlanInput) (TreeBody, error) {
	tree, err := h.Intent.Tree(ctx, caller, in.PlanID)
	if err != nil {
		return TreeBody{}, err
	}
	return TreeBody{in.PlanID, tree.Root(), tree.Nodes()}, nil
}

type proofInput struct {
	PlanInput
	Step string `path:"step" doc:"From 0."`
}

// ProofBody proves that a plan has a step.
type ProofBody struct {
	plan.PathProof
	PlanID     string         `json:"planId" format:"uuid"`
	MerkleRoot string         `json:"merkle_root" doc:"Hex; the plan's hash."`
	Step       plan.PathProof `json:"step" doc:"The same for all that the step says, arguments included."`
}

func (h *Handlers) getProof(ctx context.Context, caller principal.Principal, in *proofInput) (ProofBody, error) {
	step, err := strconv.Atoi(in.Step)
	if err != nil || strconv.Itoa(step) != in.Step {
		return ProofBody{}, fault.New(fault.NotFound, "the plan has no such step")
	}
	proofs, err := h.Intent.Proof(ctx, caller, in.PlanID, step)
	return ProofBody{proofs.Action, in.PlanID, proofs.Root, proofs.Step}, err
}

type planStatusInput struct {
	PlanInput
	Body struct {
		Status plan.Status `json:"status" enum:"active,completed,failed,expired"`
	}
}

func (h *Handlers) setPlanStatus(
	ctx context.Context, caller principal.Principal, in *planStatusInput,
) (PlanBody, error) {
	return shownPlan(h.Intent.SetStatus(ctx, caller, in.PlanID, in.Body.Status))
}
