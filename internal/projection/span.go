package projection

import (
	"writ/internal/canonical"
	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/telemetry"
	"writ/internal/verdict"
)

// span shows a decision.
func span(names names, d *decision.Record) telemetry.GrownSpan {
	return telemetry.GrownSpan{
		ID: names.span(d), SessionID: ifID(d.SessionID), Kind: "policy_call", Name: "writ." + d.Verdict.String(),
		Start: d.At.Add(-d.Duration), End: d.At, Denied: d.Verdict == verdict.Deny, Attributes: attributes(d),
		PolicyID: d.PolicyID, PolicyName: d.PolicyName, Decision: d.Verdict.String(), RuleID: d.Rule,
	}
}

// attributes are what a span says of a decision, in JSON, without its arguments.
func attributes(d *decision.Record) string {
	o := canonical.NewObject(512)
	o.String("policyId", d.PolicyID)
	o.String("policyName", d.PolicyName)
	if d.PolicyVersion != 0 {
		o.Integer("policyVersion", int64(d.PolicyVersion))
	}
	o.String("decision", d.Verdict.String())
	o.Optional("matchedRuleId", d.Rule)
	o.String("reason", d.Reason)
	o.String("toolName", d.Tool)
	o.String("server", d.Server)
	o.String("decisionId", d.ID)
	o.Integer("auditIndex", d.Index)
	o.Optional("planId", d.PlanID)
	o.Optional("step", d.Step)
	o.Optional("sessionId", d.SessionID)
	o.Optional("approvalId", d.ApprovalID)
	o.Integer("durationUs", d.Duration.Microseconds())
	return textOf(o)
}

func textOf(o *canonical.Object) string {
	text, err := o.Bytes()
	if err != nil {
		return "{}" // a text is not UTF-8; the columns say what counts
	}
	return string(text)
}

// ifID is the text if it is an id, which telemetry wants here.
func ifID(text string) string {
	if database.IsID(text) {
		return text
	}
	return ""
}
