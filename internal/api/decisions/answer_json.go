package decisions

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/api/policies"
	"writ/internal/canonical"
	"writ/internal/intent/grounding"
)

// The answers to calls are written by hand: an agent waits for each of them, and
// encoding by reflection costs as much as judging the call. What is written is what
// the members' tags say, and a test compares.

// answerSize is enough for most answers with their receipt.
const answerSize = 3 << 10

func (b SDKDecisionBody) text() ([]byte, error) {
	o := canonical.NewObject(answerSize)
	b.write(o)
	writeMatched(o, b.MatchedPolicy, "matchedPolicy")
	return o.Bytes()
}

func (b PluginDecisionBody) text() ([]byte, error) {
	o := canonical.NewObject(answerSize)
	b.write(o)
	writeMatched(o, b.MatchedPolicy, "matched_policy")
	return o.Bytes()
}

func (b *DecisionBody) write(o *canonical.Object) {
	o.Bool("allowed", b.Allowed)
	o.String("action", b.Action)
	o.String("enforcementAction", b.EnforcementAction)
	o.String("decision", b.Decision.String())
	o.String("reason", b.Reason)
	o.Optional("message", b.Message)
	o.Optional("decidedBy", b.DecidedBy)
	o.Optional("rule", b.Rule)
	o.Optional("server", b.Server)
	o.Optional("planId", b.PlanID)
	if b.Step != nil {
		o.Integer("step", int64(*b.Step))
	}
	o.Optional("decisionId", b.DecisionID)
	o.Optional("approvalId", b.ApprovalID)
	if b.Approvers != nil {
		o.Begin("approvers")
		o.String("role", b.Approvers.Role)
		o.Integer("count", int64(b.Approvers.Count))
		o.End()
	}
	if b.Confine != nil {
		o.Begin("confine")
		o.Texts("write", b.Confine.Write)
		o.Texts("read", b.Confine.Read)
		o.Texts("net", b.Confine.Net)
		o.Texts("protect", b.Confine.Protect)
		o.End()
	}
	if b.Oblige != nil {
		o.Begin("oblige")
		o.Texts("redact", b.Oblige.Redact)
		o.Texts("labels", b.Oblige.Labels)
		if b.Oblige.MaxBytes > 0 {
			o.Integer("max_bytes", b.Oblige.MaxBytes)
		}
		o.End()
	}
	if len(b.Grounding) > 0 {
		o.Value("grounding", func(out []byte) []byte { return appendGrounding(out, b.Grounding) })
	}
	if b.Session != nil {
		o.Begin("session")
		o.Integer("turn", b.Session.Turn)
		o.Bool("monitorAllowed", b.Session.MonitorAllowed)
		o.End()
	}
	if b.Receipt != nil {
		b.Receipt.Write(o, "receipt")
	}
}

// appendGrounding writes the arguments in doubt. Few calls have any, so that encoding by reflection does.
func appendGrounding(out []byte, doubts []grounding.Reason) []byte {
	text, err := json.Marshal(doubts, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return append(out, "[]"...) // texts alone can always be written
	}
	return append(out, text...)
}

// writeMatched writes the policy that decided, or null.
func writeMatched(o *canonical.Object, b *policies.MatchedBody, name string) {
	if b == nil {
		o.Null(name)
		return
	}
	o.Begin(name)
	o.String("id", b.ID)
	o.String("name", b.Name)
	o.Integer("version", int64(b.Version))
	o.End()
}
