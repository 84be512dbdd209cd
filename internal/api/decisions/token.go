package decisions

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/api/route"
	"writ/internal/enforcement"
	"writ/internal/fault"
	"writ/internal/intent"
	"writ/internal/intent/plan"
	"writ/internal/policy/clientpolicy"
	"writ/internal/principal"
	"writ/internal/throttle"
)

func (h *Handlers) mountTokens(r *route.Router) {
	route.Handle(r,
		route.Post("/iap/sdk/token", "Declare a plan and get its token; never refused for what policies say").
			For(route.Key).Scoped(principal.Enforce).Records("plan.minted").Answers(http.StatusCreated).
			StoppedToo(), h.mintToken) // refused, some SDKs run the tools without asking; asking, they are denied
}

// mintMembers are the members of a declaration that are read. Published clients send others beside them.
var mintMembers = []string{
	"plan", "user_id", "agent_id", "context_id", "session_id", "user_email", "policy", "prompt", "expires_in",
	"session_ticket", "amends",
}

type mintInput struct {
	IdempotencyKey string `header:"Idempotency-Key" doc:"The same request with the same key gets the same token."`
	Body           struct {
		Plan      sentPlan         `json:"plan" doc:"What the agent will do: goal and steps, each with its server, tool and the arguments it gives. ordered and max_calls limit order and counts."`
		UserID    *string          `json:"user_id,omitempty" nullable:"true" doc:"Whom the agent works for; an id or an e-mail."`
		AgentID   *string          `json:"agent_id,omitempty" nullable:"true" doc:"The agent."`
		ContextID *string          `json:"context_id,omitempty" nullable:"true" doc:"What the plan belongs to, in the client's words."`
		SessionID *string          `json:"session_id,omitempty" nullable:"true" doc:"The session the plan is for. Calls that state another are refused."`
		UserEmail *string          `json:"user_email,omitempty" nullable:"true" doc:"The member the agent works for."`
		Policy    route.SentObject `json:"policy,omitempty" nullable:"true" doc:"The client's own; signed as it is, and never a grant."`
		Prompt    *string          `json:"prompt,omitempty" nullable:"true" doc:"What the user said, from the harness, at most 64 KiB: calls are grounded in it. Prompts of one session add up. Absent: the goal of the plan."`
		ExpiresIn *float64         `json:"expires_in,omitempty" nullable:"true" doc:"Seconds, rounded up; at most what the organization allows. Absent: ttl_seconds of the manifest that the key registered for the agent, else 300, and 3600 with session_ticket."`
		Ticket    *string          `json:"session_ticket,omitempty" nullable:"true" doc:"For a plan of a guarded session: what POST /iap/session/ticket answered. The session and agent are the ticket's."`
		Amends    *string          `json:"amends,omitempty" nullable:"true" doc:"With session_ticket: why the plan adds to the earlier ones of its turn, at most 500 bytes. Without it such a plan is refused; with it a person must agree to the calls of what was added."`
		Rest      jsontext.Value   `json:",embed" hidden:"true"`
	}
}

// turnPlanLife is how long a plan of a guarded session lives if nobody says otherwise: it ends with its turn.
const turnPlanLife = time.Hour

// TokenBody is a plan's token and all that published clients read beside it.
type TokenBody struct {
	Success           bool                         `json:"success" doc:"True."`
	Message           string                       `json:"message"`
	PlanID            string                       `json:"plan_id" format:"uuid"`
	IntentReference   string                       `json:"intent_reference"`
	PlanHash          string                       `json:"plan_hash" doc:"Root of the plan's Merkle tree, hex."`
	MerkleRoot        string                       `json:"merkle_root" doc:"The same."`
	CompositeIdentity string                       `json:"composite_identity" doc:"Hash over whom the plan is bound to, hex."`
	StepProofs        []plan.Proof                 `json:"step_proofs" nullable:"false" doc:"For each step, the proof of its action."`
	Token             SignedTokenBody              `json:"token"`
	JWT               string                       `json:"jwt_token" doc:"Names the plan where there is no room for the token."`
	PolicyValidation  clientpolicy.Validation      `json:"policy_validation" doc:"Which tools of the plan every call of would be allowed now. Calls are decided one by one all the same."`
	PolicySnapshot    []clientpolicy.SnapshotEntry `json:"policy_snapshot" nullable:"false" doc:"The same by server."`
	ClientInfo        ClientInfoBody               `json:"client_info"`
	Warnings          []string                     `json:"warnings,omitempty" doc:"What in the plan and beside it is probably not meant so, such as a misspelled member of a step: it fixes nothing."`
	Added             []string                     `json:"added,omitempty" doc:"The tools that the plan adds to the earlier ones of its turn: a person must agree to their calls."`
}

