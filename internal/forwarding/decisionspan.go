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
		TraceID: traceBytes(traceID),
		ID:      spanBytes("decision " + spanID),
		Name:    "writ.decision " + content.name(d.Tool),
		Start:   d.At.Add(-d.Duration),
		End:     d.At,
		Failed:  d.Verdict == verdict.Deny,
	}
	a := &s.Attributes
	a.String("gen_ai.tool.name", content.name(d.Tool))
	a.String("gen_ai.agent.id", content.name(d.AgentID))
	a.String("gen_ai.conversation.id", content.name(d.SessionID))
	a.String("session.id", content.name(d.SessionID))
	a.String("writ.decision", d.Verdict.String())
	a.String("writ.decision.id", d.ID)
	a.Int("writ.log.index", d.Index)
	a.String("writ.tool.server", content.name(d.Server))
	a.String("writ.policy.id", content.name(d.PolicyID))
	a.String("writ.policy.name", content.name(d.PolicyName))
	if d.PolicyVersion > 0 {
		a.Int("writ.policy.version", int64(d.PolicyVersion))
	}
	a.String("writ.policy.rule", content.name(d.Rule))
	a.String("writ.plan.id", content.name(d.PlanID))
	a.String("writ.plan.step", content.name(d.Step))
	a.String("writ.approval.id", d.ApprovalID)
	a.String("writ.user.id", d.UserID)
	a.String("writ.environment", content.name(d.Environment))
	a.String("writ.source", content.name(d.Source))
	if d.Erased {
		a.Bool("writ.erased", true)
	}
	if content == None {
		return s
	}
	a.String("writ.reason", content.name(d.Reason))
	a.String("writ.user.email", d.Email)
	if d.Arguments != nil {
		a.String("gen_ai.tool.call.arguments", string(d.Arguments))
	}
	if s.Failed {
		s.Message = content.name(d.Reason)
	}
	return s
}
