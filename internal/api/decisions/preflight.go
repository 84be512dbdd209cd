package decisions

import (
	"context"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/api/route"
	"writ/internal/enforcement"
	"writ/internal/fault"
	"writ/internal/intent"
	"writ/internal/principal"
)

func (h *Handlers) mountPreflight(r *route.Router) {
	route.Handle(r,
		route.Post("/iap/sdk/preflight", "What policies say of calls an agent thinks of making; it decides nothing").
			For(route.Key).Scoped(principal.Enforce).StoppedToo().Records(intent.PreflightAction).
			SpelledAt("tool_calls", preflightNames), h.preflight)
}

// preflightNames are the names of a call in a preflight.
var preflightNames = route.Names{Server: "server", Tool: "name", Arguments: "input"}

type preflightInput struct {
	Body struct {
		AgentID    *string             `json:"agent_id,omitempty" nullable:"true" doc:"The agent."`
		UserPrompt *string             `json:"user_prompt,omitempty" nullable:"true" doc:"What the agent was asked; kept redacted."`
		ToolCalls  []PreflightCallBody `json:"tool_calls" nullable:"false" maxItems:"200" doc:"The calls it thinks of."`
		Authority  route.SentObject    `json:"authority_snapshot,omitempty" nullable:"true" doc:"What the client says it may use: where it lists interfaces, other tools are rejected. It never widens."`
	}
}

// PreflightCallBody is a call an agent thinks of.
type PreflightCallBody struct {
	Server string           `json:"server,omitempty" maxLength:"200" doc:"The MCP server. Absent: the name may say it."`
	Name   string           `json:"name" minLength:"1" maxLength:"400" doc:"The tool; server__tool names its server, and server.tool that of a registered one."`
	Input  route.SentObject `json:"input,omitempty" nullable:"true" doc:"Its arguments; not kept."`
}

// readAuthority reads the names of tools that a client says it may use, or the names
// in objects; nil: it does not say. What is neither is a name that no tool has.
func readAuthority(raw route.SentObject) (map[string]bool, error) {
	var sent struct {
		Interfaces []jsontext.Value `json:"interfaces"`
	}
	if len(raw) > 0 && json.Unmarshal(raw, &sent) != nil {
		return nil, fault.Field("authority_snapshot", "must be an object whose interfaces are a list")
	}
	if sent.Interfaces == nil {
		return nil, nil
	}
	names := map[string]bool{}
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

func (h *Handlers) preflight(
	ctx context.Context, caller principal.Principal, in *preflightInput,
) (PreflightBody, error) {
	if caller.OrgID == "" {
		return PreflightBody{}, route.NoOrganization()
	}
	may, err := readAuthority(in.Body.Authority)
	if err != nil {
		return PreflightBody{}, err
	}
	ask := enforcement.Preflight{
		AgentID: route.OrEmpty(in.Body.AgentID), Prompt: route.OrEmpty(in.Body.UserPrompt), Authority: may,
	}
	for _, call := range in.Body.ToolCalls {
		ask.Calls = append(ask.Calls, enforcement.PreflightCall{
			Server: call.Server, Name: call.Name, Input: call.Input,
		})
	}
	answer, err := h.Enforcement.Preflight(ctx, caller, ask)
	if err != nil {
		return PreflightBody{}, err
	}
	body := PreflightBody{
		Decision:            answer.Outcome,
		IntentID:            answer.ID,
		Violations:          answer.Violations,
		OffendingInterfaces: []string{},
		PredicateFails:      []PredicateBody{},
		Meta:                map[string]any{"tool_calls": len(in.Body.ToolCalls)},
	}
	for _, refused := range answer.Refused {
		body.OffendingInterfaces = append(body.OffendingInterfaces, refused.Name)
		body.PredicateFails = append(body.PredicateFails, PredicateBody{
			Predicate: refused.PolicyID + "/" + refused.Rule, ToolName: refused.Name, Decision: "fail",
			Reason: refused.Reason,
		})
	}
	return body, nil
}
