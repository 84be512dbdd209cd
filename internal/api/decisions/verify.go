package decisions

import (
	"encoding/hex"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/api/policies"
	"writ/internal/api/route"
	"writ/internal/audit/ledger"
	"writ/internal/decision"
	"writ/internal/enforcement"
	"writ/internal/fault"
	"writ/internal/intent/plan"
	"writ/internal/policy/clientpolicy"
	"writ/internal/principal"
	"writ/internal/verdict"
)

func (h *Handlers) mountVerifyStep(r *route.Router) {
	route.Raw[VerifyStepBody, VerifiedStepBody](r,
		route.Post("/iap/verify-step",
			"Whether a call of a plan's tool may run now, judged by the arguments that the plan states").
			For(route.PlanToken).Scoped(principal.Enforce).StoppedToo().Records(decision.ActionVerified), h.verifyStep)
}

// VerifyStepBody documents the question whether a tool is in a plan.
type VerifyStepBody struct {
	Token     string           `json:"token" doc:"The plan's jwt_token, or its token as an object or as text. The only credential where no API key is sent."`
	ToolName  string           `json:"tool_name" doc:"The tool's name; also as tool or action."`
	Path      string           `json:"path,omitempty" doc:"The place the proof is about." example:"/steps/[0]/action"`
	StepIndex *int             `json:"step_index,omitempty" doc:"The step the proof is about."`
	Proof     []plan.Sibling   `json:"proof,omitempty" doc:"As it was issued. Without path and proof the name alone is judged."`
	Context   *StepContextBody `json:"context,omitempty"`
	MCP       string           `json:"mcp,omitempty" doc:"The MCP server; also as server. Absent: that of the plan's step."`
}

// StepContextBody is what clients send beside a proof.
type StepContextBody struct {
	Digest string `json:"csrg_value_digest,omitempty" doc:"Hex SHA-256 of the value at the path."`
}

// VerifiedStepBody is the answer.
type VerifiedStepBody struct {
	Allowed            bool                     `json:"allowed"`
	Action             string                   `json:"action" enum:"allow,deny,hold"`
	EnforcementAction  string                   `json:"enforcementAction" enum:"allow,block,hold"`
	Decision           verdict.Verdict          `json:"decision" enum:"allow,deny,hold,ask"`
	Reason             string                   `json:"reason" doc:"One sentence that a model can act on."`
	Message            string                   `json:"message,omitempty" doc:"The rule's own words."`
	DecidedBy          string                   `json:"decidedBy,omitempty" doc:"As in POST /iap/sdk/enforce."`
	Rule               string                   `json:"rule,omitempty"`
	DecisionID         string                   `json:"decisionId,omitempty" doc:"The record of this decision. Absent: nothing is recorded, and it is a deny."`
	ApprovalID         string                   `json:"approvalId,omitempty" doc:"The approval this waits for, or that let the step run. It is for this step of this plan, once; no other route uses it."`
	Approvers          *policies.ApproversBody  `json:"approvers,omitempty" doc:"Who must approve, where the rule says."`
	ArgumentsFrom      string                   `json:"argumentsFrom,omitempty" enum:"plan,unknown" doc:"By which arguments the step was judged. plan: those that the plan states for it. unknown: it states none."`
	Receipt            *ledger.Receipt          `json:"receipt,omitempty" doc:"Proves that the decision is in the organization's log."`
	MatchedPolicy      *policies.MatchedBody    `json:"matched_policy"`
	VerificationSource string                   `json:"verification_source" enum:"writ"`
	NodeHash           string                   `json:"node_hash,omitempty" doc:"Hash of the step's leaf, hex."`
	Path               string                   `json:"csrg_path,omitempty"`
	MerkleRoot         string                   `json:"csrg_merkle_root,omitempty"`
	ExpiresAt          int64                    `json:"expiresAt,omitempty" doc:"When the plan ends, Unix seconds."`
	Step               *VerifiedPlaceBody       `json:"step,omitempty" doc:"The step of the plan."`
	ExecutionState     *ExecutionStateBody      `json:"execution_state,omitempty"`
	PolicyValidation   *clientpolicy.Validation `json:"policy_validation,omitempty" doc:"What policies say of this tool."`
}

// VerifiedPlaceBody is a step of a plan.
type VerifiedPlaceBody struct {
	StepIndex int                `json:"step_index" doc:"From 0."`
	Action    string             `json:"action"`
	Params    route.StoredObject `json:"params" doc:"Empty: arguments are judged where they are sent."`
}

// ExecutionStateBody is how far a plan is.
type ExecutionStateBody struct {
	PlanID          string      `json:"plan_id" format:"uuid"`
	IntentReference string      `json:"intent_reference"`
	ExecutedSteps   []int       `json:"executed_steps" nullable:"false" doc:"Steps that clients report to have run."`
	CurrentStep     int         `json:"current_step"`
	TotalSteps      int         `json:"total_steps"`
	Status          plan.Status `json:"status"`
	IsCompleted     bool        `json:"is_completed"`
}

// stepNames are the names of a call here, whose arguments the plan states.
var stepNames = route.Names{
	Server: "mcp", Tool: "tool_name",
	NoArguments: "is not judged here, where the arguments are those of the plan: ask POST /iap/sdk/enforce",
}

// stepMembers are the members that readStep reads.
var stepMembers = append([]string{"tool_name", "mcp", "path", "step_index", "proof", "context"},
	route.PlanTokenNames...)

