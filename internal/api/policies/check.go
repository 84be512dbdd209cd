package policies

import (
	"context"
	"errors"
	"slices"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/policy"
	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/principal"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

func (h *Handlers) mountChecks(r *route.Router) {
	route.Handle(r,
		route.Post("/policies/check-access", "Whether the active policies allow a call, and why; nothing is reserved").
			For(route.PersonOrKey).Needs(principal.ReadPolicies).Scoped(principal.Enforce).Unrecorded().
			Spelled(callNames), h.checkAccess)
	route.Handle(r,
		route.Post("/policies/simulate", "What one policy alone, stored or not, would say about a call, and why").
			For(route.PersonOrKey).Needs(principal.DraftPolicies).Scoped(principal.DraftPolicy).Unrecorded().
			SpelledAt("call", callNames), h.simulatePolicy)
}

// callNames are the names of a call here, which are those of policies.
var callNames = route.Names{Server: "server", Tool: "tool", Arguments: "arguments"}

// CallBody is a call to check.
type CallBody struct {
	Server    string           `json:"server,omitempty" maxLength:"500" doc:"The MCP server; also as mcp, or in mcp_context. Absent: that of a registered server in front of the tool's name, else local."`
	Tool      string           `json:"tool" minLength:"1" maxLength:"500" doc:"The tool; also as action or tool_name." example:"send_money"`
	Arguments route.SentObject `json:"arguments,omitempty" doc:"The arguments of the call; also as params or tool_input."`
	AgentID   string           `json:"agentId,omitempty" maxLength:"200" doc:"The agent that makes the call."`
	UserEmail string           `json:"userEmail,omitempty" maxLength:"254" doc:"The member it works for. Absent: the caller, or the calling key's owner."`
}

const localServer = "local"

// errNoMember refuses a call for a person who is not a member.
var errNoMember = fault.New(fault.Invalid, "userEmail: no member of this organization has this address")

// callOf is the call as policies see it.
func (h *Handlers) callOf(ctx context.Context, caller principal.Principal, b CallBody) (toolcall.Call, error) {
	args, err := toolcall.Decode(b.Arguments)
	if err != nil {
		return toolcall.Call{}, fault.Wrap(err, fault.Invalid,
			"arguments: must be a JSON object of at most 1 MiB, nested at most 64 deep, without duplicate names")
	}
	call := toolcall.Call{
		Server:      b.Server,
		Tool:        b.Tool,
		Args:        args,
		Agent:       toolcall.Agent{ID: b.AgentID},
		Environment: caller.Environment,
	}
	if call.Server == "" {
		call.Server = localServer
	}
	if call.Environment == "" {
		call.Environment = "production" // a person asks about real calls
	}
	party, err := h.Organizations.PartyOf(ctx, caller.OrgID, caller.UserID, b.UserEmail)
	if fault.Is(err, fault.NotFound) {
		return toolcall.Call{}, errNoMember
	}
	call.Org.Name = party.OrgName
	call.User = toolcall.User{ID: party.Member.UserID, Email: party.Member.Email, Role: string(party.Member.Role)}
	if b.UserEmail == "" {
		call.User.ID = caller.UserID // the key outlives its owner's membership, and so do policies bound to the owner
	}
	if err != nil || caller.Kind != principal.Key {
		return call, err
	}
	owner := party.Member
	if b.UserEmail != "" {
		if party, err = h.Organizations.PartyOf(ctx, caller.OrgID, caller.UserID, ""); err != nil {
			return toolcall.Call{}, err
		}
		owner = party.Member
	}
	// Policies bound to the key apply whatever user it names.
	call.Key = toolcall.Key{ID: caller.KeyID, OwnerID: caller.UserID, OwnerRole: string(owner.Role)}
	return call, nil
}

// AccessBody is what the active policies say about a call.
type AccessBody struct {
	Allowed       bool             `json:"allowed" doc:"True only if the decision is allow."`
	Decision      verdict.Verdict  `json:"decision" enum:"allow,deny,hold,ask"`
	Reason        string           `json:"reason" doc:"One sentence."`
	Message       string           `json:"message,omitempty" doc:"The rule's own words."`
	MatchedPolicy *MatchedBody     `json:"matchedPolicy" doc:"The policy that decided; null: none applies."`
	Rule          string           `json:"rule" doc:"The rule that decided; default if none matched; empty if no policy applies."`
	Approvers     *ApproversBody   `json:"approvers,omitempty" doc:"With hold: who must approve."`
	Confine       *ConfineBody     `json:"confine,omitzero" doc:"With allow, for a caller that can confine: what the call must be confined to."`
	Oblige        *ObligeBody      `json:"oblige,omitzero" doc:"For a caller that keeps obligations: what must be done with the result."`
	Explanation   []ConsideredBody `json:"explanation" nullable:"false" doc:"The rules that name the tool, strictest first; for a key without policy.draft only the one that decided."`
	Failed        []FailureBody    `json:"failed,omitempty" doc:"Conditions that could not be evaluated."`
}

// MatchedBody names the policy that decided.
type MatchedBody struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Version int    `json:"version"`
}

