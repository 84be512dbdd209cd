package invoke

import (
	"cmp"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/api/decisions"
	"writ/internal/api/policies"
	"writ/internal/api/route"
	"writ/internal/audit/ledger"
	"writ/internal/carrier"
	"writ/internal/enforcement"
	"writ/internal/fault"
	"writ/internal/intent/plan"
	"writ/internal/mcp/upstream"
	"writ/internal/names"
	"writ/internal/policy"
	"writ/internal/verdict"
)

// InvokeEnforcedBody is the answer to enforce_only: flat, and with status 200 whatever it says.
type InvokeEnforcedBody struct {
	Allowed           bool                  `json:"allowed" doc:"Whether the tool may run: true only with an allow that is recorded."`
	Action            string                `json:"action" enum:"allow,block,hold"`
	EnforcementAction string                `json:"enforcementAction" enum:"allow,block,hold"`
	Decision          verdict.Verdict       `json:"decision" enum:"allow,deny,hold,ask"`
	Reason            string                `json:"reason"`
	MatchedPolicy     *policies.MatchedBody `json:"matched_policy" doc:"The policy that decided; null: none did."`
	ApprovalID        string                `json:"approvalId,omitempty" doc:"The approval this waits for, or that lets the call run."`
	DelegationID      string                `json:"delegation_id,omitempty" doc:"The same, for published clients."`
	PlanID            string                `json:"planId,omitempty"`
	DecisionID        string                `json:"decisionId,omitempty" doc:"Absent: it could not be recorded, and is a deny."`
	Receipt           *ledger.Receipt       `json:"receipt,omitempty"`
}

func writeEnforced(w http.ResponseWriter, d enforcement.Answer) error {
	said := decisions.BodyOf(d)
	return writeJSON(w, http.StatusOK, InvokeEnforcedBody{
		Allowed:           said.Allowed,
		Action:            said.EnforcementAction,
		EnforcementAction: said.EnforcementAction,
		Decision:          said.Decision,
		Reason:            said.Reason,
		MatchedPolicy:     decisions.MatchedPolicy(d),
		ApprovalID:        said.ApprovalID,
		DelegationID:      said.ApprovalID,
		PlanID:            said.PlanID,
		DecisionID:        said.DecisionID,
		Receipt:           said.Receipt,
	})
}

// InvokeRefusedBody is the answer about a call that does not run.
type InvokeRefusedBody struct {
	route.ErrorBody
	Enforcement *InvokeEnforcementBody `json:"enforcement,omitempty" doc:"Absent: the call was not decided about, or its token has ended."`
	Delegation  *InvokeDelegationBody  `json:"delegation_context,omitempty" doc:"Of a hold."`
	DecisionID  string                 `json:"decisionId,omitempty"`
	Receipt     *ledger.Receipt        `json:"receipt,omitempty"`
}

// InvokeEnforcementBody is why a call does not run.
type InvokeEnforcementBody struct {
	Action           string                `json:"action" enum:"block,hold"`
	Reason           string                `json:"reason"`
	RequiresApproval bool                  `json:"requiresApproval" doc:"Whether an approval lets the call run: it is then sent again."`
	Metadata         InvokeMetadataBody    `json:"metadata"`
	MatchedPolicy    *policies.MatchedBody `json:"matched_policy" doc:"The policy that decided; null: none did."`
	DecidedBy        string                `json:"decidedBy,omitempty"`
	Rule             string                `json:"rule,omitempty"`
}

// InvokeMetadataBody is where an SDK in Python looks for the flag.
type InvokeMetadataBody struct {
	RequiresApproval bool `json:"requiresApproval"`
}

// InvokeDelegationBody is what an approval request is about.
type InvokeDelegationBody struct {
	ApprovalID      string `json:"approvalId,omitempty" doc:"The approval request that is open."`
	DelegationID    string `json:"delegationId,omitempty" doc:"The same, for published clients."`
	Domain          string `json:"domain,omitempty" doc:"The MCP server."`
	PlanID          string `json:"planId,omitempty"`
	IntentReference string `json:"intentReference,omitempty"`
	MerkleRoot      string `json:"merkleRoot,omitempty"`
}

// revokedHeader marks the answer to a token whose plan has ended before its time.
const revokedHeader = "X-Armoriq-Revoked"

// writeRefusal says why a call does not run. A token that has ended is no matter of policy: SDKs must get a new one.
func writeRefusal(w http.ResponseWriter, r *http.Request, d enforcement.Answer) error {
	said := decisions.BodyOf(d)
	if d.PolicyID == policy.ByIntent && d.Rule == string(plan.Ended) {
		w.Header().Set(revokedHeader, "true")
		return fault.New(fault.Unauthenticated, "%s", said.Reason)
	}
	held := said.EnforcementAction == "hold"
	body := InvokeRefusedBody{
		ErrorBody: route.ErrorBody{
			StatusCode: http.StatusForbidden,
			Message:    said.Reason,
			ErrorText:  http.StatusText(http.StatusForbidden),
			RequestID:  route.RequestOf(r.Context()).ID,
		},
		Enforcement: &InvokeEnforcementBody{
			Action:           said.EnforcementAction,
			Reason:           said.Reason,
			RequiresApproval: held,
			Metadata:         InvokeMetadataBody{held},
			MatchedPolicy:    decisions.MatchedPolicy(d),
			DecidedBy:        said.DecidedBy,
			Rule:             said.Rule,
		},
		DecisionID: said.DecisionID,
		Receipt:    said.Receipt,
	}
	if held {
		body.Delegation = &InvokeDelegationBody{
			ApprovalID: said.ApprovalID, DelegationID: said.ApprovalID, Domain: said.Server,
			PlanID: said.PlanID, MerkleRoot: d.PlanRoot,
		}
		if said.PlanID != "" {
			body.Delegation.IntentReference = "ir_" + said.PlanID
		}
	}
	return writeJSON(w, http.StatusForbidden, body)
}

// resultBody is the answer of a tool.
type resultBody struct {
	JSONRPC string            `json:"jsonrpc"`
	ID      string            `json:"id"`
	Result  jsontext.Value    `json:"result,omitzero"`
	Error   *InvokedErrorBody `json:"error,omitzero"`
}

// maxServerMessage bounds what is passed on of a server's error, in bytes.
const maxServerMessage = 2000

// writeFailure says why an allowed call has no result. A server's own error is an answer; all else is not.
func writeFailure(w http.ResponseWriter, o carrier.Outcome) error {
	f := o.Failure
	switch f.Kind {
	case upstream.Answered:
		return writeJSON(w, http.StatusOK, resultBody{
			JSONRPC: "2.0", ID: o.Answer.DecisionID,
			Error: &InvokedErrorBody{Code: f.Code, Message: names.Cut(f.Message, maxServerMessage)},
		})
	case upstream.TimedOut:
		return fault.New(fault.UpstreamLate, "%s", f.Error()+f.Aftermath())
	}
	return fault.New(fault.UpstreamFailed, "%s", f.Error()+f.Aftermath())
}

func writeJSON(w http.ResponseWriter, status int, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(cmp.Or(status, http.StatusOK))
	_, _ = w.Write(text) // a client that is gone cannot be told; what happened is recorded
	return nil
}
