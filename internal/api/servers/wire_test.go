package servers_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/testserver"
)

func startRedirect(t *testing.T, to string) string {
	server := httptest.NewServer(http.RedirectHandler(to, http.StatusTemporaryRedirect))
	t.Cleanup(server.Close)
	return server.URL
}

// TestWireOfClaude: the plugin proposes a server that it sees first, and writes the status of servers into
// its own gate.
func TestWireOfClaude(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		status, answer := w.Call("/mcp/auto-register", `{"mcpName":"newsrv","source":"armorclaude-autodetect"}`,
			w.Claude()...)
		if status >= 400 || answer["status"] != "pending" {
			t.Errorf("auto-register: %d %v", status, answer)
		}
		statusOf := func(name string) any {
			members := w.Members("servers", w.Request(t, "GET", "/mcp/servers", "", w.Claude()...))
			testserver.WantTypes(t, "servers", members, map[string]string{
				"servers[].mcpName": "text", "servers[].status": "text",
			})
			for _, s := range members["servers"].([]any) {
				if s.(m)["mcpName"] == name {
					return s.(m)["status"]
				}
			}
			return nil
		}
		if got := statusOf("newsrv"); got != "pending" {
			t.Errorf("the plugin reads %v, and would not ask", got)
		}
		for status, want := range map[string]string{"approved": "approved", "denied": "denied"} {
			if _, err := w.Owner.UpdateMCPServer(t.Context(), w.Org, "newsrv", m{
				"status": status, "reason": "r",
			}); err != nil {
				t.Fatal(err)
			}
			if got := statusOf("newsrv"); got != want {
				t.Errorf("the plugin reads %v, want %s", got, want)
			}
		}
		if got := statusOf("NewSrv"); got != nil {
			t.Errorf("names differ by case: %v", got)
		}
	})
}

// TestWireOfSDKs: the catalogue of servers, as both SDKs read it. What is pending or held is not in it.
func TestWireOfSDKs(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		ctx := t.Context()
		lists := func(text string) []byte {
			return []byte(testserver.JSON(t, m{"tools": []m{
				{"name": "pay", "description": text, "inputSchema": m{"type": "object"}},
				{"name": "balance", "description": "Reads.", "inputSchema": m{"type": "object"}},
			}}))
		}
		made, err := w.Owner.RegisterMCPServer(ctx, w.Org, client.NewMCPServer{
			Name: "My MCP/1", Transport: "stdio", Definition: lists("Pays."),
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Owner.UpdateMCPServer(ctx, w.Org, made.MCPID, m{"metadata": m{
			"toolMetadata": m{"pay": m{"isFinancial": true, "amountFields": []string{"amount"}, "amountUnit": "cents"}},
			"roleMapping":  m{"admin": "teller"},
		}}); err != nil {
			t.Fatal(err)
		}
		w.Call("/mcp/auto-register", `{"mcpName":"waits"}`, w.SDK()...)
		get := func(path string) m { return w.Members(path, w.Request(t, "GET", path, "", w.SDK()...)) }

		mine := get("/mcp/my-servers")
		testserver.WantTypes(t, "my-servers", mine, map[string]string{
			"data[].mcpId": "text", "data[].name": "text", "data[].url": "string",
		})
		if len(mine["data"].([]any)) != 1 {
			t.Errorf("a pending server is told: %v", mine)
		}
		tools := get("/mcp/tools/" + url.PathEscape("My MCP/1"))
		testserver.WantTypes(t, "tools", tools, map[string]string{
			"data.tools[].name": "text", "data.tools[].description": "text", "data.tools[].parameters": "object",
		})
		// The SDK for Python does not escape a slash.
		if unescaped := get("/mcp/tools/My%20MCP/1"); !cmp.Equal(unescaped, tools) {
			t.Errorf("asked without escaping: %v", unescaped)
		}
		get("/mcp/tool-metadata/My%20MCP/1")
		metadata := get("/mcp/tool-metadata/" + url.PathEscape("My MCP/1"))
		testserver.WantTypes(t, "tool-metadata", metadata, map[string]string{
			"data.mcpId": "text", "data.name": "text", "data.toolMetadata.pay.isFinancial": "bool",
			"data.toolMetadata.pay.amountFields": "texts", "data.toolMetadata.pay.amountUnit": "text",
			"data.toolMetadata.pay.currency": "absent", "data.roleMapping.admin": "text",
		})
		bootstrap := func() m {
			_, answer := w.Call("/iap/sdk/bootstrap", `{}`, w.SDK()...)
			testserver.WantTypes(t, "bootstrap", answer, map[string]string{"mcps[].name": "text", "toolMap": "object"})
			return answer
		}
		if got := bootstrap(); len(got["mcps"].([]any)) != 1 || got["toolMap"].(m)["pay"] != "My MCP/1" {
			t.Errorf("bootstrap: %v", got)
		}
		if _, err := w.Owner.ReportMCPServer(ctx, w.Org, made.MCPID, lists("Pays twice.")); err != nil {
			t.Fatal(err)
		}
		if got := bootstrap()["toolMap"].(m); got["pay"] != nil || got["balance"] != "My MCP/1" {
			t.Errorf("a held tool is in the map: %v", got)
		}
		if got := get("/mcp/tools/" + url.PathEscape("My MCP/1"))["data"].(m)["tools"].([]any); len(got) != 1 {
			t.Errorf("a held tool is in the catalogue: %v", got)
		}
		if answer := w.Request(t, "GET", "/mcp/tools/waits", "", w.SDK()...); answer.Status != 404 {
			t.Errorf("the tools of a pending server: %d", answer.Status)
		}
	})
}
