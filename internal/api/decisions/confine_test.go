package decisions_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/testserver"
)

// confining is a server whose policy allows the shell only confined.
type confining struct {
	*testserver.Org
	t *testing.T
}

const confiningRules = `
  - id: read
    effect: allow
    tools: ["*.Read"]
  - id: everything
    effect: allow
    tools: ["*.Bash", "*.shell"]
  - id: tests
    effect: allow
    tools: ["*.Bash"]
    confine: {write: [workspace, /srv/cache], read: [~/go], net: ["proxy.golang.org:443"]}
    otherwise: hold
  - id: narrower
    effect: allow
    tools: ["*.Bash"]
    when: args.command.contains("make")
    confine: {write: [workspace/out], net: none}
    otherwise: hold
  - id: never
    effect: allow
    tools: ["*.shell"]
    confine: {write: [workspace], net: none}
`

func eachConfining(t *testing.T, body func(t *testing.T, c confining)) {
	t.Helper()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		o.ActivePolicy(o.Owner, o.ID, "version: v1\nname: rules\nrules:"+confiningRules)
		body(t, confining{o, t})
	})
}

func (c confining) enforce(tool, command string, capabilities ...string) client.Decision {
	c.t.Helper()
	d, err := c.Agent.EnforceHarness(c.t.Context(), client.HarnessCall{
		ToolName: tool, Source: "armorclaude", ToolInput: json.RawMessage(testserver.JSON(c.t, m{"command": command})),
		Capabilities: capabilities,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return d
}

// payload is the newest decision's in the log.
func (c confining) payload() (payload m) {
	c.t.Helper()
	page, err := c.Owner.LogEntries(c.t.Context(), c.ID, client.LogFilter{Action: "call.decided"})
	if err != nil || len(page.Items) == 0 {
		c.t.Fatalf("%d entries, %v", len(page.Items), err)
	}
	if err := json.Unmarshal(page.Items[0].Payload, &payload); err != nil {
		c.t.Fatal(err)
	}
	return payload
}

func TestOnlyCallersThatCanConfineAreTold(t *testing.T) {
	t.Parallel()
	eachConfining(t, func(t *testing.T, c confining) {
		d := c.enforce("Bash", "go test ./...", client.CanConfine, "something new")
		want := &client.Confinement{
			Write: []string{"workspace", "/srv/cache"}, Read: []string{"~/go"}, Net: []string{"proxy.golang.org:443"},
		}
		if diff := cmp.Diff(want, d.Confine); !d.Allowed || d.Rule != "tests" || diff != "" {
			t.Errorf("a caller that can: %+v\n%s", d, diff)
		}
		p := c.payload()
		if judged := p["judged"].(m); judged["canConfine"] != true || p["confine"] == nil || p["demanded"] != nil {
			t.Errorf("the record says %v", p)
		}
		d = c.enforce("Bash", "make", client.CanConfine)
		want = &client.Confinement{Write: []string{"workspace/out"}, Protect: []string{"~/go"}}
		if !d.Allowed || !cmp.Equal(want, d.Confine) {
			t.Errorf("two rules: %+v, %+v", d, d.Confine)
		}
		if d = c.enforce("Read", "x", client.CanConfine); !d.Allowed || d.Confine != nil {
			t.Errorf("a plain allow: %+v", d)
		}
		for _, capabilities := range [][]string{nil, {}, {"Confine"}, {"confine "}, {"sandbox"}} {
			d = c.enforce("Bash", "go test ./...", capabilities...)
			if d.Allowed || d.Action != "hold" || d.Confine != nil || d.ApprovalID == "" ||
				!strings.Contains(d.Reason, "only confined") {
				t.Errorf("%q: %+v", capabilities, d)
			}
		}
		p = c.payload()
		if judged := p["judged"].(m); judged["canConfine"] != nil || p["confine"] != nil || p["demanded"] == nil {
			t.Errorf("the record of a caller that cannot says %v", p)
		}
		d = c.enforce("shell", "ls")
		if d.Allowed || d.Action != "deny" || d.Confine != nil || d.Rule != "never" ||
			!strings.Contains(d.Reason, "only confined") {
			t.Errorf("without a word on the others: %+v", d)
		}
	})
}

// TestCapabilitiesOfAnotherForm: published clients may send such a member for reasons of their own. It breaks
// nothing and means nothing.
func TestCapabilitiesOfAnotherForm(t *testing.T) {
	t.Parallel()
	eachConfining(t, func(t *testing.T, c confining) {
		many := make([]string, 40)
		many[39] = client.CanConfine
		for _, capabilities := range []any{
			nil, "confine", m{"confine": true}, 7, true, []any{"confine", 7}, []any{[]any{"confine"}}, many,
		} {
			for path, body := range map[string]m{
				"/iap/enforce":     {"tool_name": "Bash", "tool_input": m{"command": "ls"}},
				"/iap/sdk/enforce": {"tool": "Bash", "arguments": m{"command": "ls"}},
			} {
				body["capabilities"] = capabilities
				var d client.Decision
				if err := c.Agent.Call(t.Context(), http.MethodPost, path, nil, body, &d); err != nil {
					t.Fatalf("%s %v: %v", path, capabilities, err)
				}
				if d.Allowed || d.Confine != nil || strings.Contains(d.Reason, "cannot be read") {
					t.Errorf("%s %v: %+v", path, capabilities, d)
				}
			}
		}
	})
}

// TestNoOtherSurfaceConfines: whoever cannot state the capability is answered otherwise.
func TestNoOtherSurfaceConfines(t *testing.T) {
	t.Parallel()
	eachConfining(t, func(t *testing.T, c confining) {
		token := c.Declared(c.Agent.APIKey, client.PlanRequest{
			Plan:    json.RawMessage(`{"steps":[{"action":"Bash","mcp":"local","params":{"command":"make"}},{"action":"Read","mcp":"local"}]}`),
			AgentID: "claude-code", ExpiresIn: 600,
		})
		if got := token.PolicyValidation.AllowedTools; slices.Contains(got, "Bash") || !slices.Contains(got, "Read") {
			t.Errorf("an SDK may run %q by itself", got)
		}
		d, err := c.Agent.Enforce(t.Context(), client.PlannedCall{
			Tool: "Bash", Arguments: json.RawMessage(`{"command":"make"}`), IntentToken: token.JWT,
		})
		if err != nil || d.Allowed || d.Action != "hold" || d.Confine != nil {
			t.Errorf("enforce of SDKs: %+v, %v", d, err)
		}
		d, err = c.Agent.Enforce(t.Context(), client.PlannedCall{
			Tool: "Bash", Arguments: json.RawMessage(`{"command":"make"}`), IntentToken: token.JWT,
			Capabilities: []string{client.CanConfine},
		})
		if err != nil || !d.Allowed || d.Confine == nil {
			t.Errorf("enforce of SDKs, for one that can: %+v, %v", d, err)
		}
		can := []string{client.CanConfine}
		var step m
		if err := c.Public.Call(t.Context(), http.MethodPost, "/iap/verify-step", nil,
			m{"token": token.JWT, "tool_name": "Bash", "capabilities": can},
			&step); err != nil || step["allowed"] != false {
			t.Errorf("verify-step: %v, %v", step, err)
		}
		access, err := c.Agent.CheckAccess(t.Context(), "", client.ToolCall{
			Server: "claude-code", Tool: "Bash", Arguments: json.RawMessage(`{"command":"make"}`),
		})
		if err != nil || access.Allowed || access.Decision != "hold" || access.Confine != nil ||
			access.Explanation[0].Confine == nil {
			t.Errorf("check-access: %+v, %v", access, err)
		}
		var preflight m
		if err := c.Agent.Call(t.Context(), http.MethodPost, "/iap/sdk/preflight", nil, m{
			"tool_calls": []any{m{"name": "claude-code__shell", "input": m{"command": "ls"}}},
		}, &preflight); err != nil || !strings.Contains(testserver.JSON(t, preflight), "only confined") {
			t.Errorf("preflight: %v, %v", preflight, err)
		}
		var approved m
		if err := c.Agent.Call(t.Context(), http.MethodGet, "/delegation/check-approved",
			url.Values{"tool": {"Bash"}}, nil, &approved); err != nil || approved["approved"] != false {
			t.Errorf("check-approved: %v, %v", approved, err)
		}
		simulated, err := c.Owner.SimulatePolicy(t.Context(), c.ID, client.Simulation{
			YAML: "version: v1\nname: rules\nrules:" + confiningRules,
			Call: client.ToolCall{Server: "x", Tool: "shell", Arguments: json.RawMessage(`{}`), Capabilities: can},
		})
		if err != nil || !simulated.Allowed || simulated.Confine == nil {
			t.Errorf("a simulation of one that can: %+v, %v", simulated, err)
		}
	})
}

// TestAnApprovalLetsAnUnconfinedCallRun, once; and not that of a caller in another organization.
func TestAnApprovalLetsAnUnconfinedCallRun(t *testing.T) {
	t.Parallel()
	eachConfining(t, func(t *testing.T, c confining) {
		held := c.enforce("Bash", "go test ./...")
		if _, err := c.Owner.Approve(t.Context(), c.ID, client.Approval{ID: held.ApprovalID}); err != nil {
			t.Fatal(err)
		}
		stranger := c.Person("stranger")
		other := c.Organization(stranger, "Other")
		c.ActivePolicy(stranger, other, "version: v1\nname: rules\nrules:"+confiningRules)
		elsewhere := confining{&testserver.Org{
			Server: c.Server, Owner: stranger, ID: other, Agent: c.Public.WithKey(c.AgentKey(stranger, other).APIKey),
		}, t}
		if d := elsewhere.enforce("Bash", "go test ./..."); d.Allowed || d.ApprovalID == held.ApprovalID {
			t.Errorf("another organization: %+v", d)
		}
		if d := c.enforce("Bash", "go test ./...", client.CanConfine); !d.Allowed || d.Confine == nil ||
			d.ApprovalID != "" {
			t.Errorf("one that can confine needs no approval: %+v", d)
		}
		if d := c.enforce("Bash", "go test ./..."); !d.Allowed || d.DecidedBy != "writ:approval" || d.Confine != nil {
			t.Errorf("approved: %+v", d)
		}
		if d := c.enforce("Bash", "go test ./..."); d.Allowed {
			t.Errorf("approved once, used twice: %+v", d)
		}
	})
}

func (c confining) report(tool, command string, confined any, refused ...string) m {
	c.t.Helper()
	row := m{
		"tool": tool, "input": m{"command": command}, "status": "success", "executed_at": time.Now(), "output": command,
		"session_id": "s",
	}
	if confined != nil {
		row["confined"] = confined
	}
	if refused != nil {
		row["refused"] = refused
	}
	var answer m
	if err := c.Agent.Call(c.t.Context(), http.MethodPost, "/iap/audit", nil, row, &answer); err != nil {
		c.t.Fatal(err)
	}
	if err := c.Executions.Reconcile(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	return answer
}

func (c confining) findings(p *testserver.Person, orgID string) (kinds []string) {
	c.t.Helper()
	page, err := p.Findings(c.t.Context(), orgID, "", client.List{})
	if err != nil {
		c.t.Fatal(err)
	}
	for _, f := range page.Items {
		kinds = append(kinds, f.Kind)
	}
	return kinds
}

func TestReportsOfConfinedCalls(t *testing.T) {
	t.Parallel()
	const notConfined, refused = "execution_not_confined", "refused_by_kernel"
	held := []string{"write", "read", "net"}
	for name, r := range map[string]struct {
		confined any
		refused  []string
		want     []string
	}{
		"as demanded": {m{
			"write": []string{"workspace"}, "read": []string{"~/go/pkg"}, "net": "none", "held": held,
		}, nil, nil},
		"nothing said":     {nil, nil, []string{notConfined}},
		"wider writes":     {m{"write": []string{"/"}, "held": held}, nil, []string{notConfined}},
		"wider reads":      {m{"read": []string{"~"}, "held": held}, nil, []string{notConfined}},
		"another host":     {m{"net": []string{"evil.example:443"}, "held": held}, nil, []string{notConfined}},
		"not held":         {m{"write": []string{"workspace"}, "held": []string{"write"}}, nil, []string{notConfined}},
		"held by nobody":   {m{"write": []string{"workspace"}}, nil, []string{notConfined}},
		"a refusal":        {m{"held": held}, []string{"write /etc/passwd"}, []string{refused}},
		"both":             {nil, []string{"connect 1.2.3.4:443"}, []string{notConfined, refused}},
		"an empty refusal": {m{"held": held}, []string{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachConfining(t, func(t *testing.T, c confining) {
				if d := c.enforce("Bash", "go test ./...", client.CanConfine); !d.Allowed {
					t.Fatalf("%+v", d)
				}
				if answer := c.report("Bash", "go test ./...", r.confined,
					r.refused...); answer["iap_sync_status"] != "synced" {
					t.Fatalf("the report: %v", answer)
				}
				got := c.findings(c.Owner, c.ID)
				slices.Sort(got)
				if !slices.Equal(got, r.want) {
					t.Errorf("findings %q, want %q", got, r.want)
				}
				stranger := c.Person("stranger")
				if got := c.findings(stranger, c.Organization(stranger, "Other")); len(got) != 0 {
					t.Errorf("another organization sees %q", got)
				}
			})
		})
	}
}

// TestReportsOfOtherCallsNeedNoConfinement: a plain allow and an approved call, as old clients report them.
func TestReportsOfOtherCallsNeedNoConfinement(t *testing.T) {
	t.Parallel()
	eachConfining(t, func(t *testing.T, c confining) {
		if d := c.enforce("Read", "a"); !d.Allowed {
			t.Fatalf("%+v", d)
		}
		held := c.enforce("Bash", "go test ./...")
		if _, err := c.Owner.Approve(t.Context(), c.ID, client.Approval{ID: held.ApprovalID}); err != nil {
			t.Fatal(err)
		}
		if d := c.enforce("Bash", "go test ./..."); !d.Allowed {
			t.Fatalf("%+v", d)
		}
		c.report("Read", "a", nil)
		c.report("Bash", "go test ./...", nil)
		if got := c.findings(c.Owner, c.ID); len(got) != 0 {
			t.Errorf("findings %q", got)
		}
	})
}

func TestConfinementOfAnotherForm(t *testing.T) {
	t.Parallel()
	eachConfining(t, func(t *testing.T, c confining) {
		for want, confined := range map[string]any{
			"confined must be an object": "workspace",
			"confined.write[0]":          m{"write": []string{"src"}},
			"confined.read[1]":           m{"read": []string{"/usr", "/a/../b"}},
			"confined.net must be":       m{"net": "all"},
			"confined.net[0]":            m{"net": []string{"example.com"}},
			"confined.held[0]":           m{"held": []string{"everything"}},
			"confined.write: has":        m{"write": make([]string, 100)},
		} {
			answer := c.report("Bash", "x", confined)
			if text, _ := answer["error"].(string); answer["iap_sync_status"] != "failed" ||
				!strings.Contains(text, want) {
				t.Errorf("%v: %v, want an error about %q", confined, answer, want)
			}
		}
		var answer m
		if err := c.Agent.Call(t.Context(), http.MethodPost, "/iap/audit", nil,
			m{"tool": "Bash", "refused": "all"},
			&answer); err != nil || !strings.Contains(testserver.JSON(t, answer), "refused must be") {
			t.Errorf("refused: %v, %v", answer, err)
		}
		c.report("Bash", "x", nil, strings.Repeat("x", 5000), "token ghp_"+strings.Repeat("a", 36))
		page, err := c.Owner.LogEntries(t.Context(), c.ID, client.LogFilter{Action: "call.executed"})
		if err != nil || len(page.Items) != 1 || strings.Contains(string(page.Items[0].Payload), "ghp_") ||
			len(page.Items[0].Payload) > 3000 {
			t.Errorf("what is stored of refusals: %d, %v", len(page.Items), err)
		}
	})
}
