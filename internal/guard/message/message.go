// Package message is what a proxy in a process of its own and the server that it belongs to say to each other: the
// bodies of the routes below /proxy/guard, and what they mean here.
//
// JSON that others wrote (arguments, results, definitions) travels as text, so that both sides see the same bytes.
package message

import (
	"time"

	"writ/internal/audit"
	"writ/internal/audit/ledger"
	"writ/internal/intent/plan"
	"writ/internal/obligation"
)

// Headers of a request to the server, beside the proxy's own token.
const (
	// AgentHeader has the credential of the agent that the proxy works for: an API key, or an access token of OAuth.
	AgentHeader = "Writ-On-Behalf-Of"
	// ServerHeader names the MCP server of the address at which the agent has shown an access token; empty: all.
	ServerHeader = "Writ-Mcp-Server"
	// ReportHeader has the token with which what came of a call is reported, in place of the agent's credential.
	ReportHeader = "Writ-Report-Token"
)

// ProxyVersion is how new what is known of an organization is.
type ProxyVersion struct {
	Generation int64 `json:"generation"`
	Epoch      int64 `json:"epoch"`
}

// VersionOf is a version of the log as it is sent.
func VersionOf(v audit.Version) ProxyVersion { return ProxyVersion(v) }

// Read is the version of the log.
func (v ProxyVersion) Read() audit.Version { return audit.Version(v) }

// ProxyCaller is who an agent's credential stands for.
type ProxyCaller struct {
	KeyID          string         `json:"keyId,omitempty"`
	UserID         string         `json:"userId,omitempty"`
	OrganizationID string         `json:"organizationId,omitempty"`
	AgentID        string         `json:"agentId,omitempty" doc:"The agent that an OAuth client acts as."`
	ExpiresAt      *time.Time     `json:"expiresAt,omitempty" doc:"When an access token ends."`
	Stopped        bool           `json:"stopped,omitempty" doc:"Whether a person has stopped the key."`
	Refused        string         `json:"refused,omitempty" doc:"Why the caller may call nothing now; absent: it may."`
	Unknown        string         `json:"unknown,omitempty" doc:"Why nobody knows whether the caller may call anything now: what runs goes on, and the next calls are denied; absent: it is known."`
	Version        ProxyVersion   `json:"version" doc:"How new this is: another one means that what the caller may list may have changed."`
	Settings       *ProxySettings `json:"settings,omitempty" doc:"What the manifest of the key says of the proxy; absent: there is none."`
	// Problem is set where the credential is not good.
	Problem   string `json:"problem,omitempty" doc:"Why the credential is not good; absent: it is."`
	Forbidden bool   `json:"forbidden,omitempty" doc:"Whether the problem is that the caller may not do this, and not who it is."`
	Challenge string `json:"challenge,omitempty" doc:"The WWW-Authenticate of the answer to an OAuth client."`
}

// ProxySettings are what a manifest says of the proxy.
type ProxySettings struct {
	RequireProofs  bool  `json:"requireProofs"`
	TimeoutSeconds int64 `json:"timeoutSeconds"`
	Retries        int   `json:"retries"`
}

// ProxyServers are the approved servers of an organization that have an address.
type ProxyServers struct {
	Version ProxyVersion  `json:"version"`
	Servers []ProxyServer `json:"servers" nullable:"false"`
}

// ProxyServer is an approved server.
type ProxyServer struct {
	ID        string      `json:"mcpId"`
	Name      string      `json:"name"`
	URL       string      `json:"url"`
	UpdatedAt time.Time   `json:"updatedAt"`
	About     string      `json:"about" doc:"What it says of itself, as JSON."`
	Tools     []ProxyTool `json:"tools" nullable:"false"`
}

// ProxyTool is a tool of a server.
type ProxyTool struct {
	Name     string `json:"name"`
	State    string `json:"state"`
	Accepted string `json:"accepted,omitempty" doc:"What a person has accepted of it, as JSON."`
}

