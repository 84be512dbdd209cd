package connections_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/testserver"
)

// decide has a call decided as a proxy apart does.
func (n *near) decide(own bool) m {
	n.t.Helper()
	answer := n.Request(n.t, http.MethodPost, "/proxy/guard/decisions", testserver.JSON(n.t, m{
		"server": "harbour", "tool": "moor", "arguments": "{}", "proofRule": 2, "ownCredentials": own,
	}), "Authorization", "Bearer "+testserver.ProxyToken, "Writ-On-Behalf-Of", n.key)
	var d m
	if err := json.Unmarshal(answer.Body, &d); err != nil || answer.Status != http.StatusOK {
		n.t.Fatalf("decide: %d %s", answer.Status, answer.Body)
	}
	return d
}

// TestOwnCredentialsStandForNoConsent: that a caller may bring credentials is no consent of a person who brings none.
func TestOwnCredentialsStandForNoConsent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, n *near) {
		c := n.connect()
		_, err := n.owner.UpdateMCPServer(t.Context(), n.org, n.mcpID, m{"metadata": m{"callerCredentials": true}})
		if err != nil {
			t.Fatal(err)
		}
		if d := n.decide(false); d["decision"] != "allow" {
			t.Fatalf("with the consent: %v", d)
		}
		if err := n.end(n.owner, c.ID); err != nil {
			t.Fatal(err)
		}
		if d := n.decide(false); d["decision"] != "deny" || !strings.Contains(d["reason"].(string), "consent") {
			t.Errorf("the consent has ended: %v", d)
		}
		if d := n.decide(true); d["decision"] != "allow" {
			t.Errorf("with credentials of its own: %v", d)
		}
	})
}

// TestATokenIsForOneCall: a proxy apart keeps no session that is open with a person's token, and tells the server that
// a token was refused.
func TestATokenIsForOneCall(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, n *near) {
		proxy := testserver.StartProxy(t, "http://"+n.Address, permits...)
		at := "http://" + proxy.Address
		c := n.connect()
		s, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(t.Context(),
			&mcp.StreamableClientTransport{
				Endpoint:   at + "/proxy/mcp/harbour",
				HTTPClient: &http.Client{Transport: withKey(n.key)},
				MaxRetries: -1,
			}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		moor := func() bool {
			result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "moor", Arguments: m{}})
			return err == nil && !result.IsError
		}
		for range 2 {
			if !moor() {
				t.Fatal("a call in the person's name failed")
			}
			testserver.Soon(t, "the session with the server ends with its call",
				func() bool { return n.far.Gateway.Sessions() == 0 })
		}
		// The far server ends the token, and the near one does not know: the proxy says so with the outcome.
		n.far.Advance(11 * time.Minute)
		if moor() {
			t.Error("a token that has ended is good")
		}
		if !moor() {
			t.Error("the token after one that was refused is refused")
		}
		if err := n.end(n.owner, c.ID); err != nil {
			t.Fatal(err)
		}
		testserver.Soon(t, "nothing is open", func() bool { return n.far.Gateway.Sessions() == 0 })
		if _, err := s.ListPrompts(t.Context(), nil); err != nil {
			t.Errorf("the registry knows its prompts: %v", err)
		}
		if moor() || n.far.Gateway.Sessions() != 0 || n.far.calls() != 3 {
			t.Errorf("when the consent has ended: %d calls, %d sessions", n.far.calls(), n.far.Gateway.Sessions())
		}
	})
}
