package decisions

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"

	"writ/internal/api/route"
	"writ/internal/decision"
	"writ/internal/enforcement"
	"writ/internal/fault"
	"writ/internal/principal"
)

func (h *Handlers) mountEnforce(r *route.Router) {
	route.Raw[SDKCallBody, SDKDecisionBody](r,
		route.Post("/iap/sdk/enforce", "Whether a call of a plan's tool may run now").
			For(route.Key).Scoped(principal.Enforce).StoppedToo().Records(decision.Action), h.enforceSDK)
	route.Raw[PluginCallBody, PluginDecisionBody](r,
		route.Post("/iap/enforce", "Whether a call of a coding agent's tool may run now").
			For(route.Key).Scoped(principal.Enforce).StoppedToo().Records(decision.Action), h.enforcePlugin)
}

// SDKCallBody documents what an SDK sends. It is read by hand, in one pass.
type SDKCallBody struct {
	Server      string             `json:"server,omitempty" doc:"The MCP server; also as mcp, or in mcp_context. Absent: that of the plan's step, or of the server in front of the tool's name."`
	Tool        string             `json:"tool" doc:"The tool's name, as the plan has it; also as action or tool_name."`
	Arguments   map[string]any     `json:"arguments,omitempty" doc:"The arguments of the call; also as params or tool_input."`
	IntentToken PresentedTokenBody `json:"intent_token" doc:"What POST /iap/sdk/token answered, or its token, or its jwt_token. Without one the call is denied. The copy of the plan in it is not read."`
	MCP         string             `json:"mcp,omitempty" doc:"server, in the words of published clients."`
	UserEmail   string             `json:"user_email,omitempty" doc:"The member the agent works for."`
	UserID      string             `json:"user_id,omitempty"`
	AgentID     string             `json:"agent_id,omitempty"`
	ContextID   string             `json:"context_id,omitempty"`
	SessionID   string             `json:"session_id,omitempty"`
	Turn        int64              `json:"session_turn,omitempty" minimum:"1" doc:"The turn of a guarded session that the caller knows. In another one the call is denied."`
	Labels      []string           `json:"labels,omitempty" doc:"Labels of what the arguments carry."`
	Resolved    map[string]string  `json:"resolvedPaths,omitempty" doc:"What paths in the arguments really are where the agent runs."`
	Can         []string           `json:"capabilities,omitempty" doc:"What the caller can do with an answer: confine, if it keeps what confine of an allow says; oblige, if it keeps what oblige says. Others mean nothing."`
}

// PluginCallBody documents what a plugin sends.
type PluginCallBody struct {
	ToolName   string              `json:"tool_name" doc:"The tool's name, as the host calls it; also as tool or action."`
	ToolInput  map[string]any      `json:"tool_input,omitempty" doc:"The arguments of the call, complete; also as arguments or params."`
	Server     string              `json:"server,omitempty" doc:"The MCP server, where mcp_context does not say; also as mcp."`
	Source     string              `json:"source,omitempty" doc:"The plugin or host." example:"armorgemini"`
	SessionID  string              `json:"session_id,omitempty" doc:"The session; a plan declared for it is judged where no token is sent."`
	Turn       int64               `json:"session_turn,omitempty" minimum:"1" doc:"The turn of a guarded session that the caller knows. In another one the call is denied."`
	Intent     *PresentedTokenBody `json:"intent,omitempty" doc:"The plan's token, as in intent_token of POST /iap/sdk/enforce, which is taken here too."`
	MCPContext *PluginContextBody  `json:"mcp_context,omitempty" doc:"The server and tool as the host knows them; believed before the name."`
	UserEmail  string              `json:"user_email,omitempty" doc:"The member the agent works for."`
	UserID     string              `json:"user_id,omitempty"`
	AgentID    string              `json:"agent_id,omitempty"`
	ContextID  string              `json:"context_id,omitempty"`
	Labels     []string            `json:"labels,omitempty" doc:"Labels of what the arguments carry."`
	Resolved   map[string]string   `json:"resolvedPaths,omitempty" doc:"What paths in the arguments really are where the agent runs."`
	Can        []string            `json:"capabilities,omitempty" doc:"What the caller can do with an answer: confine, if it keeps what confine of an allow says; oblige, if it keeps what oblige says. Others mean nothing."`
}

// PluginContextBody is a tool of an MCP server, as a host knows it.
type PluginContextBody struct {
	ServerName string `json:"server_name"`
	ToolName   string `json:"tool_name"`
}

func (h *Handlers) enforceSDK(w http.ResponseWriter, r *http.Request, caller principal.Principal) error {
	d, err := h.decide(r, caller, sdkMembers, true)
	if err != nil {
		return err
	}
	return writeDecision(w, SDKDecisionBody{decisionBody(d), matchedPolicy(d)}.text)
}

func (h *Handlers) enforcePlugin(w http.ResponseWriter, r *http.Request, caller principal.Principal) error {
	d, err := h.decide(r, caller, pluginMembers, false)
	if err != nil {
		return err
	}
	return writeDecision(w, PluginDecisionBody{decisionBody(d), matchedPolicy(d)}.text)
}

// writeDecision answers with a decision. One that cannot be told is an error, and so
// no allow.
func writeDecision(w http.ResponseWriter, text func() ([]byte, error)) error {
	answer, err := text()
	if err != nil {
		return fmt.Errorf("answer with a decision: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
	_, _ = w.Write(answer) // a client that is gone cannot be told; the decision is recorded
	return nil
}

func writeAnswer(w http.ResponseWriter, body any) error {
	w.Header().Set("Content-Type", "application/json")
	// A client that is gone cannot be told; the decision is recorded.
	_ = json.MarshalWrite(w, body)
	return nil
}

// decide reads a call and has it judged. What cannot be read is denied; only
// when the server has no room for the body it is an error.
func (h *Handlers) decide(
	r *http.Request, caller principal.Principal, members callMembers, tokenRequired bool,
) (enforcement.Answer, error) {
	body, release, err := h.Bodies.Read(r, h.MaxBodyBytes)
	defer release()
	if fault.Is(err, fault.Unavailable) {
		return enforcement.Answer{}, err
	}
	if err != nil {
		return refusedCall(messageFor(err)), nil
	}
	call, err := readCall(body, members)
	if err != nil {
		return refusedCall("the call cannot be read: the body " + route.Describe(err)), nil
	}
	if call.Tool == "" {
		return refusedCall("the call names no tool"), nil
	}
	if err := NamePerson(&call.Request, r.Header); err != nil {
		return refusedCall(messageFor(err)), nil
	}
	call.TokenRequired = call.TokenRequired || tokenRequired
	held := HeldProof(r, body)
	call.Held, call.Sent = held.Proof, held.Sent
	return h.Enforcement.Decide(r.Context(), caller, call.Request), nil
}

// messageFor is what a caller may know of an error.
func messageFor(err error) string {
	if f, ok := err.(*fault.Error); ok {
		return f.Message
	}
	return "the request could not be read"
}
