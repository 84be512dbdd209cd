package guard_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/client"
	"writ/internal/testserver"
)

type m = map[string]any

const (
	secretOfBank = "registered-s3cret"

	policyText = "version: v1\nname: bank\ndefault: deny\nrules:\n" +
		"  - {id: reads, effect: allow, tools: [\"bank.search\", \"open.search\"]}\n" +
		"  - {id: pays, effect: hold, tools: [\"bank.pay\"]}\n" +
		"  - {id: labelled, effect: hold, tools: [\"bank.pay\"], oblige: {labels: [\"money\"], max_bytes: 100}}\n"
)

// bank is an MCP server that asks for a secret.
type bank struct{ URL string }

func startBank(t *testing.T) *bank {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "bank", Version: "1"}, nil)
	for _, name := range []string{"search", "pay"} {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "found it"}}}, nil
			})
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	live := httptest.NewServer(handler)
	t.Cleanup(func() { live.CloseClientConnections(); live.Close() })
	return &bank{URL: live.URL + "/mcp"}
}

// house is an organization with a bank and a key.
type house struct {
	*testserver.Org
	T    *testing.T
	key  client.IssuedKey
	bank *bank
	id   string // of the bank
}

func newHouse(t *testing.T, s *testserver.Server) *house {
	t.Helper()
	owner := s.Person("owner")
	h := &house{Org: &testserver.Org{Server: s, Owner: owner, ID: s.Organization(owner, "House")}, T: t}
	h.key, h.bank = s.AgentKey(owner, h.ID), startBank(t)
	s.ActivePolicy(owner, h.ID, policyText)
	made, err := owner.RegisterMCPServer(t.Context(), h.ID, client.NewMCPServer{
		Name: "bank", URL: h.bank.URL, Auth: &client.MCPAuth{Type: "bearer", Token: secretOfBank},
	})
	if err != nil || made.Status != "approved" {
		t.Fatalf("register the bank: %+v, %v", made, err)
	}
	h.id = made.MCPID
	_, err = owner.RegisterMCPServer(t.Context(), h.ID, client.NewMCPServer{Name: "open", URL: h.bank.URL})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func each(t *testing.T, body func(t *testing.T, h *house)) {
	t.Helper()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) { body(t, newHouse(t, s)) },
		slices.Concat(testserver.PermitLoopback, testserver.AsProxied)...)
}

// ask sends a request as a proxy does, for an agent's key.
func (h *house) ask(method, path, key, body string, headers ...string) (int, m) {
	h.T.Helper()
	headers = append([]string{"Authorization", "Bearer " + testserver.ProxyToken, "Writ-On-Behalf-Of", key}, headers...)
	answer := h.Request(h.T, method, "/proxy/guard"+path, body, headers...)
	var members m
	if err := json.Unmarshal(answer.Body, &members); err != nil {
		h.T.Fatalf("%s %s: %d %s", method, path, answer.Status, answer.Body)
	}
	return answer.Status, members
}

// decide has a call decided for a key.
func (h *house) decide(key, server, tool string) m {
	h.T.Helper()
	status, d := h.ask("POST", "/decisions", key, testserver.JSON(h.T, m{
		"server": server, "tool": tool, "arguments": "{}", "proofRule": 2, "obliges": true,
	}))
	if status != http.StatusOK {
		h.T.Fatalf("decide: %d %v", status, d)
	}
	return d
}

func (h *house) secret(key, decision string) (int, m) {
	h.T.Helper()
	return h.ask("POST", "/decisions/"+decision+"/secret", key, "")
}

// released are the decisions for which the log says that a secret was given.
func (h *house) released() (decisions []string) {
	h.T.Helper()
	page, err := h.Owner.LogEntries(h.T.Context(), h.ID, client.LogFilter{Action: "mcp.secret_released"})
	if err != nil {
		h.T.Fatal(err)
	}
	for _, entry := range page.Items {
		var payload m
		if err := json.Unmarshal(entry.Payload, &payload); err != nil {
			h.T.Fatal(err)
		}
		if strings.Contains(string(entry.Payload), secretOfBank) {
			h.T.Error("the log holds the secret")
		}
		decisions = append(decisions, payload["decision"].(string))
	}
	return decisions
}

