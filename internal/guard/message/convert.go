package message

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/enforcement"
	"writ/internal/execution"
	"writ/internal/intent/plan"
	"writ/internal/mcp"
	"writ/internal/policy"
	"writ/internal/policy/document"
	"writ/internal/verdict"
)

// CallOf is a request for a decision as it is sent. Whoever does not carry the call out only wants to know.
func CallOf(r enforcement.Request) ProxyCall {
	c := ProxyCall{
		Server:        r.Server,
		Tool:          r.Tool,
		Arguments:     string(r.Arguments),
		Plan:          ProxyPresented(r.Presented),
		TokenRequired: r.TokenRequired,
		AgentID:       r.AgentID,
		UserID:        r.UserID,
		UserEmail:     r.UserEmail,
		SessionID:     r.SessionID,
		Source:        r.Source,
		UserOfPlan:    r.UserOfPlan,
		Obliges:       r.CanOblige,
		Only:          r.Carried == nil,
	}
	c.delegationOf(&r)
	if r.Carried == nil {
		return c
	}
	c.Own = r.Carried.OwnCredentials
	c.ProofRule, c.Problem = int(r.Carried.ProofRequired), r.Carried.Problem
	if claim := r.Carried.Proof; claim != nil {
		c.Proof = &ProxyProof{Path: claim.Path, Digest: claim.Digest, Proof: claim.Proof}
	}
	return c
}

// Request is the request for a decision. What the server must know of the call itself, it finds out itself.
func (c *ProxyCall) Request() enforcement.Request {
	r := enforcement.Request{
		Server:        c.Server,
		Tool:          c.Tool,
		Presented:     plan.Presented(c.Plan),
		TokenRequired: c.TokenRequired,
		AgentID:       c.AgentID,
		UserID:        c.UserID,
		UserEmail:     c.UserEmail,
		SessionID:     c.SessionID,
		Source:        c.Source,
		UserOfPlan:    c.UserOfPlan,
		CanOblige:     c.Obliges,
	}
	if c.Arguments != "" {
		r.Arguments = []byte(c.Arguments)
	}
	c.limit(&r)
	if c.Only {
		return r
	}
	r.Carried = &enforcement.Carried{
		ProofRequired: enforcement.ProofRule(c.ProofRule), Problem: c.Problem, OwnCredentials: c.Own,
	}
	if c.Proof != nil {
		r.Carried.Proof = &plan.Claim{Path: c.Proof.Path, Digest: c.Proof.Digest, Proof: c.Proof.Proof}
	}
	return r
}

// AnswerOf is a decision as it is sent.
func AnswerOf(a enforcement.Answer) ProxyAnswer {
	sent := ProxyAnswer{
		Decision:      a.Verdict.String(),
		Reason:        a.Reason,
		Message:       a.Message,
		PolicyID:      a.PolicyID,
		PolicyName:    a.PolicyName,
		PolicyVersion: a.PolicyVersion,
		Rule:          a.Rule,
		PlanID:        a.PlanID,
		PlanRoot:      a.PlanRoot,
		Step:          a.Step,
		Server:        a.Server,
		AgentID:       a.AgentID,
		SessionID:     a.SessionID,
		ApprovalID:    a.ApprovalID,
		Receipt:       a.Receipt,
		Obligations:   ObligationsOf(a.Oblige),
	}
	if a.Recorded {
		sent.DecisionID = a.DecisionID
	}
	if a.Approvers != nil {
		sent.Approvers = &ProxyApprovers{Role: a.Approvers.Role, Count: a.Approvers.Count}
	}
	return sent
}

// Read is the decision. One that is not what it should be is a deny.
func (a *ProxyAnswer) Read() (enforcement.Answer, error) {
	said, err := verdict.Parse(a.Decision)
	if err != nil {
		return enforcement.Answer{}, fmt.Errorf("the decision %w", err)
	}
	read := enforcement.Answer{
		Ruling: verdict.Ruling{
			Verdict:       said,
			PolicyID:      a.PolicyID,
			PolicyName:    a.PolicyName,
			PolicyVersion: a.PolicyVersion,
			Rule:          a.Rule,
			Reason:        a.Reason,
			Message:       a.Message,
		},
		DecisionID: a.DecisionID,
		PlanID:     a.PlanID,
		PlanRoot:   a.PlanRoot,
		Step:       a.Step,
		Server:     a.Server,
		AgentID:    a.AgentID,
		SessionID:  a.SessionID,
		ApprovalID: a.ApprovalID,
		Recorded:   a.DecisionID != "",
		Receipt:    a.Receipt,
		Oblige:     a.Obligations.Set(),
	}
	if a.Approvers != nil {
		read.Approvers = &document.Approvers{Role: a.Approvers.Role, Count: a.Approvers.Count}
	}
	return read, nil
}

// RouteOf is how a server is reached, as it is sent.
func RouteOf(r mcp.Reach) ProxyRoute {
	return ProxyRoute{
		ID:         r.ID,
		Name:       r.Name,
		URL:        r.URL,
		Transport:  r.Transport,
		Idempotent: r.Idempotent,
		HasSecret:  r.HasSecret,
		ByConsent:  r.ByConsent,
		KeyHeader:  r.KeyHeader,
		UpdatedAt:  r.UpdatedAt,

		CallerCredentials: r.CallerCredentials,
	}
}

