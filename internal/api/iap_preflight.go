package api

import (
	"context"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/fault"
	"writ/internal/intent"
	"writ/internal/intent/plan"
	"writ/internal/policy"
	"writ/internal/policy/engine"
	"writ/internal/principal"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

func (a *API) mountPreflight() {
	handle(a, Route{
		Method: http.MethodPost, Path: "/iap/sdk/preflight", Tag: iapTag,
		Summary: "What policies say of calls an agent thinks of making; it decides nothing",
		Mode:    Key, Scope: principal.Enforce, Audit: intent.PreflightAction,
	}, a.preflight)
}

// The outcomes of a preflight, strictest first.
const (
	rejected  = "rejected"
	escalated = "escalated"
	accepted  = "accepted"
)

type preflightInput struct {
	Body struct {
		AgentID    *string             `json:"agent_id,omitempty" nullable:"true" doc:"The agent."`
		UserPrompt *string             `json:"user_prompt,omitempty" nullable:"true" doc:"What the agent was asked; kept redacted."`
		ToolCalls  []PreflightCallBody `json:"tool_calls" nullable:"false" maxItems:"200" doc:"The calls it thinks of."`
		Authority  sentObject          `json:"authority_snapshot,omitempty" nullable:"true" doc:"What the client says it may use: where it lists interfaces, other tools are rejected. It never widens."`
	}
}

// PreflightCallBody is a call an agent thinks of.
type PreflightCallBody struct {
	Name  string     `json:"name" minLength:"1" maxLength:"400" doc:"The tool; server__tool names its server."`
	Input sentObject `json:"input,omitempty" nullable:"true" doc:"Its arguments; not kept."`
}

// authority is the names of tools that a client says it may use; nil: it does not
// say.
type authority map[string]bool

// readAuthority reads the names, or the names in objects. What is neither is a
// name that no tool has.
func readAuthority(raw sentObject) (authority, error) {
	var sent struct {
		Interfaces []jsontext.Value `json:"interfaces"`
	}
	if len(raw) > 0 && json.Unmarshal(raw, &sent) != nil {
		return nil, fault.Field("authority_snapshot", "must be an object whose interfaces are a list")
	}
	if sent.Interfaces == nil {
		return nil, nil
	}
	names := authority{}
	for _, value := range sent.Interfaces {
		var name string
		var object struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(value, &name) != nil && json.Unmarshal(value, &object) == nil {
			name = object.Name
		}
		names[name] = true
	}
	return names, nil
}

// PreflightBody is what is said of the calls.
type PreflightBody struct {
	Decision            string          `json:"decision" enum:"accepted,rejected,escalated" doc:"rejected: a call would be denied. escalated: one would be held."`
	IntentID            string          `json:"intent_id" format:"uuid" doc:"The record of this preflight."`
	Violations          []string        `json:"violations" nullable:"false"`
	OffendingInterfaces []string        `json:"offending_interfaces" nullable:"false" doc:"The tools that would not be allowed."`
	PredicateFails      []PredicateBody `json:"predicate_fails" nullable:"false"`
	Meta                map[string]any  `json:"meta"`
}

// PredicateBody is why a call would not be allowed.
type PredicateBody struct {
	Predicate string `json:"predicate" doc:"The policy and rule."`
	ToolName  string `json:"tool_name"`
	Decision  string `json:"decision" enum:"pass,fail"`
	Reason    string `json:"reason"`
}

type preflightOutput struct{ Body PreflightBody }

func (a *API) preflight(ctx context.Context, caller principal.Principal, in *preflightInput) (*preflightOutput, error) {
	if caller.OrgID == "" {
		return nil, noOrganization()
	}
	may, err := readAuthority(in.Body.Authority)
	if err != nil {
		return nil, err
	}
	snapshot, err := a.Policies.Snapshot(ctx, caller.OrgID)
	if err != nil {
		return nil, err
	}
	callers, err := a.possibleCallers(ctx, caller, callParties{agentID: orEmpty(in.Body.AgentID)})
	if err != nil {
		return nil, err
	}
	body := PreflightBody{
		Decision: accepted, Violations: []string{}, OffendingInterfaces: []string{}, PredicateFails: []PredicateBody{},
		Meta: map[string]any{"tool_calls": len(in.Body.ToolCalls)},
	}
	record := intent.Preflight{
		AgentID: stated(orEmpty(in.Body.AgentID)), Prompt: orEmpty(in.Body.UserPrompt), Tools: []intent.PreflightTool{},
	}
	spent := a.Policies.Spent(ctx, caller.OrgID)
	for _, call := range in.Body.ToolCalls {
		server, tool := plan.ResolveName(call.Name, "", "")
		d := judgeThought(snapshot.Set, callers[0], server, tool, call, may, spent)
		body.add(call.Name, d)
		record.Tools = append(record.Tools, intent.PreflightTool{
			Server:  server,
			Tool:    tool,
			Verdict: d.Verdict.String(),
			Policy:  d.PolicyID,
			Rule:    d.Rule,
		})
	}
	record.Outcome, record.Violations = body.Decision, body.Violations
	if body.IntentID, err = a.Intent.RecordPreflight(ctx, caller, record); err != nil {
		return nil, err
	}
	return &preflightOutput{body}, nil
}

// judgeThought is what policies say of a call, as a decision about it would have
// it. What cannot be read is denied.
func judgeThought(
	set *engine.Set, caller toolcall.Call, server, tool string, sent PreflightCallBody, may authority,
	spent engine.Spent,
) engine.Decision {
	if may != nil && !may[sent.Name] && !may[tool] {
		return engine.Decision{
			PolicyID: policy.ByIntent,
			Rule:     "authority_snapshot",
			Reason:   "the client's own authority does not hold this tool",
		}
	}
	args, err := toolcall.Decode(sent.Input)
	if err != nil {
		return engine.Decision{PolicyID: policy.ByDefault, Reason: "the input cannot be read"}
	}
	caller.Server, caller.Tool, caller.Args = server, tool, args
	d := policy.Judge(set, &caller, spent)
	if d.PolicyID == "" {
		d.PolicyID = policy.ByDefault
	}
	return d
}

// add adds what is said of one call.
func (b *PreflightBody) add(name string, d engine.Decision) {
	if d.Verdict == verdict.Allow {
		return
	}
	outcome := escalated
	if d.Verdict == verdict.Deny {
		outcome = rejected
	}
	if b.Decision != rejected {
		b.Decision = outcome
	}
	reason := d.Reason
	if d.Message != "" {
		reason = d.Message
	}
	b.Violations = append(b.Violations, name+": "+reason)
	b.OffendingInterfaces = append(b.OffendingInterfaces, name)
	b.PredicateFails = append(b.PredicateFails, PredicateBody{
		Predicate: d.PolicyID + "/" + d.Rule, ToolName: name, Decision: "fail", Reason: reason,
	})
}

// preflightOf reads a preflight out of the log. One whose payload was erased has
// its time and id alone.
func preflightOf(payload string) (f intent.Preflight, err error) {
	if payload == "" {
		return f, nil
	}
	if err := json.Unmarshal([]byte(payload), &f); err != nil {
		return f, fault.Wrap(err, fault.Internal, "a preflight in the log cannot be read")
	}
	return f, nil
}