// ProxyRoute is how a tool is reached.
type ProxyRoute struct {
	ID                string    `json:"mcpId"`
	Name              string    `json:"name"`
	URL               string    `json:"url"`
	Transport         string    `json:"transport"`
	Idempotent        bool      `json:"idempotent,omitempty" doc:"Whether a person has said that the tool may run twice."`
	CallerCredentials bool      `json:"callerCredentials,omitempty" doc:"Whether a caller may send credentials of its own."`
	HasSecret         bool      `json:"hasSecret,omitempty" doc:"Whether it is called with a secret, which is given for an allow."`
	ByConsent         bool      `json:"byConsent,omitempty" doc:"Whether it is called with the token of the person whose key calls, which is given for an allow and used for that call alone."`
	KeyHeader         string    `json:"keyHeader,omitempty" doc:"The header of an API key."`
	UpdatedAt         time.Time `json:"updatedAt" doc:"When its registration was last changed."`
}

// ProxyCall is a call to be judged.
type ProxyCall struct {
	Server        string         `json:"server"`
	Tool          string         `json:"tool"`
	Arguments     string         `json:"arguments,omitempty" doc:"JSON, as it is sent on."`
	Plan          ProxyPresented `json:"plan,omitzero"`
	TokenRequired bool           `json:"tokenRequired,omitempty"`
	AgentID       string         `json:"agentId,omitempty"`
	UserID        string         `json:"userId,omitempty"`
	UserEmail     string         `json:"userEmail,omitempty"`
	SessionID     string         `json:"sessionId,omitempty"`
	Source        string         `json:"source,omitempty"`
	UserOfPlan    bool           `json:"userOfPlan,omitempty"`
	Only          bool           `json:"only,omitempty" doc:"Whether the call is only judged, and not carried out by the proxy."`
	ProofRule     int            `json:"proofRule,omitempty" minimum:"0" maximum:"2"`
	Proof         *ProxyProof    `json:"proof,omitempty"`
	Envelope      *ProxyEnvelope `json:"envelope,omitempty" doc:"The part of the plan that the call is limited to; absent: it is not."`
	Held          *ProxyHeld     `json:"held,omitempty" doc:"That the caller holds the delegation which it presents; absent: it sent no proof."`
	Obliges       bool           `json:"obliges,omitempty" doc:"Whether the proxy keeps obligations with this call."`
	Own           bool           `json:"ownCredentials,omitempty" doc:"Whether the call goes to its server with credentials of the caller's own."`
	Problem       string         `json:"problem,omitempty" doc:"Why the proxy cannot carry the call out; absent: it can."`
}

// ProxyPresented is what a call sends of its plan.
type ProxyPresented struct {
	PlanID        string `json:"planId,omitempty"`
	Reference     string `json:"reference,omitempty"`
	PlanHash      string `json:"planHash,omitempty"`
	Signature     string `json:"signature,omitempty"`
	JWT           string `json:"jwt,omitempty"`
	MerkleRoot    string `json:"merkleRoot,omitempty"`
	ExpiresAt     string `json:"expiresAt,omitempty"`
	Contradictory bool   `json:"contradictory,omitempty"`
}

// ProxyProof proves the step of a call.
type ProxyProof struct {
	Path   string         `json:"path"`
	Digest string         `json:"digest,omitempty"`
	Proof  []plan.Sibling `json:"proof,omitempty" nullable:"false"`
}

// ProxyAnswer is a decision.
type ProxyAnswer struct {
	Decision      string            `json:"decision" enum:"allow,deny,hold,ask"`
	DecisionID    string            `json:"decisionId,omitempty" doc:"Absent: it could not be recorded, and is a deny."`
	ReportToken   string            `json:"reportToken,omitempty" doc:"Of an allow: with it what came of the call is reported, whatever becomes of the key."`
	Reason        string            `json:"reason"`
	Message       string            `json:"message,omitempty"`
	PolicyID      string            `json:"policyId,omitempty"`
	PolicyName    string            `json:"policyName,omitempty"`
	PolicyVersion int               `json:"policyVersion,omitempty"`
	Rule          string            `json:"rule,omitempty"`
	PlanID        string            `json:"planId,omitempty"`
	PlanRoot      string            `json:"planRoot,omitempty"`
	Step          int               `json:"step" doc:"Of the plan; -1: none."`
	Server        string            `json:"server,omitempty"`
	AgentID       string            `json:"agentId,omitempty"`
	SessionID     string            `json:"sessionId,omitempty"`
	ApprovalID    string            `json:"approvalId,omitempty"`
	Approvers     *ProxyApprovers   `json:"approvers,omitempty"`
	Obligations   *ProxyObligations `json:"obligations,omitempty"`
	Receipt       *ledger.Receipt   `json:"receipt,omitempty"`
}