// readStep reads the question.
func readStep(body []byte) (enforcement.Step, error) {
	var in struct {
		ToolName  *string        `json:"tool_name"`
		MCP       *string        `json:"mcp"`
		Path      *string        `json:"path"`
		StepIndex *int           `json:"step_index"`
		Proof     jsontext.Value `json:"proof"`
		Context   *struct {
			Digest *string `json:"csrg_value_digest"`
		} `json:"context"`
		Others map[string]jsontext.Value `json:",embed"` // the token, under any of its names
	}
	body, err := stepNames.Rewrite(body)
	if err != nil {
		return enforcement.Step{}, route.BodyError("cannot be read: " + messageFor(err))
	}
	if err := route.ReadObject(body, &in); err != nil {
		return enforcement.Step{}, err
	}
	if err := route.RefuseMisspelled(body, stepMembers); err != nil {
		return enforcement.Step{}, err
	}
	shown, err := plan.ShownIn(in.Others, route.PlanTokenNames)
	if err != nil {
		return enforcement.Step{}, disagreeing(err)
	}
	step := enforcement.Step{
		Tool: route.OrEmpty(in.ToolName), Server: route.OrEmpty(in.MCP), Presented: shown.Presented,
	}
	isSent := len(in.Proof) > 0 && in.Proof.Kind() != jsontext.KindNull
	if in.Path == nil && !isSent {
		return step, nil
	}
	step.Claim = &plan.Claim{Path: route.OrEmpty(in.Path), StepIndex: in.StepIndex}
	if in.Context != nil {
		step.Claim.Digest = route.OrEmpty(in.Context.Digest)
	}
	if isSent {
		proof, ok := plan.ParseProof(in.Proof)
		if !ok {
			return enforcement.Step{}, errNoProof
		}
		step.Claim.Proof = proof
	}
	return step, nil
}

const errNoProof route.BodyError = "holds a proof that is none: send it as it was issued"

func (h *Handlers) verifyStep(w http.ResponseWriter, r *http.Request, caller principal.Principal) error {
	body, release, err := h.Bodies.Read(r, h.MaxBodyBytes)
	defer release()
	if fault.Is(err, fault.Unavailable) {
		return err
	}
	if err != nil {
		return writeAnswer(w, verifiedStep(refusedCall(messageFor(err))))
	}
	step, err := readStep(body)
	if err != nil {
		return writeAnswer(w, verifiedStep(refusedCall("the request cannot be read: the body "+route.Describe(err))))
	}
	answer, err := h.Enforcement.VerifyStep(r.Context(), caller, step)
	if err != nil {
		return err
	}
	verified := verifiedStep(answer.Answer)
	if declared := answer.Plan; declared != nil {
		done, err := h.Executions.StepsOf(r.Context(), declared.Binding.OrgID, declared.ID)
		if err != nil {
			return err
		}
		verified.ArgumentsFrom = answer.ArgumentsFrom
		verified.describe(declared, answer.Result, done)
	}
	return writeAnswer(w, verified)
}

func verifiedStep(d enforcement.Answer) VerifiedStepBody {
	body := decisionBody(d)
	return VerifiedStepBody{
		Allowed:            body.Allowed,
		Action:             body.Action,
		EnforcementAction:  body.EnforcementAction,
		Decision:           body.Decision,
		Reason:             body.Reason,
		Message:            body.Message,
		DecidedBy:          body.DecidedBy,
		Rule:               body.Rule,
		DecisionID:         body.DecisionID,
		ApprovalID:         body.ApprovalID,
		Approvers:          body.Approvers,
		Receipt:            body.Receipt,
		MatchedPolicy:      matchedPolicy(d),
		VerificationSource: "writ",
	}
}

// describe adds what is known of the plan and the step.
func (b *VerifiedStepBody) describe(d *plan.Declared, result plan.Result, done []int) {
	b.MerkleRoot, b.ExpiresAt = d.Root, d.Expires.Unix()
	state := &ExecutionStateBody{
		PlanID: d.ID, IntentReference: "ir_" + d.ID, ExecutedSteps: append([]int{}, done...),
		TotalSteps: len(d.Plan.Steps),
		Status:     d.Status, IsCompleted: d.Status != plan.Active,
	}
	b.ExecutionState = state
	if len(result.Steps) == 0 {
		return
	}
	i := result.Steps[0]
	state.CurrentStep = i
	b.Step = &VerifiedPlaceBody{StepIndex: i, Action: d.Plan.Steps[i].Action, Params: route.StoredObject("{}")}
	b.Path = plan.ActionPath(i)
	if leaf, ok := d.Plan.Tree().ActionProof(i); ok {
		hash := plan.Leaf{Path: leaf.Path, Digest: leaf.ValueDigest}.Hash()
		b.NodeHash = hex.EncodeToString(hash[:])
	}
	validation := clientpolicy.Validation{
		AllowedTools:             []string{},
		DeniedTools:              []string{},
		DeniedReasons:            []string{},
		DefaultEnforcementAction: wordBlock,
	}
	tool := d.Plan.Steps[i].Tool
	if b.Allowed {
		validation.AllowedTools = append(validation.AllowedTools, tool)
	} else {
		validation.DeniedTools, validation.DeniedReasons = append(validation.DeniedTools, tool),
			append(validation.DeniedReasons, tool+": "+b.Reason)
		validation.DefaultEnforcementAction = b.EnforcementAction
	}
	b.PolicyValidation = &validation
}
