package forwarding

import (
	"writ/internal/decision"
	"writ/internal/forwarding/message"
	"writ/internal/projection"
	"writ/internal/verdict"
)

// decisionService is what decisions are a part of.
const decisionService = "writ"

// decisionSpan is a decision about a tool call. It stands in the trace in which Writ
// itself shows it. A denied call counts as failed, as it does in Writ. Its span has an
// id that no span of a client can have: one with the same could take its place at a
// receiver, and clients can compute the ids that Writ shows.
func decisionSpan(d *decision.Record, content Content) *message.Span {
	traceID, spanID := projection.IDs(d)
	s := &message.Span{
		TraceID: traceBytes(traceID), ID: spanBytes("decision " + spanID), Name: "writ.decision " + d.Tool,
		Start: d.At.Add(-d.Duration), End: d.At, Failed: d.Verdict == verdict.Deny,
	}
	a := &s.Attributes
	a.Text("gen_ai.tool.name", d.Tool)
	a.Text("gen_ai.agent.id", d.AgentID)
	a.Text("gen_ai.conversation.id", d.SessionID)
	a.Text("session.id", d.SessionID)
	a.Text("writ.decision", d.Verdict.String())
	a.Text("writ.decision.id", d.ID)
	a.Int("writ.log.index", d.Index)
	a.Text("writ.tool.server", d.Server)
	a.Text("writ.policy.id", d.PolicyID)
	a.Text("writ.policy.name", d.PolicyName)
	if d.PolicyVersion > 0 {
		a.Int("writ.policy.version", int64(d.PolicyVersion))
	}
	a.Text("writ.policy.rule", d.Rule)
	a.Text("writ.plan.id", d.PlanID)
	a.Text("writ.plan.step", d.Step)
	a.Text("writ.approval.id", d.ApprovalID)
	a.Text("writ.user.id", d.UserID)
	a.Text("writ.environment", d.Environment)
	a.Text("writ.source", d.Source)
	if d.Erased {
		a.Bool("writ.erased", true)
	}
	if content == None {
		return s
	}
	a.Text("writ.reason", d.Reason)
	a.Text("writ.user.email", d.Email)
	if d.Arguments != nil {
		a.Text("gen_ai.tool.call.arguments", string(d.Arguments))
	}
	if s.Failed {
		s.Message = d.Reason
	}
	return s
}