// SignedTokenBody is what is signed: Ed25519 over the canonical JSON of all
// members but the signature.
type SignedTokenBody struct {
	PlanHash  string             `json:"plan_hash"`
	IssuedAt  int64              `json:"issued_at" doc:"Unix seconds."`
	ExpiresAt int64              `json:"expires_at" doc:"Unix seconds."`
	Policy    route.StoredObject `json:"policy"`
	Identity  string             `json:"identity"`
	PublicKey string             `json:"public_key" doc:"Hex."`
	Version   string             `json:"version"`
	Signature string             `json:"signature" doc:"Hex."`
}

func signedTokenBody(t plan.Token) SignedTokenBody {
	return SignedTokenBody{
		PlanHash: t.PlanHash, IssuedAt: t.IssuedAt, ExpiresAt: t.ExpiresAt, Policy: route.StoredObject(t.Policy),
		Identity: t.Identity, PublicKey: t.PublicKey, Version: t.Version, Signature: t.Signature,
	}
}

// ClientInfoBody says whom the server takes the caller for.
type ClientInfoBody struct {
	ClientID   string `json:"clientId" doc:"The agent, else the key."`
	ClientName string `json:"clientName"`
	OrgID      string `json:"orgId" format:"uuid"`
}

func (h *Handlers) mintToken(ctx context.Context, caller principal.Principal, in *mintInput) (TokenBody, error) {
	if caller.OrgID == "" {
		return TokenBody{}, route.NoOrganization()
	}
	request, err := h.planRequest(ctx, caller, in)
	if err != nil {
		return TokenBody{}, err
	}
	minted, err := h.Intent.Mint(ctx, caller, request)
	if err != nil {
		return TokenBody{}, err
	}
	agentID := cmp.Or(request.AgentID, minted.AgentID) // of a guarded session
	validation, snapshot := h.Enforcement.Foresee(ctx, caller, minted.Plan, minted.Widened, enforcement.Parties{
		AgentID: agentID, UserID: request.UserID, Email: request.Email,
	})
	client := cmp.Or(stated(agentID), caller.KeyID)
	return TokenBody{
		Success:           true,
		Message:           "the plan is declared",
		PlanID:            minted.PlanID,
		IntentReference:   minted.IntentReference,
		PlanHash:          minted.PlanHash,
		MerkleRoot:        minted.MerkleRoot,
		CompositeIdentity: minted.CompositeIdentity,
		StepProofs:        minted.StepProofs,
		Token:             signedTokenBody(minted.Token),
		JWT:               minted.JWT,
		PolicyValidation:  validation,
		PolicySnapshot:    snapshot,
		ClientInfo:        ClientInfoBody{ClientID: client, ClientName: client, OrgID: caller.OrgID},
		Warnings:          append(route.Misspelled(in.Body.Rest, mintMembers), plan.Warnings(in.Body.Plan)...),
		Added:             minted.Added,
	}, nil
}

// planRequest is the plan that is declared, with the lives that the agent's manifest and the organization give it.
func (h *Handlers) planRequest(
	ctx context.Context, caller principal.Principal, in *mintInput,
) (intent.Request, error) {
	settings, err := h.Enforcement.Settings(ctx, caller.OrgID)
	if err != nil {
		return intent.Request{}, err
	}
	b := &in.Body
	life, err := h.Policies.PlanLife(ctx, caller, stated(route.OrEmpty(b.AgentID)))
	if err != nil {
		return intent.Request{}, err
	}
	if b.Ticket != nil && *b.Ticket != "" && life == 0 {
		life = turnPlanLife
	}
	return intent.Request{
		UserID:         route.OrEmpty(b.UserID),
		Email:          route.OrEmpty(b.UserEmail),
		AgentID:        route.OrEmpty(b.AgentID),
		ContextID:      route.OrEmpty(b.ContextID),
		SessionID:      route.OrEmpty(b.SessionID),
		Plan:           b.Plan,
		Policy:         b.Policy,
		Prompt:         b.Prompt,
		ExpiresIn:      b.ExpiresIn,
		DefaultLife:    life,
		MaxLife:        settings.MaxPlanTTL,
		IdempotencyKey: in.IdempotencyKey,
		Ticket:         route.OrEmpty(b.Ticket),
		Amends:         route.OrEmpty(b.Amends),
	}, nil
}

// stated is an id, unless it is how SDKs write that they know none.
func stated(id string) string {
	if id == plan.NotStated {
		return ""
	}
	return id
}

