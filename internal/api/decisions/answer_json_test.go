package decisions

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"writ/internal/api/policies"
	"writ/internal/audit/ledger"
	"writ/internal/verdict"
)

// A decision that writes itself is the JSON that the encoder would write: the same
// members with the same values.
func TestDecisionsWriteThemselves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body, matched := drawDecision(t), drawMatched(t)
		sdk, plugin := SDKDecisionBody{body, matched}, PluginDecisionBody{body, matched}
		compareJSON(t, sdk.text, sdk)
		compareJSON(t, plugin.text, plugin)
	})
}

func compareJSON(t *rapid.T, text func() ([]byte, error), body any) {
	got, err := text()
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	if g, w := canonicalOf(t, got), canonicalOf(t, want); g != w {
		t.Fatalf("got  %s\nwant %s", g, w)
	}
}

func canonicalOf(t *rapid.T, text jsontext.Value) string {
	if err := text.Canonicalize(); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return string(text)
}

func drawDecision(t *rapid.T) DecisionBody {
	text := rapid.String()
	b := DecisionBody{
		Allowed: rapid.Bool().Draw(t, "allowed"), Action: text.Draw(t, "action"),
		EnforcementAction: text.Draw(t, "enforcement action"),
		Decision: rapid.SampledFrom([]verdict.Verdict{verdict.Deny, verdict.Hold, verdict.Ask, verdict.Allow}).Draw(t,
			"decision"),
		Reason: text.Draw(t, "reason"), Message: text.Draw(t, "message"), DecidedBy: text.Draw(t, "decided by"),
		Rule:   text.Draw(t, "rule"),
		Server: text.Draw(t, "server"), PlanID: text.Draw(t, "plan"), DecisionID: text.Draw(t, "id"),
		ApprovalID: text.Draw(t, "approval"),
	}
	if rapid.Bool().Draw(t, "is confined") {
		list := rapid.SliceOfN(text, 0, 3)
		b.Confine = &policies.ConfineBody{
			Write: list.Draw(t, "write"), Read: list.Draw(t, "read"), Net: list.Draw(t, "net"),
			Protect: list.Draw(t, "protect"),
		}
	}
	if rapid.Bool().Draw(t, "has a step") {
		step := rapid.Int().Draw(t, "step")
		b.Step = &step
	}
	if rapid.Bool().Draw(t, "has approvers") {
		b.Approvers = &policies.ApproversBody{Role: text.Draw(t, "role"), Count: rapid.Int().Draw(t, "count")}
	}
	if rapid.Bool().Draw(t, "has a receipt") {
		b.Receipt = &ledger.Receipt{
			Log: text.Draw(t, "log"), Epoch: rapid.Int64().Draw(t, "epoch"), Index: rapid.Int64().Draw(t, "index"),
			Leaf:  drawHash(t),
			Proof: make([]ledger.Hash, rapid.IntRange(0, 3).Draw(t, "hashes")), Checkpoint: text.Draw(t, "checkpoint"),
		}
		for i := range b.Receipt.Proof {
			b.Receipt.Proof[i] = drawHash(t)
		}
	}
	return b
}

func drawHash(t *rapid.T) (h ledger.Hash) {
	copy(h[:], rapid.SliceOfN(rapid.Byte(), len(h), len(h)).Draw(t, "hash"))
	return h
}

func drawMatched(t *rapid.T) *policies.MatchedBody {
	if !rapid.Bool().Draw(t, "by a policy") {
		return nil
	}
	return &policies.MatchedBody{
		ID:      rapid.String().Draw(t, "policy"),
		Name:    rapid.String().Draw(t, "name"),
		Version: rapid.Int().Draw(t, "version"),
	}
}

// What cannot be told is an error, never half an answer.
func TestDecisionsRefuseInvalidText(t *testing.T) {
	if text, err := (SDKDecisionBody{
		DecisionBody: DecisionBody{Allowed: true, Reason: "\xff", Rule: "r"},
	}).text(); err == nil {
		t.Errorf("answer = %q", text)
	}
}