// ProxyApprovers are those that a rule demands.
type ProxyApprovers struct {
	Role  string `json:"role"`
	Count int    `json:"count"`
}

// ProxyObligations are what a decision asks of whoever carries the call out.
type ProxyObligations struct {
	DecisionID string   `json:"decisionId,omitempty"`
	Decision   string   `json:"decision,omitempty" enum:"allow,deny,hold,ask"`
	ApprovalID string   `json:"approvalId,omitempty" doc:"The approval that the call waits for, or that lets it run."`
	Redact     []string `json:"redact,omitempty" nullable:"false" doc:"Members to leave out of the result."`
	Labels     []string `json:"labels,omitempty" nullable:"false" doc:"Labels of the result."`
	MaxBytes   int64    `json:"maxBytes,omitempty" doc:"How large the result may be, as JSON; absent: as large as any."`
}

// ObligationsOf are obligations as they are sent; nil: none.
func ObligationsOf(s *obligation.Set) *ProxyObligations {
	if s.IsZero() {
		return nil
	}
	return &ProxyObligations{Redact: s.Redact, Labels: s.Labels, MaxBytes: s.MaxBytes}
}

// Set are the obligations; nil: none.
func (o *ProxyObligations) Set() *obligation.Set {
	if o == nil {
		return nil
	}
	s := &obligation.Set{Redact: o.Redact, Labels: o.Labels, MaxBytes: o.MaxBytes}
	if s.IsZero() {
		return nil
	}
	return s
}

// ProxySecret is what a server is called with.
type ProxySecret struct {
	Headers []ProxyHeader `json:"headers" nullable:"false"`
}

// ProxyHeader is a header of each request to a server.
type ProxyHeader struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// ProxyOutcome is what came of a call.
type ProxyOutcome struct {
	PlanID     string      `json:"planId,omitempty"`
	Step       int         `json:"step"`
	Server     string      `json:"server,omitempty"`
	Tool       string      `json:"tool"`
	AgentID    string      `json:"agentId,omitempty"`
	SessionID  string      `json:"sessionId,omitempty"`
	UserEmail  string      `json:"userEmail,omitempty"`
	Arguments  string      `json:"arguments,omitempty" doc:"JSON."`
	Output     string      `json:"output,omitempty" doc:"JSON; absent: there is none."`
	Status     string      `json:"status" enum:"success,failed,unknown"`
	Error      string      `json:"error,omitempty"`
	At         time.Time   `json:"at"`
	DurationNs int64       `json:"durationNs"`
	SpentToken string      `json:"spentToken,omitempty" maxLength:"64" doc:"SHA-256, in hex, of the token of the person, where the MCP server has refused it."`
	Marks      []ProxyMark `json:"marks,omitempty" nullable:"false"`
}

// ProxyMark is something that looks wrong about a result.
type ProxyMark struct {
	Kind   string `json:"kind"`
	Detail string `json:"detail"`
}

// ProxyReported is a report that was recorded.
type ProxyReported struct {
	ID        string `json:"executionId"`
	Duplicate bool   `json:"duplicate,omitempty"`
}

// ProxyAsked are tools of which a caller wants to know what it could ever be allowed.
type ProxyAsked struct {
	Plan      ProxyPresented `json:"plan,omitzero"`
	AgentID   string         `json:"agentId,omitempty"`
	UserID    string         `json:"userId,omitempty"`
	UserEmail string         `json:"userEmail,omitempty"`
	SessionID string         `json:"sessionId,omitempty"`
	Tools     []ProxyNamed   `json:"tools" nullable:"false"`
	Unobliged bool           `json:"unobliged,omitempty" doc:"Whether the proxy cannot keep obligations with what is asked about."`
}

// ProxyNamed is a tool of a server.
type ProxyNamed struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
}

// ProxyVisible says which of them it could be.
type ProxyVisible struct {
	Visible  []bool `json:"visible" nullable:"false"`
	Redacted []bool `json:"redacted" nullable:"false" doc:"Of which a rule may have members of results left out."`
}

// ProxyApproval is how an approval request stands.
type ProxyApproval struct {
	Status string `json:"status"`
}
