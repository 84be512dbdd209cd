package intent_test

import (
	"crypto/ed25519"
	"strings"
	"testing"
	"time"

	"writ/internal/intent"
	"writ/internal/intent/plan"
)

const policyPlan = `{"steps":[{"action":"policy_statement:deny-fetch","mcp":"armoriq-policy","description":"d","metadata":{"statement_id":"deny-fetch"}}],"metadata":{"goal":"ArmorIQ policy enforcement","policy_type":"crypto-bound"}}`

func (e *env) bind() intent.Bound {
	e.T.Helper()
	hour := 3600.0
	b, err := e.plans.Bind(e.T.Context(), intent.BindRequest{
		Plan: []byte(policyPlan), Policy: []byte(`{"global":{"metadata":{"version":1}}}`),
		Identity: []byte(`{"user_id":"claude-user"}`), ExpiresIn: &hour,
	})
	if err != nil {
		e.T.Fatal(err)
	}
	return b
}

func TestBind(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		m := e.mint(e.agent, request(twoSteps))
		e.bind() // the first makes the key
		before := e.everything()
		b := e.bind()
		if err := plan.VerifySignature(toJSON(t, b.Token)); err != nil || b.Token.Version != "policy-1" ||
			b.Token.ExpiresAt-b.Token.IssuedAt != 3600 {
			t.Errorf("token = %+v, %v", b.Token, err)
		}
		if b.Token.PublicKey == m.Token.PublicKey {
			t.Error("a policy binding is signed with the key of plans")
		}
		if len(b.StepProofs) != 1 || b.StepProofs[0].Path != "/steps/[0]/action" || b.IntentReference == "" {
			t.Errorf("bound = %+v", b)
		}
		if e.everything() != before {
			t.Error("a policy binding was stored")
		}
		// It is of no plan, whatever it is shown as.
		for name, p := range map[string]plan.Presented{
			"as it is":       plan.ParsePresented(toJSON(t, b)),
			"with a plan id": {PlanID: m.PlanID, Signature: b.Token.Signature},
		} {
			d, err := e.plans.FindByToken(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			if r := plan.Check(d, p, plan.Call{Tool: "policy_statement:deny-fetch"},
				plan.Binding{OrgID: e.acme, KeyID: e.agent.KeyID}, e.DB.Now()); r.OK {
				t.Errorf("%s: a policy binding authorizes a call", name)
			}
		}
		for name, r := range map[string]intent.BindRequest{
			"no plan": {}, "bad policy": {Plan: []byte(policyPlan), Policy: []byte(`1`)},
			"bad identity": {Plan: []byte(policyPlan), Identity: []byte(`{`)},
		} {
			if _, err := e.plans.Bind(t.Context(), r); err == nil {
				t.Errorf("%s: bound", name)
			}
		}
	})
}

func TestVerifyAction(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		b, m := e.bind(), e.mint(e.agent, request(twoSteps))
		elsewhere := newService(t, e.DB, 1) // with no memory
		action := intent.ActionRequest{
			Path:  "/steps/[0]/action",
			Value: []byte(`"policy_statement:deny-fetch"`),
			Proof: toJSON(t, b.StepProofs[0].Proof),
			Token: toJSON(t, b.Token),
		}
		planned := intent.ActionRequest{
			Path:  "/steps/[1]/action",
			Value: []byte(`"Bash"`),
			Proof: toJSON(t, m.StepProofs[1]),
			Token: toJSON(t, m.Token),
		}
		altered := b.Token
		altered.ExpiresAt++
		tests := []struct {
			name   string
			give   intent.ActionRequest
			change func(r *intent.ActionRequest)
			want   string // empty: allowed
		}{
			{"policy binding", action, func(*intent.ActionRequest) {}, ""},
			{"as tool", action, func(r *intent.ActionRequest) { r.Path = "/steps/[0]/tool" }, ""},
			{"in what it was issued in", action, func(r *intent.ActionRequest) { r.Token = toJSON(t, b) }, ""},
			{"proof as an object", action, func(r *intent.ActionRequest) { r.Proof = toJSON(t, b.StepProofs[0]) }, ""},
			{"plan", planned, func(*intent.ActionRequest) {}, ""},
			{
				"another value", action,
				func(r *intent.ActionRequest) { r.Value = []byte(`"policy_statement:allow"`) }, "proof",
			},
			{"another step", planned, func(r *intent.ActionRequest) { r.Path = "/steps/[0]/action" }, "proof"},
			{"another path", action, func(r *intent.ActionRequest) { r.Path = "/metadata/goal" }, "path"},
			{"no proof", action, func(r *intent.ActionRequest) { r.Proof = nil }, "proof"},
			{"odd proof", action, func(r *intent.ActionRequest) { r.Proof = []byte(`[1]`) }, "proof"},
			{"no value", action, func(r *intent.ActionRequest) { r.Value = nil }, "value"},
			{"altered token", action, func(r *intent.ActionRequest) { r.Token = toJSON(t, altered) }, "signature"},
			{"no token", action, func(r *intent.ActionRequest) { r.Token = nil }, "signature"},
			{
				"another server's token", action, func(r *intent.ActionRequest) { r.Token = foreignToken(t) },
				"not signed by this server",
			},
			{"another's proof", action, func(r *intent.ActionRequest) { r.Proof = planned.Proof }, "proof"},
		}
		for _, tt := range tests {
			tt.change(&tt.give)
			got, err := elsewhere.VerifyAction(t.Context(), tt.give)
			if err != nil || got.Allowed != (tt.want == "") || !strings.Contains(got.Reason, tt.want) ||
				got.Allowed != (got.NodeHash != "") {
				t.Errorf("%s: %+v, %v; want %q", tt.name, got, err, tt.want)
			}
		}
		if _, err := e.plans.SetStatus(t.Context(), e.agent, m.PlanID, plan.Completed); err != nil {
			t.Fatal(err)
		}
		if got, err := e.plans.VerifyAction(t.Context(), planned); err != nil || got.Allowed ||
			!strings.Contains(got.Reason, "ended") {
			t.Errorf("of an ended plan: %+v, %v", got, err)
		}
		e.Pass(time.Hour)
		if got, err := e.plans.VerifyAction(t.Context(), action); err != nil || got.Allowed ||
			!strings.Contains(got.Reason, "current") {
			t.Errorf("expired: %+v, %v", got, err)
		}
	})
}

// foreignToken is well signed, by a key that is not ours.
func foreignToken(t *testing.T) []byte {
	t.Helper()
	token, err := plan.Token{
		PlanHash:  "abc123",
		IssuedAt:  1_700_000_000,
		ExpiresAt: 99_999_999_999,
		Policy:    []byte(`{}`),
		Identity:  "x",
		Version:   plan.PolicyVersion,
	}.Sign(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	return toJSON(t, token)
}
