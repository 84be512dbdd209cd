package proxy_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/client"
	"writ/internal/mcp/bridge"
	"writ/internal/testserver"
)

// sharedFolder is held by whoever runs files in the folder of the test.
var sharedFolder sync.Mutex

// filesystemOf is the command of server-filesystem from npm for a folder.
func filesystemOf(t *testing.T, folder string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "../../../scripts/mcp-servers").Output()
	if err != nil {
		t.Fatalf("install the MCP servers: %v", err)
	}
	return []string{"node", filepath.Join(strings.TrimSpace(string(out)),
		"node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"), folder}
}

// files runs a client through what server-filesystem has. The folder is in the same state before each run.
func files(t *testing.T, s *mcp.ClientSession, folder string) (lines []string) {
	t.Helper()
	note := func(what string, result any, err error) {
		text, failed := json.Marshal(result)
		if failed != nil {
			t.Fatal(failed)
		}
		lines = append(lines, fmt.Sprintf("%s: %s %v", what, text, err))
	}
	listed, err := s.ListTools(t.Context(), nil)
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
	at := func(name string) string { return filepath.Join(folder, name) }
	for _, c := range []struct {
		name string
		args m
	}{
		{"list_allowed_directories", m{}},
		{"write_file", m{"path": at("log.txt"), "content": "fine\nweather\n"}},
		{"read_text_file", m{"path": at("log.txt")}},
		{"read_text_file", m{"path": at("log.txt"), "head": 1}},
		{"edit_file", m{"path": at("log.txt"), "edits": []m{{"oldText": "fine", "newText": "foul"}}}},
		{"read_multiple_files", m{"paths": []string{at("log.txt"), at("none.txt")}}},
		{"create_directory", m{"path": at("cranes")}},
		{"list_directory", m{"path": folder}},
		{"directory_tree", m{"path": folder}},
		{"search_files", m{"path": folder, "pattern": "**/*.txt"}},
		{"move_file", m{"source": at("log.txt"), "destination": at("cranes/log.txt")}},
		{"read_text_file", m{"path": "/etc/passwd"}}, // outside: the server refuses it
		{"read_text_file", m{"path": 7}},             // of another type
	} {
		result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: c.name, Arguments: c.args})
		note("tools/call "+c.name, result, err)
	}
	return lines
}

// TestFilesystemThroughTheProxy compares a program that is reached directly with one behind a bridge and the proxy.
func TestFilesystemThroughTheProxy(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	fresh := func() {
		for _, name := range []string{"log.txt", "cranes"} {
			if err := os.RemoveAll(filepath.Join(folder, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	command := filesystemOf(t, folder)
	c := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"},
		&mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}) // without roots, which would set other folders
	program := exec.CommandContext(t.Context(), command[0], command[1:]...)
	s, err := c.Connect(t.Context(), &mcp.CommandTransport{Command: program}, nil)
	if err != nil {
		t.Fatal(err)
	}
	direct := files(t, s, folder)
	_ = s.Close()
	const token = "only-for-this-bridge"
	b := bridge.New(bridge.Options{Command: command, Token: token})
	served := httptest.NewServer(b)
	t.Cleanup(func() { served.CloseClientConnections(); served.Close(); b.Close() })
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		y := &yard{Org: &testserver.Org{Server: s, Owner: owner, ID: s.Organization(owner, "Harbour")}, T: t}
		y.reachedAt()
		y.key = s.AgentKey(owner, y.ID).APIKey
		s.ActivePolicy(owner, y.ID, permissive)
		made, err := owner.RegisterMCPServer(t.Context(), y.ID, client.NewMCPServer{
			Name: "files", URL: served.URL + "/mcp", Auth: &client.MCPAuth{Type: "bearer", Token: token},
		})
		if err != nil || made.Status != "approved" || made.ToolCount == 0 {
			t.Fatalf("register: %+v, %v", made, err)
		}
		v := y.all()
		v.url += "/files"
		v.options = &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}
		sharedFolder.Lock() // both databases use it
		defer sharedFolder.Unlock()
		fresh()
		proxied := files(t, v.connect(t), folder)
		if diff := cmp.Diff(direct, proxied); diff != "" {
			t.Errorf("direct and proxied differ:\n%s", diff)
		}
		if len(direct) != 14 || !strings.Contains(direct[3], "fine") || !strings.Contains(direct[12], "denied") {
			t.Errorf("the server did not do what it was asked: %v", direct)
		}
	}, proxied...)
}
