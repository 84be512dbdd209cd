package projection

import (
	"writ/internal/canonical"
	"writ/internal/decision"
	"writ/internal/telemetry"
)

// shadowSpans show what shadows would have decided, each beside the span of the decision
// and under a name of its own: the statistics of policies count only what decided.
func shadowSpans(names names, d *decision.Record) []telemetry.GrownSpan {
	var spans []telemetry.GrownSpan
	for i := range d.Shadows {
		s := &d.Shadows[i]
		spans = append(spans, telemetry.GrownSpan{
			ID: names.shadow(d, s.Policy), SessionID: ifID(d.SessionID), Kind: "policy_call", Name: "writ.shadow",
			Start: d.At, End: d.At, Attributes: shadowAttributes(d, s),
			PolicyID: telemetry.ShadowPrefix + s.Policy, Decision: s.Verdict,
			RuleID: telemetry.ShadowChange(s.Active, s.Verdict, s.Version),
		})
	}
	return spans
}

func shadowAttributes(d *decision.Record, s *decision.Shadow) string {
	o := canonical.NewObject(384)
	o.String("policyId", s.Policy)
	o.Integer("policyVersion", int64(s.Version))
	o.String("active", s.Active)
	o.Optional("decision", s.Verdict)
	o.Optional("decidedBy", s.DecidedBy)
	o.Optional("matchedRuleId", s.Rule)
	if s.Failed != 0 {
		o.Integer("failed", int64(s.Failed))
	}
	if s.Uncounted {
		o.Bool("uncounted", true)
	}
	o.Optional("problem", s.Problem)
	o.String("toolName", d.Tool)
	o.String("server", d.Server)
	o.String("decisionId", d.ID)
	o.Integer("auditIndex", d.Index)
	return textOf(o)
}