// TestTheSecretIsGivenOnce covers for whom, when, and how often.
func TestTheSecretIsGivenOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		key := h.key.APIKey
		d := h.decide(key, "bank", "search")
		id := d["decisionId"].(string)
		if d["decision"] != "allow" || d["receipt"] == nil || d["reportToken"] == "" {
			t.Fatalf("%v", d)
		}
		stranger := h.Person("stranger")
		foreign := h.AgentKey(stranger, h.Organization(stranger, "Elsewhere")).APIKey
		sibling := h.AgentKey(h.Owner, h.ID).APIKey
		for who, other := range map[string]string{"another organization": foreign, "another key": sibling} {
			if status, body := h.secret(other, id); status != http.StatusNotFound {
				t.Errorf("%s: %d %v", who, status, body)
			}
		}
		if status, body := h.secret("ak_test_none", id); status != http.StatusForbidden {
			t.Errorf("no key: %d %v", status, body)
		}
		status, body := h.secret(key, id)
		if status != http.StatusOK || testserver.JSON(t, body["headers"]) !=
			`[{"name":"Authorization","value":"Bearer `+secretOfBank+`"}]` {
			t.Fatalf("%d %v", status, body)
		}
		if status, body := h.secret(key, id); status != http.StatusConflict {
			t.Errorf("asked twice: %d %v", status, body)
		}
		if got := h.released(); !slices.Equal(got, []string{id}) {
			t.Errorf("the log has %v, want %s", got, id)
		}
		if status, body := h.secret(key, "01890000-0000-7000-8000-000000000000"); status != http.StatusNotFound {
			t.Errorf("no decision: %d %v", status, body)
		}
		if status, body := h.secret(key, "none"); status != http.StatusNotFound {
			t.Errorf("no id: %d %v", status, body)
		}
		open := h.decide(key, "open", "search")["decisionId"].(string)
		if status, body := h.secret(key, open); status != http.StatusNotFound {
			t.Errorf("a server without a secret: %d %v", status, body)
		}
	})
}

// TestTheSecretIsGivenForAFreshAllowAlone covers decisions that are none.
func TestTheSecretIsGivenForAFreshAllowAlone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		key := h.key.APIKey
		refused := func(what, decision string, want int) {
			t.Helper()
			if status, body := h.secret(key, decision); status != want || body["headers"] != nil {
				t.Errorf("%s: %d %v", what, status, body)
			}
		}
		held := h.decide(key, "bank", "pay")
		if held["decision"] != "hold" {
			t.Fatalf("%v", held)
		}
		refused("a hold", held["decisionId"].(string), http.StatusForbidden)
		refused("a deny", h.decide(key, "bank", "unlisted")["decisionId"].(string), http.StatusForbidden)

		old := h.decide(key, "bank", "search")["decisionId"].(string)
		h.Advance(2 * time.Minute)
		refused("an old allow", old, http.StatusForbidden)

		moved := h.decide(key, "bank", "search")["decisionId"].(string)
		if _, err := h.Owner.UpdateMCPServer(t.Context(), h.ID, h.id, m{"description": "another"}); err != nil {
			t.Fatal(err)
		}
		refused("a server that changed", moved, http.StatusConflict)

		stopped := h.decide(key, "bank", "search")["decisionId"].(string)
		if _, err := h.Owner.KillScope(t.Context(), h.ID, "key", h.key.ID, "it ran away", false); err != nil {
			t.Fatal(err)
		}
		refused("a stopped key", stopped, http.StatusForbidden)
		if got := h.released(); len(got) != 0 {
			t.Errorf("given for %v", got)
		}
	})
}

// TestOnlyTheProxyIsAnswered sends other tokens, and none.
func TestOnlyTheProxyIsAnswered(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		id := h.decide(h.key.APIKey, "bank", "search")["decisionId"].(string)
		for what, headers := range map[string][]string{
			"another token":        {"Authorization", "Bearer " + strings.Repeat("0123456789abcdef", 2)},
			"no token":             {},
			"the agent's key":      {"X-Api-Key", h.key.APIKey},
			"a person":             {"Authorization", "Bearer " + h.Owner.Tokens.AccessToken},
			"the token as a key":   {"X-Api-Key", testserver.ProxyToken},
			"an unfinished header": {"Authorization", "Bearer"},
		} {
			headers = append(headers, "Writ-On-Behalf-Of", h.key.APIKey)
			answer := h.Request(t, "POST", "/proxy/guard/decisions/"+id+"/secret", "", headers...)
			if answer.Status != http.StatusUnauthorized || strings.Contains(string(answer.Body), secretOfBank) {
				t.Errorf("%s: %d %s", what, answer.Status, answer.Body)
			}
		}
		// The token alone is nobody.
		for _, path := range []string{"/servers", "/route?server=bank", "/decisions/" + id + "/obligations"} {
			if status, body := h.ask("GET", path, "", ""); status != http.StatusForbidden {
				t.Errorf("%s for nobody: %d %v", path, status, body)
			}
		}
		if got := h.released(); len(got) != 0 {
			t.Errorf("given for %v", got)
		}
	})
}

