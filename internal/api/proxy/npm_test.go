package proxy_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/client"
	"writ/internal/mcp/definition"
	"writ/internal/testserver"
)

// everything runs a client through what server-everything has.
func everything(t *testing.T, v visit) (lines []string) {
	t.Helper()
	h := &heard{}
	v.options = h.options()
	// The server lists some tools only for clients that can do all this, as the registry says that it can.
	v.options.Capabilities.Elicitation = &mcp.ElicitationCapabilities{
		Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{},
	}
	s := v.connect(t)
	ctx := t.Context()
	note := func(what string, result any, err error) {
		text, failed := json.Marshal(result)
		if failed != nil {
			t.Fatal(failed)
		}
		lines = append(lines, fmt.Sprintf("%s: %s %v", what, unscoped(text), err))
	}
	listed, err := s.ListTools(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	var tools []string
	for _, tool := range listed.Tools {
		tool.Meta, tool.Icons = nil, nil // no pin covers them
		tools = append(tools, testserver.JSON(t, tool))
	}
	slices.Sort(tools)
	note("tools/list", tools, nil)
	for _, c := range []struct {
		name string
		args m
	}{
		{"echo", m{"message": "ahoy"}},
		{"get-sum", m{"a": 2, "b": 40}},
		{"get-tiny-image", m{}},
		{"get-structured-content", m{"location": "Chicago"}},
		{"get-annotated-message", m{"messageType": "error", "includeImage": false}},
		{"get-resource-links", m{"count": 2}},
		{"trigger-sampling-request", m{"prompt": "how high", "maxTokens": 20}},
		{"trigger-long-running-operation", m{"duration": 1, "steps": 2}},
		{"get-roots-list", m{}},
		{"trigger-elicitation-request", m{}},
	} {
		params := &mcp.CallToolParams{Name: c.name, Arguments: c.args}
		if strings.Contains(c.name, "long") {
			params.SetProgressToken("mine")
		}
		result, err := s.CallTool(ctx, params)
		note("tools/call "+c.name, result, err)
	}
	prompts, err := s.ListPrompts(ctx, nil)
	note("prompts/list", prompts, err)
	prompt, err := s.GetPrompt(ctx, &mcp.GetPromptParams{Name: "simple-prompt"})
	note("prompts/get", prompt, err)
	resources, err := s.ListResources(ctx, nil)
	note("resources/list", resources, err)
	for _, resource := range resources.Resources[:min(2, len(resources.Resources))] {
		read, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: resource.URI})
		note("resources/read "+resource.URI, read, err)
	}
	templates, err := s.ListResourceTemplates(ctx, nil)
	note("resources/templates/list", templates, err)
	return append(lines, h.peek("progress")...)
}

// TestServerEverythingIsEqual runs the same client against server-everything and through the proxy, by each transport
// that the server can be reached by.
func TestServerEverythingIsEqual(t *testing.T) {
	t.Parallel()
	http, sse := testserver.StartEverything(t), testserver.StartEverythingSSE(t)
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		o := &testserver.Org{Server: s, Owner: owner, ID: s.Organization(owner, "Harbour")}
		y := &yard{Org: o, T: t, key: s.AgentKey(owner, o.ID).APIKey}
		y.reachedAt()
		s.ActivePolicy(owner, o.ID, permissive)
		for _, at := range []struct{ name, transport, url string }{
			{"yard", definition.HTTP, http}, {"old", definition.SSE, sse},
		} {
			made, err := owner.RegisterMCPServer(t.Context(), o.ID, client.NewMCPServer{
				Name: at.name, URL: at.url, Transport: at.transport,
			})
			if err != nil || made.ToolCount == 0 {
				t.Fatalf("register %s: %+v, %v", at.name, made, err)
			}
			direct := everything(t, visit{url: at.url, version: withSessions, sse: at.transport == definition.SSE})
			v := y.all()
			v.url += "/" + at.name
			if d := cmp.Diff(direct, everything(t, v)); d != "" {
				t.Errorf("%s: direct and proxied differ: %s", at.name, d)
			}
		}
	}, proxied...)
}
