package enforcement

import (
	"cmp"
	"context"

	"writ/internal/fault"
	"writ/internal/intent"
	"writ/internal/policy"
	"writ/internal/policy/engine"
	"writ/internal/principal"
	"writ/internal/toolcall"
	"writ/internal/toolname"
	"writ/internal/verdict"
)

// Preflight asks about calls that an agent may make, before it declares a plan.
type Preflight struct {
	AgentID, Prompt string
	Calls           []PreflightCall
	// Authority is the tools that the client says it may use; nil: all. It only restricts.
	Authority map[string]bool
}

// PreflightCall is one call of a preflight.
type PreflightCall struct {
	Server string // empty: not stated
	Name   string // server__tool and server.tool name its server
	Input  []byte // raw JSON, not stored
}

// PreflightAnswer is what policies say about the calls.
type PreflightAnswer struct {
	ID         string // of the record
	Outcome    string // one of package intent
	Violations []string
	Refused    []RefusedCall
}

// RefusedCall is a call that would not be allowed, and why.
type RefusedCall struct {
	Name, PolicyID, Rule, Reason string
}

// Preflight judges calls as decisions would, and records the result. It decides nothing.
func (s *Service) Preflight(ctx context.Context, p principal.Principal, ask Preflight) (PreflightAnswer, error) {
	if p.OrgID == "" {
		return PreflightAnswer{}, fault.New(fault.Forbidden, "this key belongs to no organization")
	}
	c := callFor(p, Parties{AgentID: ask.AgentID})
	v, err := s.loadCurrent(ctx, c)
	if err != nil {
		return PreflightAnswer{}, err
	}
	answer := PreflightAnswer{Outcome: intent.Accepted, Violations: []string{}}
	record := intent.Preflight{AgentID: c.request.AgentID, Prompt: ask.Prompt, Tools: []intent.PreflightTool{}}
	spent := s.policies.Spent(ctx, p.OrgID)
	for _, call := range ask.Calls {
		names := v.candidates(call.Name, call.Server, "")
		d := ask.judge(v, c.toolcall(v, names[0].Name, -1, s.db.Now()), names, call, spent)
		answer.add(call.Name, d)
		record.Tools = append(record.Tools, intent.PreflightTool{
			Server:  names[0].Server,
			Tool:    names[0].Tool,
			Verdict: d.Verdict.String(),
			Policy:  d.PolicyID,
			Rule:    d.Rule,
		})
	}
	record.Outcome, record.Violations = answer.Outcome, answer.Violations
	answer.ID, err = s.plans.RecordPreflight(ctx, p, record)
	return answer, err
}

// judge judges one call. A call that cannot be read is denied.
func (ask *Preflight) judge(
	v *view, call *toolcall.Call, names []toolname.Candidate, sent PreflightCall, spent engine.Spent,
) engine.Decision {
	if refused, ok := v.refuseCaller(call); ok {
		return refused
	}
	if ask.Authority != nil && !ask.Authority[sent.Name] && !ask.Authority[call.Tool] {
		return refuse(policy.ByIntent, "authority_snapshot", "the client's own authority does not hold this tool")
	}
	var err error
	if call.Args, err = toolcall.Decode(sent.Input); err != nil {
		return refuse(policy.ByDefault, "", "the input cannot be read")
	}
	questions := engine.Ask(*call, names)
	if refused, ok := v.refuseStopped(questions); ok {
		return refused
	}
	d, _ := policy.JudgeNamed(v.policies.Set, questions, spent)
	d.PolicyID = cmp.Or(d.PolicyID, policy.ByDefault)
	return v.holdUnaccepted(d, questions)
}

func (a *PreflightAnswer) add(name string, d engine.Decision) {
	switch {
	case d.Verdict == verdict.Allow:
		return
	case d.Verdict == verdict.Deny:
		a.Outcome = intent.Rejected
	case a.Outcome == intent.Accepted:
		a.Outcome = intent.Escalated
	}
	reason := cmp.Or(d.Message, d.Reason)
	a.Violations = append(a.Violations, name+": "+reason)
	a.Refused = append(a.Refused, RefusedCall{name, d.PolicyID, d.Rule, reason})
}
