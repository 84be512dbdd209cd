package forwarding

import (
	"writ/internal/decision"
	"writ/internal/forwarding/message"
	"writ/internal/projection"
	"writ/internal/verdict"
)

// decisionService is the service name of decisions.
const decisionService = "writ"

// decisionSpan makes a span of a decision about a tool call, in the trace in which Writ itself shows it. A denied call
// counts as failed, as it does in Writ. The span's id is one that no client's span can have: clients can compute the
// ids that Writ shows, and a receiver could take a span with the same id for this one.
func decisionSpan(d *decision.Record, content Content) *message.Span {
	traceID, spanID := projection.IDs(d)
	s := &message.Span{
		TraceID: traceBytes(traceID), ID: spanBytes("decision " + spanID), Name: "writ.decision " + d.Tool,
		Start: d.At.Add(-d.Duration), End: d.At, Failed: d.Verdict == verdict.Deny,
	}
	a := &s.Attributes
	a.String("gen_ai.tool.name", d.Tool)
	a.String("gen_ai.agent.id", d.AgentID)
	a.String("gen_ai.conversation.id", d.SessionID)
	a.String("session.id", d.SessionID)
	a.String("writ.decision", d.Verdict.String())
	a.String("writ.decision.id", d.ID)
	a.Int("writ.log.index", d.Index)
	a.String("writ.tool.server", d.Server)
	a.String("writ.policy.id", d.PolicyID)
	a.String("writ.policy.name", d.PolicyName)
	if d.PolicyVersion > 0 {
		a.Int("writ.policy.version", int64(d.PolicyVersion))
	}
	a.String("writ.policy.rule", d.Rule)
	a.String("writ.plan.id", d.PlanID)
	a.String("writ.plan.step", d.Step)
	a.String("writ.approval.id", d.ApprovalID)
	a.String("writ.user.id", d.UserID)
	a.String("writ.environment", d.Environment)
	a.String("writ.source", d.Source)
	if d.Erased {
		a.Bool("writ.erased", true)
	}
	if content == None {
		return s
	}
	a.String("writ.reason", d.Reason)
	a.String("writ.user.email", d.Email)
	if d.Arguments != nil {
		a.String("gen_ai.tool.call.arguments", string(d.Arguments))
	}
	if s.Failed {
		s.Message = d.Reason
	}
	return s
}
