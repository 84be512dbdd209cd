package api

import (
	"context"
	"encoding/hex"
	"errors"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/enforcement"
	"writ/internal/fault"
	"writ/internal/intent/plan"
	"writ/internal/policy"
	"writ/internal/policy/clientpolicy"
	"writ/internal/policy/engine"
	"writ/internal/principal"
	"writ/internal/verdict"
)

func (a *API) mountVerifyStep() {
	raw[VerifyStepBody, VerifiedStepBody](a, Route{
		Method: http.MethodPost, Path: "/iap/verify-step", Tag: iapTag,
		Summary: "Whether a tool is in a plan, and every call of it allowed; what depends on arguments is not allowed here",
		Mode:    PlanToken, Scope: principal.Enforce, Audit: "step.verified",
	}, a.verifyStep)
}

// VerifyStepBody documents the question whether a tool is in a plan.
type VerifyStepBody struct {
	Token     string           `json:"token" doc:"The plan's jwt_token, or its token as an object or as text. The only credential where no API key is sent."`
	ToolName  string           `json:"tool_name" doc:"The tool's name."`
	Path      string           `json:"path,omitempty" doc:"The place the proof is about." example:"/steps/[0]/action"`
	StepIndex *int             `json:"step_index,omitempty" doc:"The step the proof is about."`
	Proof     []plan.Sibling   `json:"proof,omitempty" doc:"As it was issued. Without path and proof the name alone is judged."`
	Context   *StepContextBody `json:"context,omitempty"`
	MCP       string           `json:"mcp,omitempty" doc:"The MCP server. Absent: that of the plan's step."`
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
	MatchedPolicy      *MatchedBody             `json:"matched_policy"`
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
	StepIndex int          `json:"step_index" doc:"From 0."`
	Action    string       `json:"action"`
	Params    storedObject `json:"params" doc:"Empty: arguments are judged where they are sent."`
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

// sentStep is a question as it is being read.
type sentStep struct {
	tool, server string
	presented    plan.Presented
	claim        plan.Claim
	claimed      bool // a path or a proof was sent
}

// readStep reads the question. The token stands under token, whatever its form.
func readStep(body []byte) (sentStep, error) {
	var in struct {
		Token     jsontext.Value `json:"token"`
		Intent    jsontext.Value `json:"intent_token"`
		ToolName  *string        `json:"tool_name"`
		MCP       *string        `json:"mcp"`
		Path      *string        `json:"path"`
		StepIndex *int           `json:"step_index"`
		Proof     jsontext.Value `json:"proof"`
		Context   *struct {
			Digest *string `json:"csrg_value_digest"`
		} `json:"context"`
	}
	if err := readObject(body, &in); err != nil {
		return sentStep{}, err
	}
	step := sentStep{tool: orEmpty(in.ToolName), server: orEmpty(in.MCP), presented: plan.ParsePresented(in.Token)}
	if len(in.Token) == 0 {
		step.presented = plan.ParsePresented(in.Intent)
	}
	isSent := len(in.Proof) > 0 && in.Proof.Kind() != jsontext.KindNull
	if in.Path == nil && !isSent {
		return step, nil
	}
	step.claimed = true
	step.claim = plan.Claim{Path: orEmpty(in.Path), StepIndex: in.StepIndex}
	if in.Context != nil {
		step.claim.Digest = orEmpty(in.Context.Digest)
	}
	if isSent {
		proof, ok := plan.ParseProof(in.Proof)
		if !ok {
			return sentStep{}, errNoProof
		}
		step.claim.Proof = proof
	}
	return step, nil
}

const errNoProof errorText = "holds a proof that is none: send it as it was issued"

func (a *API) verifyStep(w http.ResponseWriter, r *http.Request, caller principal.Principal) error {
	body, release, err := a.bodies.Read(r, a.MaxBodyBytes)
	defer release()
	if fault.Is(err, fault.Unavailable) {
		return err
	}
	if err != nil {
		return writeAnswer(w, verifiedStep(refusedCall(messageFor(err))))
	}
	step, err := readStep(body)
	if err != nil {
		return writeAnswer(w, verifiedStep(refusedCall("the request cannot be read: the body "+describe(err))))
	}
	answer, err := a.judgeStep(r.Context(), caller, step)
	if err != nil {
		return err
	}
	return writeAnswer(w, answer)
}

// stepTries is how often a step is judged anew because something changed before it
// was recorded.
const stepTries = 8

// judgeStep judges a tool by its plan, then by what policies say of every call of
// it, and records both, as of one state of the organization.
func (a *API) judgeStep(ctx context.Context, caller principal.Principal, step sentStep) (VerifiedStepBody, error) {
	for range stepTries {
		body, current, err := a.judgeStepOnce(ctx, caller, step)
		if err != nil || current {
			return body, err
		}
	}
	return refusedStep("what the plan is judged by keeps changing: try again"), nil
}

func refusedStep(reason string) VerifiedStepBody {
	d := refusedCall(reason)
	d.PolicyID = policy.ByIntent
	return verifiedStep(d)
}

func (a *API) judgeStepOnce(
	ctx context.Context, caller principal.Principal, step sentStep,
) (body VerifiedStepBody, current bool, err error) {
	declared, err := a.Intent.FindByToken(ctx, step.presented)
	if err != nil {
		return VerifiedStepBody{}, false, err
	}
	if declared == nil {
		return refusedStep(plan.Missing().Reason), true, nil
	}
	by := plan.Binding{OrgID: caller.OrgID, KeyID: caller.KeyID}
	if caller.Kind == "" {
		by = declared.Binding // the token itself is the credential
	}
	switch standing := plan.CheckPresented(declared, step.presented, by, a.Database.Now()); standing.Drift {
	case plan.NotGenuine, plan.Elsewhere:
		return refusedStep(standing.Reason), true, nil // nobody's to be recorded for
	}
	judged := judgedStep{sentStep: step, by: by}
	if judged.snapshot, err = a.snapshotForStep(ctx, declared.Binding.OrgID); err != nil {
		return VerifiedStepBody{}, false, err
	}
	// After the snapshot, so that none is older than it: the key, and the plan again.
	judged.caller, err = a.Keys.Holder(ctx, declared.Binding.KeyID)
	if fault.Is(err, fault.Unauthenticated) {
		return refusedStep("the API key that declared this plan is not valid any more"), true, nil
	}
	if err == nil {
		declared, err = a.Intent.FindByToken(ctx, step.presented)
	}
	if err != nil || declared == nil {
		return VerifiedStepBody{}, false, err // gone meanwhile: once more
	}
	return a.judgeTool(ctx, judged, declared)
}

// judgedStep is a question that is being judged.
type judgedStep struct {
	sentStep
	by       plan.Binding
	caller   principal.Principal
	snapshot stepSnapshot
}

// stepSnapshot is what policies are, or why nothing is allowed by them.
type stepSnapshot struct {
	policy.Snapshot
	broken *policy.BrokenError
}

func (a *API) snapshotForStep(ctx context.Context, orgID string) (s stepSnapshot, err error) {
	s.Snapshot, err = a.Policies.Snapshot(ctx, orgID)
	if broken, ok := errors.AsType[*policy.BrokenError](err); ok {
		return stepSnapshot{broken: broken}, nil
	}
	return s, err
}

// judgeTool judges the tool by the plan, adds what policies say, and records it.
func (a *API) judgeTool(
	ctx context.Context, step judgedStep, d *plan.Declared,
) (body VerifiedStepBody, current bool, err error) {
	var claim *plan.Claim
	if step.claimed {
		claim = &step.claim
	}
	result := plan.VerifyStep(d, step.presented, step.server, step.tool, claim, step.by, a.Database.Now())
	answer := enforcement.Answer{Reason: result.Reason, PolicyID: policy.ByIntent, PlanID: d.ID, Step: -1}
	if result.OK {
		if answer, err = a.foreseeStep(ctx, step, d, result.Steps); err != nil {
			return VerifiedStepBody{}, false, err
		}
	}
	current, err = a.Enforcement.RecordStep(ctx, step.caller, enforcement.StepCheck{
		PlanID:        d.ID,
		AgentID:       d.Binding.AgentID,
		Server:        answer.Server,
		Tool:          step.tool,
		Verdict:       answer.Verdict,
		Reason:        answer.Reason,
		PolicyID:      answer.PolicyID,
		PolicyVersion: answer.PolicyVersion,
		Rule:          answer.Rule,
		Generation:    step.snapshot.Generation,
		Epoch:         step.snapshot.Epoch,
	})
	if err != nil || !current {
		return VerifiedStepBody{}, false, err
	}
	answer.Recorded = true
	body = verifiedStep(answer)
	done, err := a.Executions.StepsOf(ctx, d.Binding.OrgID, d.ID)
	if err != nil {
		return VerifiedStepBody{}, false, err
	}
	body.describe(d, result, done)
	return body, true, nil
}

// foreseeStep is what policies say about every call of a step's tool: the
// strictest over all whom a policy could be bound to, over the servers of the
// steps, and over the spellings of the name. What depends on the call is not
// allowed here.
func (a *API) foreseeStep(
	ctx context.Context, step judgedStep, d *plan.Declared, steps []int,
) (enforcement.Answer, error) {
	if broken := step.snapshot.broken; broken != nil {
		return enforcement.Answer{
			Reason:   "an active policy cannot be read by this server, so nothing is allowed",
			PolicyID: broken.PolicyID, PolicyVersion: broken.Version, PlanID: d.ID, Step: -1,
		}, nil
	}
	b := d.Binding
	calls, err := a.possibleCallers(ctx, step.caller, callParties{agentID: b.AgentID, userID: b.UserID, email: b.Email})
	if err != nil {
		return enforcement.Answer{}, err
	}
	strictest := enforcement.Answer{Verdict: verdict.Allow + 1}
	for _, i := range steps {
		for _, name := range d.Plan.Steps[i].Names(step.tool) {
			for _, call := range calls {
				call.Server, call.Tool = name.Server, name.Tool
				foreseen := step.snapshot.Set.Foresee(&call)
				if name.Restricts && !foreseen.ByRule() && foreseen.Certain {
					continue
				}
				if answer := foreseenAnswer(foreseen); answer.Verdict < strictest.Verdict {
					answer.Server, answer.PlanID, answer.Step = call.Server, d.ID, i
					strictest = answer
				}
			}
		}
	}
	return strictest, nil
}

// foreseenAnswer is a foresight as an answer: an allow only where it is certain.
func foreseenAnswer(f engine.Foresight) enforcement.Answer {
	answer := enforcement.Answer{
		Verdict:       f.Verdict,
		Reason:        f.Reason,
		Message:       f.Message,
		PolicyID:      f.PolicyID,
		PolicyName:    f.PolicyName,
		PolicyVersion: f.PolicyVersion,
		Rule:          f.Rule,
	}
	if answer.PolicyID == "" {
		answer.PolicyID = policy.ByDefault
	}
	if answer.Verdict == verdict.Allow && !f.Certain {
		answer.Verdict = verdict.Deny
		answer.Reason = "whether this tool may run depends on its arguments, which were not sent: ask POST /iap/sdk/enforce"
	}
	return answer
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
	if !result.OK {
		return
	}
	i := result.Steps[0]
	state.CurrentStep = i
	b.Step = &VerifiedPlaceBody{StepIndex: i, Action: d.Plan.Steps[i].Action, Params: storedObject(noAttributes)}
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
