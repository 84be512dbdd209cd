package decisions

import (
	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/api/route"
)

// DeclaredPlanBody documents a plan as it is sent. It is read in every shape that published clients send, which is more
// than can be written here: the parts of a step under each of their names, and steps as a text.
type DeclaredPlanBody struct {
	Goal    string             `json:"goal,omitempty" doc:"What the person wants."`
	Steps   []DeclaredStepBody `json:"steps" nullable:"false" doc:"The tools that the agent will call, at most 500."`
	Ordered bool               `json:"ordered,omitempty" doc:"Whether steps are used in their order."`
	May     []string           `json:"may,omitempty" nullable:"false" doc:"Tools that may be needed beside those of the steps."`
	Source  string             `json:"source,omitempty" doc:"Who wrote it."`
}

// DeclaredStepBody documents a step as it is sent.
type DeclaredStepBody struct {
	Server      string         `json:"server,omitempty" doc:"The MCP server; also as mcp. Absent: that of a server in front of the tool's name, else none."`
	Tool        string         `json:"tool,omitempty" doc:"The tool; also as action or tool_name."`
	Arguments   map[string]any `json:"arguments,omitempty" doc:"The arguments that the plan fixes; also as params, inputs or tool_input. Others are free, unless the step is strict."`
	Strict      bool           `json:"strict,omitempty" doc:"Whether other arguments are refused."`
	MaxCalls    int64          `json:"max_calls,omitempty" minimum:"1" doc:"How often it may be used. Absent: any number of times."`
	Description string         `json:"description,omitempty"`

	MCP    string         `json:"mcp,omitempty" doc:"server, in the words of published clients."`
	Action string         `json:"action,omitempty" doc:"tool, in their words."`
	Params map[string]any `json:"params,omitempty" doc:"arguments, in their words."`
}

// PresentedTokenBody documents the token of a plan as calls show it: what POST /iap/sdk/token answered, or its plan_id
// with its jwt_token or token.
type PresentedTokenBody struct {
	JWT       string           `json:"jwt_token,omitempty"`
	PlanID    string           `json:"plan_id,omitempty"`
	Token     *SignedTokenBody `json:"token,omitempty"`
	PlanHash  string           `json:"plan_hash,omitempty"`
	Signature string           `json:"signature,omitempty"`
}

// sentPlan is a plan that is read as it was sent, and documented as DeclaredPlanBody.
type sentPlan jsontext.Value

// UnmarshalJSONFrom keeps the text.
func (v *sentPlan) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	return (*route.SentObject)(v).UnmarshalJSONFrom(dec)
}

// Schema refers to what documents it. What is taken is more.
func (sentPlan) Schema(r huma.Registry) *huma.Schema { return route.DocumentedAs[DeclaredPlanBody](r) }