// FailureBody is a condition that could not be evaluated.
type FailureBody struct {
	PolicyID string `json:"policyId"`
	Rule     string `json:"rule"`
	Error    string `json:"error"`
}

// ConsideredBody is a rule that names the tool, and why it matched or not.
type ConsideredBody struct {
	PolicyID   string          `json:"policyId"`
	PolicyName string          `json:"policyName"`
	Version    int             `json:"version"`
	Rule       string          `json:"rule"`
	Effect     verdict.Verdict `json:"effect" enum:"allow,deny,hold,ask"`
	Pattern    string          `json:"pattern" doc:"The pattern that names the tool."`
	Matched    bool            `json:"matched"`
	Decided    bool            `json:"decided"`
	Outcome    engine.Outcome  `json:"outcome" enum:"not bound,always,true,false,failed,limit left,limit spent,limit unread"`
	When       string          `json:"when,omitempty"`
	Steps      []StepBody      `json:"steps,omitempty" doc:"The values of the parts of the condition."`
	Error      string          `json:"error,omitempty"`
	Limit      *UseBody        `json:"limit,omitempty"`
	Confine    *ConfineBody    `json:"confine,omitzero" doc:"What the rule confines calls to. To callers that cannot, effect is what it says otherwise."`
}

// StepBody is a part of a condition and its value.
type StepBody struct {
	Expression string `json:"expression"`
	Value      string `json:"value,omitempty"`
	Error      string `json:"error,omitempty"`
}

// UseBody is how much of a limit is used.
type UseBody struct {
	Unit    engine.Unit      `json:"unit" enum:"calls,cost,tokens"`
	By      document.Subject `json:"by" enum:"agent,session,user,org"`
	Subject string           `json:"subject" doc:"Empty: all callers without an id."`
	Used    int64            `json:"used" doc:"Cost is in nano-dollars."`
	Max     int64            `json:"max"`
}

func access(x engine.Explanation) AccessBody {
	d := x.Decision
	body := AccessBody{
		Allowed:     d.Verdict == verdict.Allow,
		Decision:    d.Verdict,
		Reason:      d.Reason,
		Message:     d.Message,
		Rule:        d.Rule,
		Confine:     ConfineOf(d.Confine),
		Oblige:      ObligeOf(d.Oblige),
		Explanation: []ConsideredBody{},
	}
	if d.PolicyID != "" {
		body.MatchedPolicy = &MatchedBody{ID: d.PolicyID, Name: d.PolicyName, Version: d.PolicyVersion}
	}
	if d.Approvers != nil {
		body.Approvers = &ApproversBody{Role: d.Approvers.Role, Count: d.Approvers.Count}
	}
	for _, f := range d.Failed {
		body.Failed = append(body.Failed, FailureBody(f))
	}
	for _, c := range x.Rules {
		body.Explanation = append(body.Explanation, consideredBody(c))
	}
	return body
}

func consideredBody(c engine.Considered) ConsideredBody {
	body := ConsideredBody{
		PolicyID:   c.PolicyID,
		PolicyName: c.PolicyName,
		Version:    c.PolicyVersion,
		Rule:       c.Rule,
		Effect:     c.Effect,
		Pattern:    string(c.Pattern),
		Matched:    c.Matched,
		Decided:    c.Decided,
		Outcome:    c.Outcome,
		When:       c.When,
		Error:      c.Error,
		Confine:    ConfineOf(c.Confine),
	}
	for _, step := range c.Steps {
		body.Steps = append(body.Steps, StepBody(step))
	}
	if l := c.Limit; l != nil {
		body.Limit = &UseBody{
			Unit:    l.Unit,
			By:      l.By,
			Subject: l.Subject,
			Used:    l.Used,
			Max:     l.Max,
		}
	}
	return body
}

type checkInput struct {
	route.OrganizationQuery
	Body CallBody
}

func (h *Handlers) checkAccess(ctx context.Context, caller principal.Principal, in *checkInput) (AccessBody, error) {
	call, err := h.callOf(ctx, caller, in.Body)
	if errors.Is(err, errNoMember) {
		// For a person who is not a member the answer is a deny, not an error.
		no := engine.Decision{Ruling: verdict.Ruling{Reason: errNoMember.Message}}
		return access(engine.Explanation{Decision: no}), nil
	}
	if err != nil {
		return AccessBody{}, err
	}
	if in.Body.Server == "" {
		call.Server = "" // the name of the tool may say it
	}
	explanation, err := h.Enforcement.Explain(ctx, caller, call)
	if err != nil {
		return AccessBody{}, err
	}
	return access(explanation), nil
}