// TestAnOutcomeIsReportedWithItsToken also covers a key that has ended since: what ran is recorded.
func TestAnOutcomeIsReportedWithItsToken(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		d := h.decide(h.key.APIKey, "bank", "search")
		other := h.decide(h.key.APIKey, "bank", "search")
		path := "/decisions/" + d["decisionId"].(string) + "/outcome"
		outcome := testserver.JSON(t, m{
			"server": "bank", "tool": "search", "step": -1, "arguments": "{}", "status": "success",
			"output": `{"content":[]}`, "at": time.Now().UTC(), "durationNs": 1000,
		})
		for what, token := range map[string]string{"none": "", "another's": other["reportToken"].(string)} {
			status, body := h.ask("POST", path, "", outcome, "Writ-Report-Token", token)
			if status != http.StatusNotFound {
				t.Errorf("%s: %d %v", what, status, body)
			}
		}
		token := d["reportToken"].(string)
		for what, wrong := range map[string]string{
			"status": strings.Replace(outcome, `"success"`, `"blocked"`, 1),
			"tool":   strings.Replace(outcome, `"search"`, `""`, 1),
		} {
			status, body := h.ask("POST", path, "", wrong, "Writ-Report-Token", token)
			if status != http.StatusBadRequest || !strings.Contains(body["message"].(string), what) {
				t.Errorf("%s: %d %v", what, status, body)
			}
		}
		if err := h.Owner.RevokeKey(t.Context(), h.key.ID); err != nil {
			t.Fatal(err)
		}
		status, body := h.ask("POST", path, "", outcome, "Writ-Report-Token", token)
		if status != http.StatusOK || body["executionId"] == "" {
			t.Fatalf("%d %v", status, body)
		}
		page, err := h.Owner.LogEntries(t.Context(), h.ID, client.LogFilter{Action: "call.executed"})
		if err != nil || len(page.Items) != 1 || !strings.Contains(string(page.Items[0].Payload), `"writ:proxy"`) {
			t.Errorf("%+v, %v", page.Items, err)
		}
		if status, _ := h.ask("POST", "/decisions", h.key.APIKey, `{"server":"bank","tool":"search"}`); status != 403 {
			t.Errorf("a key that has ended: %d", status)
		}
	})
}

// TestWhatAProxyAsks covers the routes that read.
func TestWhatAProxyAsks(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		key := h.key.APIKey
		_, who := h.ask("GET", "/caller", key, "")
		if who["keyId"] != h.key.ID || who["organizationId"] != h.ID || who["problem"] != nil ||
			who["stopped"] != false {
			t.Errorf("%v", who)
		}
		_, who = h.ask("GET", "/caller", "ak_test_none", "")
		if who["problem"] == nil || who["challenge"] == nil || who["keyId"] != nil {
			t.Errorf("%v", who)
		}
		_, listed := h.ask("GET", "/servers", key, "")
		text := testserver.JSON(t, listed)
		if strings.Count(text, `"mcpId"`) != 2 || strings.Contains(text, secretOfBank) {
			t.Errorf("%s", text)
		}
		_, route := h.ask("GET", "/route?server=bank&tool=search", key, "")
		if route["url"] != h.bank.URL || route["hasSecret"] != true {
			t.Errorf("%v", route)
		}
		stranger := h.Person("stranger")
		foreign := h.AgentKey(stranger, h.Organization(stranger, "Elsewhere")).APIKey
		if status, body := h.ask("GET", "/route?server=bank&tool=search", foreign, ""); status != http.StatusNotFound {
			t.Errorf("a route for another organization: %d %v", status, body)
		}
		if _, listed := h.ask("GET", "/servers", foreign, ""); len(listed["servers"].([]any)) != 0 {
			t.Errorf("another organization sees %v", listed)
		}
		held := h.decide(key, "bank", "pay")
		obligations := "/decisions/" + held["decisionId"].(string) + "/obligations"
		_, asked := h.ask("GET", obligations, key, "")
		if asked["decision"] != "hold" || asked["approvalId"] != held["approvalId"] || asked["maxBytes"] != 100.0 ||
			testserver.JSON(t, asked["labels"]) != `["money"]` {
			t.Errorf("%v", asked)
		}
		if status, body := h.ask("GET", obligations, foreign, ""); status != http.StatusNotFound {
			t.Errorf("obligations for another organization: %d %v", status, body)
		}
		approval := "/approvals/" + held["approvalId"].(string)
		if _, got := h.ask("GET", approval, key, ""); got["status"] != "pending" {
			t.Errorf("%v", got)
		}
		if status, body := h.ask("GET", approval, foreign, ""); status != http.StatusNotFound {
			t.Errorf("an approval of another organization: %d %v", status, body)
		}
	})
}

// TestNamesThatAreNone: what an agent sends as a server is not stored, and its refusal is recorded.
func TestNamesThatAreNone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		for what, name := range map[string]string{
			"a zero byte": "ba\x00nk",
			"a secret":    "password=sw0rdfish-of-the-bank",
			"a long name": strings.Repeat("x", 300_000),
		} {
			d := h.decide(h.key.APIKey, name, "search")
			if d["decision"] != "deny" || d["decisionId"] == nil {
				t.Errorf("%s: %.200v", what, d)
			}
		}
		var names []string
		rows, err := h.Database.Query(t.Context(), `SELECT server FROM proxy_decision`)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
		}
		if rows.Err() != nil || len(names) != 3 || strings.Join(names, "") != "" {
			t.Errorf("stored: %.200q, %v", names, rows.Err())
		}
	})
}
