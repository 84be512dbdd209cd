package cli_test

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"writ/client"
)

// delegate TOKENFILE KEYSFILE declares a plan with a new key, delegates a part of it, and keeps the answer and the
// server's published keys; DELEGATED is the delegation, PLAN the plan, and AGENT_KEY the key.
func delegate(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, !neg && len(args) == 2, "delegate TOKENFILE KEYSFILE")
	ctx, owner := context.Background(), server(ts)
	owner.AccessToken = strings.TrimSpace(ts.ReadFile("token"))
	organizations, err := owner.Organizations(ctx)
	ts.Check(err)
	made, err := owner.CreateKey(ctx, client.NewKey{Name: "agent", OrganizationID: organizations[0].ID})
	ts.Check(err)
	agent := server(ts)
	agent.APIKey = made.APIKey
	declared, err := agent.DeclarePlan(ctx, client.PlanRequest{
		Plan: json.RawMessage(`{"goal":"find it","steps":[{"mcp":"docs","action":"search"},{"mcp":"docs","action":"read"}]}`),
	})
	ts.Check(err)
	public, _, err := ed25519.GenerateKey(nil)
	ts.Check(err)
	var answer json.RawMessage
	ts.Check(agent.Call(ctx, "POST", "/iap/trust/delegate", nil, map[string]any{
		"token": declared.Token, "delegate_public_key": hex.EncodeToString(public), "target_agent": "helper",
		"allowed_actions": []string{"search"}, "validity_seconds": 600, "budget": 20,
	}, &answer))
	var named struct {
		ID string `json:"delegation_id"`
	}
	ts.Check(json.Unmarshal(answer, &named))
	keys, err := owner.PlanKeys(ctx)
	ts.Check(err)
	text, err := json.Marshal(keys)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), answer, 0o600))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), text, 0o600))
	ts.Setenv("DELEGATED", named.ID)
	ts.Setenv("PLAN", declared.PlanID)
	ts.Setenv("AGENT_KEY", made.APIKey)
}