type simulateInput struct {
	route.OrganizationQuery
	Body struct {
		PolicyID string `json:"policyId,omitempty" doc:"The policy to judge by."`
		ChosenVersionBody
		Document route.SentObject `json:"document,omitempty" doc:"Or a document that is not stored."`
		YAML     string           `json:"yaml,omitempty" doc:"Or such a document as YAML."`
		Call     SimulateCall     `json:"call"`
	}
}

// SimulateCall is a call with everything that a condition can see.
type SimulateCall struct {
	CallBody
	AgentName     string            `json:"agentName,omitempty" maxLength:"200"`
	AgentStatus   string            `json:"agentStatus,omitempty" maxLength:"50"`
	AgentAttested bool              `json:"agentAttested,omitempty" doc:"Whether the call comes with the agent's certificate."`
	Environment   string            `json:"environment,omitempty" enum:"sandbox,production"`
	Labels        []string          `json:"labels,omitempty" maxItems:"100" nullable:"false"`
	Session       *SessionSoFar     `json:"session,omitempty"`
	Intent        *IntentBody       `json:"intent,omitempty"`
	ResolvedPaths map[string]string `json:"resolvedPaths,omitempty" doc:"The real paths on the agent's machine of paths in the arguments."`
	Capabilities  []string          `json:"capabilities,omitempty" maxItems:"32" nullable:"false" doc:"What the caller can do: confine, oblige. Others mean nothing."`
}

// SessionSoFar is what a session has done.
type SessionSoFar struct {
	ID      string  `json:"id,omitempty" maxLength:"200"`
	Calls   int64   `json:"calls,omitempty"`
	CostUSD float64 `json:"costUsd,omitempty"`
	Tokens  int64   `json:"tokens,omitempty"`
}

// IntentBody is the plan a call belongs to.
type IntentBody struct {
	PlanID   string `json:"planId,omitempty" maxLength:"200"`
	Goal     string `json:"goal,omitempty" maxLength:"4000"`
	Step     string `json:"step,omitempty" maxLength:"200"`
	Declared bool   `json:"declared,omitempty"`
	Grounded bool   `json:"grounded,omitempty"`
}

func (h *Handlers) simulatePolicy(
	ctx context.Context, caller principal.Principal, in *simulateInput,
) (AccessBody, error) {
	subject, err := in.subject()
	if err != nil {
		return AccessBody{}, err
	}
	call, err := h.callOf(ctx, caller, in.Body.Call.CallBody)
	if err != nil {
		return AccessBody{}, err
	}
	in.Body.Call.complete(&call)
	explanation, err := h.Policies.Simulate(ctx, caller, subject, call)
	if err != nil {
		return AccessBody{}, err
	}
	return access(explanation), nil
}

// subject is what is simulated: exactly one of three.
func (in *simulateInput) subject() (policy.Subject, error) {
	b := &in.Body
	given := 0
	for _, is := range []bool{b.PolicyID != "", len(b.Document) > 0, b.YAML != ""} {
		if is {
			given++
		}
	}
	version, err := b.number()
	switch {
	case err != nil:
		return policy.Subject{}, err
	case given != 1:
		return policy.Subject{}, fault.Field("policyId", "give one of policyId, document and yaml")
	case b.PolicyID != "":
		return policy.Subject{PolicyID: b.PolicyID, Version: version}, nil
	case b.YAML != "":
		return policy.Subject{Source: &policy.Source{Text: b.YAML, Format: document.YAML}}, nil
	}
	return policy.Subject{Source: &policy.Source{Text: string(b.Document), Format: document.JSON}}, nil
}

// complete adds what only a simulation sends.
func (b *SimulateCall) complete(call *toolcall.Call) {
	call.Agent.Name, call.Agent.Status, call.Agent.Attested = b.AgentName, b.AgentStatus, b.AgentAttested
	call.Labels, call.ResolvedPaths = b.Labels, b.ResolvedPaths
	call.CanConfine = slices.Contains(b.Capabilities, toolcall.Confine)
	call.CanOblige = slices.Contains(b.Capabilities, toolcall.Oblige)
	if b.Environment != "" {
		call.Environment = b.Environment
	}
	if s := b.Session; s != nil {
		call.Session = toolcall.Session{ID: s.ID, Calls: s.Calls, CostUSD: s.CostUSD, Tokens: s.Tokens}
	}
	if i := b.Intent; i != nil {
		call.Intent = toolcall.Intent(*i)
	}
}