// mountPublicTokens serves what some plugins ask a service of its own for, and
// without credentials: it stores nothing and authorizes nothing.
func (h *Handlers) mountPublicTokens(r *route.Router) {
	route.Handle(r, route.Post("/intent", "Bind the text of a policy by a signature; it authorizes no call").
		For(route.Public).Throttled(throttle.BindPolicy).Unrecorded().UpTo(maxPublicBody), h.bindPolicy)
	route.Raw[VerifyActionBody, VerifiedActionBody](r,
		route.Post("/verify/action", "Whether a value stands at a place in what a token signs").
			For(route.Public).Throttled(throttle.VerifyAction).Unrecorded().UpTo(maxPublicBody), h.verifyAction)
}

const maxPublicBody = 256 << 10

type bindInput struct {
	Body struct {
		Plan            route.SentObject `json:"plan" doc:"A step for each statement of the policy."`
		Policy          route.SentObject `json:"policy,omitempty" nullable:"true" doc:"The policy, signed as it is."`
		Identity        route.SentObject `json:"identity,omitempty" nullable:"true" doc:"Of the client's choice."`
		ValiditySeconds *float64         `json:"validity_seconds,omitempty" nullable:"true" doc:"Absent: 300."`
	}
}

// BoundBody is a policy binding.
type BoundBody struct {
	Success           bool             `json:"success" doc:"True."`
	IntentReference   string           `json:"intent_reference"`
	PlanHash          string           `json:"plan_hash"`
	MerkleRoot        string           `json:"merkle_root"`
	CompositeIdentity string           `json:"composite_identity"`
	StepProofs        []plan.PathProof `json:"step_proofs" nullable:"false"`
	Token             SignedTokenBody  `json:"token"`
}

func (h *Handlers) bindPolicy(ctx context.Context, _ principal.Principal, in *bindInput) (BoundBody, error) {
	b := &in.Body
	if string(b.Identity) == "null" {
		b.Identity = nil
	}
	bound, err := h.Intent.Bind(ctx, intent.BindRequest{
		Plan: b.Plan, Policy: b.Policy, Identity: b.Identity, ExpiresIn: b.ValiditySeconds,
	})
	if err != nil {
		return BoundBody{}, err
	}
	return BoundBody{
		Success: true, IntentReference: bound.IntentReference, PlanHash: bound.PlanHash, MerkleRoot: bound.MerkleRoot,
		CompositeIdentity: bound.CompositeIdentity, StepProofs: bound.StepProofs, Token: signedTokenBody(bound.Token),
	}, nil
}

// VerifyActionBody documents the question whether a value was signed.
type VerifyActionBody struct {
	Path  string         `json:"path" doc:"The place." example:"/steps/[0]/action"`
	Value string         `json:"value" doc:"The value there: a tool's name, or any JSON that stands at the path."`
	Proof []plan.Sibling `json:"proof" doc:"As it was issued."`
	Token map[string]any `json:"token" doc:"The signed token, or what it was issued in."`
}

// VerifiedActionBody is the answer.
type VerifiedActionBody struct {
	Allowed           bool   `json:"allowed" doc:"Whether the value is part of what one of this server's keys signed, and is current."`
	Action            string `json:"action" enum:"allow,deny"`
	EnforcementAction string `json:"enforcementAction" enum:"allow,block"`
	Reason            string `json:"reason"`
	NodeHash          string `json:"node_hash,omitempty"`
	Path              string `json:"path,omitempty"`
	MerkleRoot        string `json:"merkle_root,omitempty"`
}

func (h *Handlers) verifyAction(w http.ResponseWriter, r *http.Request, _ principal.Principal) error {
	result, err := h.verifySigned(r)
	if err != nil {
		return err
	}
	body := VerifiedActionBody{
		Allowed: result.Allowed, Action: wordDeny, EnforcementAction: wordBlock, Reason: result.Reason,
		NodeHash: result.NodeHash, Path: result.Path, MerkleRoot: result.MerkleRoot,
	}
	if result.Allowed {
		body.Action, body.EnforcementAction = wordAllow, wordAllow
	}
	return writeAnswer(w, body)
}

func (h *Handlers) verifySigned(r *http.Request) (intent.ActionResult, error) {
	body, release, err := h.Bodies.Read(r, maxPublicBody)
	defer release()
	if fault.Is(err, fault.Unavailable) {
		return intent.ActionResult{}, err
	}
	if err != nil {
		return intent.ActionResult{Reason: messageFor(err)}, nil
	}
	var in struct {
		Path  string           `json:"path"`
		Value route.SentObject `json:"value"`
		Proof route.SentObject `json:"proof"`
		Token route.SentObject `json:"token"`
	}
	if err := route.ReadObject(body, &in); err != nil {
		return intent.ActionResult{Reason: "the request cannot be read: the body " + route.Describe(err)}, nil
	}
	return h.Intent.VerifyAction(r.Context(), intent.ActionRequest{
		Path: in.Path, Value: in.Value, Proof: in.Proof, Token: in.Token,
	})
}
