package invoke_test

import (
	"cmp"
	"encoding/base64"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/testserver"
)

// TestRefusalsAreDecisions: whatever keeps a call from running is recorded, and nothing is sent.
func TestRefusalsAreDecisions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		e.Call("/mcp/auto-register", `{"mcpName":"waits","url":"`+e.bank.URL+`"}`, e.SDK()...)
		if _, err := e.Owner.RegisterMCPServer(ctx, e.Org, client.NewMCPServer{
			Name: "files", Transport: "stdio", Command: []string{"files"},
			Definition: []byte(`{"tools":[{"name":"search","inputSchema":{"type":"object"}}]}`),
		}); err != nil {
			t.Fatal(err)
		}
		plan := planOf("nowhere", "waits", "files")
		minted := e.Mint(plan)
		other := e.Mint(planOf("nowhere"))
		search := e.invocation(plan, minted, "search", m{})
		pay := e.invocation(plan, minted, "pay", m{})
		for _, c := range []struct {
			name, rule, reason string
			sent               invocation
		}{
			{"an unregistered server", "not_carried", "no MCP server of this name", search.with(m{"mcp": "nowhere"})},
			{"a proposed server", "not_carried", "must approve", search.with(m{"mcp": "waits"})},
			{"a program", "not_carried", "cannot reach", search.with(m{"mcp": "files"})},
			{"a tool that nobody listed", "not_carried", "no such tool", e.invocation(plan, minted, "unlisted", m{})},
			{"a tool outside the plan", "not_in_plan", "not in the plan", search.with(m{"tool": "b", "action": "b"})},
			{"no token", "no_plan", "no plan", search.with(m{"intent_token": nil})},
			{"a made-up token", "no_plan", "no plan", search.with(m{"intent_token": m{"plan_id": "7", "token": m{}}})},
			{"the token of another plan beside it", "not_genuine", "altered", search.with(m{"token": other["token"]})},
			{"another copy of it", "not_genuine", "altered", search.with(m{"csrg_token": other["token"]})},
			{"another one by another name", "not_genuine", "altered", search.with(m{"jwt_token": other["jwt_token"]})},
			{"no token beside it", "not_genuine", "altered", search.with(m{"token": "garbage"})},
			{"no proof", "bad_proof", "must prove its step", search.header("X-CSRG-Proof", "")},
			{"no path", "bad_proof", "must prove its step", search.header("X-CSRG-Path", "")},
			{"another path", "bad_proof", "does not lead", search.header("X-CSRG-Path", "/steps/[1]/action")},
			{"another digest", "bad_proof", "does not lead", search.header("X-CSRG-Value-Digest", "00")},
			{"a proof that is none", "bad_proof", "does not lead", search.header("X-CSRG-Proof", "[[[")},
			{"the proof of another step", "bad_proof", "another step", invocation{pay.headers, search.body}},
			{"a part of a plan", "not_held", "was not delegated", search.header("X-CSRG-Subtree-Path", "/steps/[0]")},
		} {
			before := len(e.entries("call.decided"))
			answer, body := e.send(c.sent)
			if answer.Status != 403 || body["enforcement"] == nil {
				t.Errorf("%s: %d %s", c.name, answer.Status, answer.Body)
				continue
			}
			said := body["enforcement"].(m)
			if said["action"] != "block" || said["rule"] != c.rule ||
				!strings.Contains(said["reason"].(string), c.reason) {
				t.Errorf("%s: %v, want %s: %s", c.name, said, c.rule, c.reason)
			}
			if after := len(e.entries("call.decided")); after != before+1 || body["decisionId"] == nil {
				t.Errorf("%s: %d decisions more", c.name, after-before)
			}
		}
		for _, tool := range tools {
			if n, _ := e.bank.ran(tool); n != 0 {
				t.Errorf("%s ran %d times", tool, n)
			}
		}
	})
}

