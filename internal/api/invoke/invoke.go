// Package invoke serves POST /invoke: the published SDKs have a tool called through it, or ask whether they may call it
// themselves. The names of members and the meaning of each status are theirs.
//
// A call that may not run is a 403 whose body has enforcement, because SDKs look for that before they look at the
// status; an allowed one has none, for they take it for a refusal whatever it says. A call that waits for a person is
// refused at once, and the approval lets the next one run.
package invoke

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/api/decisions"
	"writ/internal/api/route"
	"writ/internal/carrier"
	"writ/internal/decision"
	"writ/internal/enforcement"
	"writ/internal/intent/plan"
	"writ/internal/mcp/upstream"
	"writ/internal/principal"
)

// Handlers serve calls of SDKs.
type Handlers struct {
	Carrier      *carrier.Carrier
	Bodies       *route.Bodies
	MaxBodyBytes int64
}

// Mount serves calls of SDKs.
func (h *Handlers) Mount(r *route.Router) {
	r.ShapeErrors(route.Shape{
		Matches:    func(path string) bool { return path == "/invoke" },
		Of:         func(error, route.ErrorBody) any { return nil },
		Documented: InvokeRefusedBody{},
	})
	route.Raw[InvokedCallBody, InvokedResultBody](r.Tagged("proxy"),
		route.Post("/invoke", "Call a tool of a registered MCP server or, with enforce_only, ask whether it may be called").
			For(route.Key).Scoped(principal.Enforce).StoppedToo().Records(decision.Action), h.invoke)
	route.DocumentEither[InvokeEnforcedBody](r, "/invoke", http.StatusOK)
}

// InvokedCallBody documents what an SDK sends. What it says of itself beside that is not read.
type InvokedCallBody struct {
	MCP         string                        `json:"mcp" doc:"The MCP server, as it is registered; also as server."`
	Tool        string                        `json:"tool" doc:"The tool, as the server calls it; also as tool_name."`
	Action      string                        `json:"action,omitempty" doc:"The tool again."`
	Arguments   map[string]any                `json:"arguments,omitempty" doc:"The arguments of the call. Members that SDKs add are taken out before it is judged: _policy_context, _delegation_id, _approvals, _iam_context, user_email."`
	Params      map[string]any                `json:"params,omitempty" doc:"The arguments again."`
	IntentToken *decisions.PresentedTokenBody `json:"intent_token,omitempty" doc:"What POST /iap/sdk/token answered. Without one the call is denied. The copy of the plan in it is not read."`
	MerkleProof []plan.Sibling                `json:"merkle_proof,omitempty" nullable:"false" doc:"The proof of the step, if X-CSRG-Proof is absent."`
	UserEmail   string                        `json:"user_email,omitempty" doc:"The member the agent works for. Absent: the plan's."`
	EnforceOnly bool                          `json:"enforce_only,omitempty" doc:"Only ask: the caller calls the tool itself."`
}

// InvokedResultBody documents the answer to a call that was carried out.
type InvokedResultBody struct {
	JSONRPC string            `json:"jsonrpc" enum:"2.0"`
	ID      string            `json:"id" doc:"The id of the decision."`
	Result  map[string]any    `json:"result,omitempty" doc:"What the tool returned: content, isError, structuredContent."`
	Error   *InvokedErrorBody `json:"error,omitempty" doc:"The server's own error, in place of a result."`
}

// InvokedErrorBody is an error of the protocol.
type InvokedErrorBody struct {
	Code    int64  `json:"code"`
	Message string `json:"message" doc:"The server's text."`
}

// answerTime is what remains for writing an answer when the longest call has ended.
const answerTime = time.Minute

func (h *Handlers) invoke(w http.ResponseWriter, r *http.Request, caller principal.Principal) error {
	sent, err := h.read(r)
	if err != nil {
		return err
	}
	by := carrier.Caller{Principal: caller}
	if sent.enforceOnly {
		return writeEnforced(w, h.Carrier.Decide(r.Context(), by, sent.Call))
	}
	// The server's usual limit is for answers that need no one else.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(carrier.MaxTimeout + answerTime))
	o := h.Carrier.Carry(r.Context(), by, sent.Call, h.sender(by, sent))
	w.Header().Set(decisionHeader, o.Answer.DecisionID)
	switch {
	case !o.Answer.Allowed():
		return writeRefusal(w, r, o.Answer)
	case o.Stopped != "":
		return writeRefusal(w, r, o.StoppedAnswer())
	case o.Failure != nil:
		return writeFailure(w, o)
	}
	return writeJSON(w, http.StatusOK, resultBody{JSONRPC: "2.0", ID: o.Answer.DecisionID, Result: o.Output})
}

// decisionHeader names the decision, for whoever wants to look it up.
const decisionHeader = "X-Writ-Decision-Id"

// sender calls the tool in a session of its own, which nobody else uses.
func (h *Handlers) sender(by carrier.Caller, sent sentCall) carrier.Send {
	return func(ctx context.Context, arguments jsontext.Value) (any, error) {
		session, err := h.Carrier.Open(ctx, by, sent.Server, sent.Own, upstream.Options{Timeout: carrier.MaxTimeout})
		if err != nil {
			return nil, err
		}
		defer session.End()
		params := &mcp.CallToolParams{Name: sent.Tool, Arguments: json.RawMessage(arguments)}
		result, err := session.CallTool(ctx, params)
		if err != nil {
			return nil, err
		}
		return result, nil
	}
}

// sentCall is a call as it was sent.
type sentCall struct {
	carrier.Call
	enforceOnly bool
}

// demanded is what is demanded of every call that is carried out: that it proves its step, unless a person has agreed
// otherwise.
func demanded(c *enforcement.Carried) { c.ProofRequired = enforcement.ProofByAgent }