// Read is how the server is reached.
func (r *ProxyRoute) Read() mcp.Reach {
	return mcp.Reach{
		ID:         r.ID,
		Name:       r.Name,
		URL:        r.URL,
		Transport:  r.Transport,
		Idempotent: r.Idempotent,
		HasSecret:  r.HasSecret,
		ByConsent:  r.ByConsent,
		KeyHeader:  r.KeyHeader,
		UpdatedAt:  r.UpdatedAt,

		CallerCredentials: r.CallerCredentials,
	}
}

// ServerOf is an approved server with its tools, as it is sent.
func ServerOf(of *mcp.Server, tools []mcp.Tool) (ProxyServer, error) {
	about, err := json.Marshal(of.About)
	if err != nil {
		return ProxyServer{}, fmt.Errorf("write what an MCP server says of itself: %w", err)
	}
	sent := ProxyServer{ID: of.ID, Name: of.Name, URL: of.URL, UpdatedAt: of.UpdatedAt}
	sent.About = string(about)
	sent.Tools = make([]ProxyTool, len(tools))
	for i := range tools {
		accepted, err := json.Marshal(tools[i].Accepted.Tool)
		if err != nil {
			return ProxyServer{}, fmt.Errorf("write a tool of an MCP server: %w", err)
		}
		sent.Tools[i] = ProxyTool{Name: tools[i].Name, State: string(tools[i].State), Accepted: string(accepted)}
	}
	return sent, nil
}

// Read is the server with its tools.
func (s *ProxyServer) Read() (mcp.Server, []mcp.Tool, error) {
	of := mcp.Server{ID: s.ID, Name: s.Name, URL: s.URL, UpdatedAt: s.UpdatedAt}
	of.Status = mcp.Approved
	if err := json.Unmarshal([]byte(s.About), &of.About); err != nil {
		return mcp.Server{}, nil, fmt.Errorf("read what MCP server %s says of itself: %w", s.ID, err)
	}
	tools := make([]mcp.Tool, len(s.Tools))
	for i, tool := range s.Tools {
		tools[i] = mcp.Tool{Name: tool.Name, State: mcp.State(tool.State)}
		if tool.Accepted == "" {
			continue
		}
		if err := json.Unmarshal([]byte(tool.Accepted), &tools[i].Accepted.Tool); err != nil {
			return mcp.Server{}, nil, fmt.Errorf("read a tool of MCP server %s: %w", s.ID, err)
		}
	}
	return of, tools, nil
}

// OutcomeOf is a report as it is sent.
func OutcomeOf(c execution.Carried) ProxyOutcome {
	sent := ProxyOutcome{
		PlanID:     c.PlanID,
		Step:       c.Step,
		Server:     c.Server,
		Tool:       c.Tool,
		AgentID:    c.AgentID,
		SessionID:  c.SessionID,
		UserEmail:  c.UserEmail,
		Arguments:  string(c.Arguments),
		Output:     string(c.Output),
		Status:     c.Status,
		Error:      c.Error,
		At:         c.At,
		DurationNs: int64(c.Duration),
		SpentToken: c.SpentToken,
	}
	for _, mark := range c.Marks {
		sent.Marks = append(sent.Marks, ProxyMark{Kind: string(mark.Kind), Detail: mark.Detail})
	}
	return sent
}

// Read is the report about a decision.
func (o *ProxyOutcome) Read(decisionID string) execution.Carried {
	c := execution.Carried{
		DecisionID: decisionID,
		PlanID:     o.PlanID,
		Step:       o.Step,
		Server:     o.Server,
		Tool:       o.Tool,
		AgentID:    o.AgentID,
		SessionID:  o.SessionID,
		UserEmail:  o.UserEmail,
		Arguments:  jsontext.Value(o.Arguments),
		Status:     o.Status,
		Error:      o.Error,
		At:         o.At,
		Duration:   time.Duration(o.DurationNs),
		SpentToken: o.SpentToken,
	}
	if o.Output != "" {
		c.Output = jsontext.Value(o.Output)
	}
	for _, mark := range o.Marks {
		c.Marks = append(c.Marks, execution.Mark{Kind: execution.Kind(mark.Kind), Detail: mark.Detail})
	}
	return c
}

// SettingsOf are what a manifest says, as it is sent; nil: there is none.
func SettingsOf(s policy.ProxySettings, stated bool) *ProxySettings {
	if !stated {
		return nil
	}
	return &ProxySettings{
		RequireProofs: s.RequireProofs, TimeoutSeconds: int64(s.Timeout / time.Second), Retries: s.Retries,
	}
}

// Read is what the manifest says; false: there is none.
func (s *ProxySettings) Read() (policy.ProxySettings, bool) {
	if s == nil {
		return policy.ProxySettings{}, false
	}
	return policy.ProxySettings{
		RequireProofs: s.RequireProofs, Timeout: time.Duration(s.TimeoutSeconds) * time.Second, Retries: s.Retries,
	}, true
}