// TestOtherOrganizations: neither a server nor a plan of another organization is of any use.
func TestOtherOrganizations(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		plan := planOf()
		stolen := e.invocation(plan, e.Mint(plan), "search", m{})
		other := &env{bank: e.bank, at: e.at}
		other.Published = &testserver.Published{Server: e.Server, T: t, Owner: e.Person("mallory")}
		other.Org = e.Organization(other.Owner, "Elsewhere")
		e.ActivePolicy(other.Owner, other.Org, policyText)
		other.Key = e.KeyFor(other.Owner.ID, other.Org).Secret.Reveal()
		answer, body := other.send(stolen)
		if answer.Status != 403 || body["enforcement"].(m)["rule"] != "no_plan" {
			t.Errorf("a plan of another organization: %d %s", answer.Status, answer.Body)
		}
		answer, body = other.send(other.invocation(plan, other.Mint(plan), "search", m{}))
		if answer.Status != 403 || body["enforcement"].(m)["rule"] != "not_carried" {
			t.Errorf("a server of another organization: %d %s", answer.Status, answer.Body)
		}
		if n, _ := e.bank.ran("search"); n != 0 {
			t.Errorf("search ran %d times", n)
		}
	})
}

// TestEndedPlan: the SDKs are told that their token is of no use any more.
func TestEndedPlan(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		plan := planOf()
		minted := e.Mint(plan)
		search := e.invocation(plan, minted, "search", m{})
		if status, body := e.Call("/iap/plans/"+minted["plan_id"].(string)+"/status", `{"status":"failed"}`,
			e.SDK()...); status >= 400 {
			t.Fatalf("end the plan: %d %v", status, body)
		}
		answer, body := e.send(search)
		if answer.Status != 401 || answer.Header.Get("X-Armoriq-Revoked") != "true" || body["enforcement"] != nil {
			t.Errorf("%d %v %s", answer.Status, answer.Header, answer.Body)
		}
		if decided := e.entries("call.decided"); len(decided) != 1 {
			t.Errorf("%d decisions, want 1", len(decided))
		}
	})
}

// TestUnreadableCalls: what cannot be read is refused in the one shape of errors, and names its field.
func TestUnreadableCalls(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		plan := planOf()
		search := e.invocation(plan, e.Mint(plan), "search", m{})
		for name, c := range map[string]struct {
			sent  invocation
			field string
		}{
			"no server":          {search.with(m{"mcp": ""}), "mcp"},
			"no tool":            {search.with(m{"tool": nil, "action": nil}), "tool"},
			"two tools":          {search.with(m{"action": "pay"}), "action"},
			"what is no tool":    {search.with(m{"tool": "mcp:wipe", "action": "mcp:wipe"}), "tool"},
			"the same as action": {search.with(m{"tool": nil, "action": "mcp:wipe"}), "tool"},
			"two arguments":      {search.with(m{"params": m{"q": 1}}), "params"},
			"bad credentials":    {search.header("X-Armoriq-MCP-Auth", "%%"), "X-Armoriq-MCP-Auth"},
			"a foreign header": {search.header("X-Armoriq-MCP-Auth", base64.StdEncoding.EncodeToString(
				[]byte(`{"authType":"api_key","apiKey":"s3cret","headerName":"Host"}`))), "X-Armoriq-MCP-Auth"},
		} {
			answer, body := e.send(c.sent)
			if answer.Status != 400 || !strings.Contains(testserver.JSON(t, body["details"]), c.field) ||
				strings.Contains(string(answer.Body), "s3cret") {
				t.Errorf("%s: %d %s", name, answer.Status, answer.Body)
			}
		}
		for name, text := range map[string]string{
			"no JSON": "{", "a list": "[]", "a member twice": `{"tool":"search","tool":"pay","mcp":"bank"}`,
			"bad UTF-8": "{\"tool\":\"\xff\"}", "a number": `{"tool":1}`,
		} {
			if answer := e.Request(t, "POST", "/invoke", text, e.SDK()...); answer.Status != 400 {
				t.Errorf("%s: %d %s", name, answer.Status, answer.Body)
			}
		}
		if answer := e.Request(t, "POST", "/invoke", "{}"); answer.Status != 401 {
			t.Errorf("without a key: %d", answer.Status)
		}
	})
}

