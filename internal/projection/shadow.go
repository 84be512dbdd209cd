package projection

import (
	"github.com/go-json-experiment/json"

	"writ/internal/decision"
	"writ/internal/telemetry"
)

// shadowAttributes are what a span tells of a shadow's answer.
type shadowAttributes struct {
	PolicyID      string `json:"policyId"`
	PolicyVersion int    `json:"policyVersion"`
	Active        string `json:"active"`
	Decision      string `json:"decision,omitzero"`
	DecidedBy     string `json:"decidedBy,omitzero"`
	MatchedRuleID string `json:"matchedRuleId,omitzero"`
	Failed        int    `json:"failed,omitzero"`
	Uncounted     bool   `json:"uncounted,omitzero"`
	Problem       string `json:"problem,omitzero"`
	ToolName      string `json:"toolName"`
	Server        string `json:"server"`
	DecisionID    string `json:"decisionId"`
	AuditIndex    int64  `json:"auditIndex"`
}

// shadowSpans are what shadows would have said, each a span beside that of the
// decision. They stand under a name of their own, so that the figures of policies
// that decided are not touched by what decided nothing.
func shadowSpans(names names, d *decision.Record) []telemetry.GrownSpan {
	var spans []telemetry.GrownSpan
	for _, s := range d.Shadows {
		text, err := json.Marshal(shadowAttributes{
			PolicyID:      s.Policy,
			PolicyVersion: s.Version,
			Active:        s.Active,
			Decision:      s.Verdict,
			DecidedBy:     s.DecidedBy,
			MatchedRuleID: s.Rule,
			Failed:        s.Failed,
			Uncounted:     s.Uncounted,
			Problem:       s.Problem,
			ToolName:      d.Tool,
			Server:        d.Server,
			DecisionID:    d.ID,
			AuditIndex:    d.Index,
		})
		if err != nil {
			text = []byte("{}") // a text that is no UTF-8; the columns tell what counts
		}
		spans = append(spans, telemetry.GrownSpan{
			ID: names.shadow(d, s.Policy), SessionID: ifID(d.SessionID), Kind: "policy_call", Name: "writ.shadow",
			Start: d.At, End: d.At, Attributes: string(text),
			PolicyID: telemetry.ShadowPrefix + s.Policy, Decision: s.Verdict,
			RuleID: telemetry.ShadowChange(s.Active, s.Verdict),
		})
	}
	return spans
}