// TestCallersChooseNoHeader: a caller's own key goes into the header that people have registered, or the usual one.
func TestCallersChooseNoHeader(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		made, err := e.Owner.RegisterMCPServer(t.Context(), e.Org, client.NewMCPServer{
			Name: "nowhere", URL: e.bank.URL,
			Auth: &client.MCPAuth{Type: "api_key", HeaderName: "X-Bank-Key", APIKey: "k"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Owner.UpdateMCPServer(t.Context(), e.Org, made.MCPID, m{
			"metadata": m{"callerCredentials": true},
		}); err != nil {
			t.Fatal(err)
		}
		plan := `{"goal":"agent task","steps":[{"action":"search","mcp":"nowhere","params":{}}]}`
		search := e.invocation(plan, e.Mint(plan), "search", m{}).with(m{"mcp": "nowhere"})
		for _, c := range []struct {
			header string
			status int
		}{
			{"", 200}, {"X-API-Key", 200}, {"x-bank-key", 200}, {"X-Forwarded-User", 403},
			{"mcp-name", 400}, {"Mcp_Method", 400}, {"Idempotency-Key", 400}, {"x-idempotency-key", 400},
		} {
			before, _ := e.bank.ran("search")
			answer, body := e.send(search.header("X-Armoriq-MCP-Auth", base64.StdEncoding.EncodeToString(
				[]byte(`{"authType":"api_key","apiKey":"callers","headerName":"`+c.header+`"}`))))
			after, _ := e.bank.ran("search")
			if answer.Status != c.status || (after != before) != (c.status == 200) {
				t.Errorf("%q: %d %s, ran %d times", c.header, answer.Status, answer.Body, after-before)
				continue
			}
			if name := cmp.Or(c.header, "X-API-Key"); c.status == 200 && e.bank.header(name) != "callers" {
				t.Errorf("%q: the server got %q", name, e.bank.header(name))
			}
			if c.status == 403 && body["enforcement"].(m)["rule"] != "not_carried" {
				t.Errorf("%q: %s", c.header, answer.Body)
			}
		}
	})
}

// TestCallerCredentials: they count only where the server is registered so, and are stored nowhere.
func TestCallerCredentials(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		plan := planOf()
		own := base64.StdEncoding.EncodeToString([]byte(`{"authType":"bearer","token":"callers-s3cret"}`))
		search := e.invocation(plan, e.Mint(plan), "search", m{}).header("X-Armoriq-MCP-Auth", own)
		for _, c := range []struct {
			counts bool
			want   string
		}{{false, "Bearer registered-s3cret"}, {true, "Bearer callers-s3cret"}} {
			if _, err := e.Owner.UpdateMCPServer(t.Context(), e.Org, e.id, m{
				"metadata": m{"callerCredentials": c.counts},
			}); err != nil {
				t.Fatal(err)
			}
			if answer, _ := e.send(search); answer.Status != 200 {
				t.Fatalf("%d %s", answer.Status, answer.Body)
			}
			if got := e.bank.header("Authorization"); got != c.want {
				t.Errorf("the server was called with %q, want %q", got, c.want)
			}
			if got := e.bank.header("X-Armoriq-MCP-Auth"); got != "" {
				t.Errorf("the header was forwarded: %q", got)
			}
		}
		for _, stored := range e.Dump() {
			if strings.Contains(stored, "callers-s3cret") || strings.Contains(stored, own) {
				t.Errorf("the caller's secret is stored: %.200s", stored)
			}
		}
	})
}
