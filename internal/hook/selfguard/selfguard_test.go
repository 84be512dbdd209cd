package selfguard_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"writ/internal/hook/gemini"
	"writ/internal/hook/selfguard"
)

func guard() *selfguard.Guard {
	return &selfguard.Guard{
		Home: "/home/dev",
		Secrets: []string{
			"/home/dev/.config/writ", "/home/dev/.config/writ/guard.json", "/home/dev/.config/writ/credentials.json",
			"/home/dev/.local/state/writ",
		},
		Settings: []string{"/srv/more", "/home/dev/agent.yaml"},
		Programs: []string{"/opt/writ/writ", "/opt/writ/writ-client", "/opt/writ/writ-plan"},
		Real:     func(path string) string { return path },
		Exists:   func(string) bool { return false },

		Workspace: "/home/dev/project",
	}
}

func TestShell(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "shell.txt"))
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		want, command, found := strings.Cut(line, "\t")
		if !found {
			continue
		}
		counts[want]++
		command = strings.ReplaceAll(command, "⏎", "\n")
		reason := guard().CheckShell(command, "/home/dev/project")
		if got := map[bool]string{true: "ok", false: "deny"}[reason == ""]; got != want {
			t.Errorf("%s: %s, want %s (%s)", command, got, want, reason)
		}
	}
	if counts["deny"] < 80 || counts["ok"] < 60 {
		t.Errorf("the file has %v commands", counts)
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	mcp := &gemini.MCP{ServerName: "files", ToolName: "write"}
	mover := &gemini.MCP{ServerName: "files", ToolName: "move_file"}
	for _, c := range []struct {
		tool, input string
		mcp         *gemini.MCP
		denied      bool
	}{
		{"write_file", `{"file_path":"src/a.go","content":"package a"}`, nil, false},
		{"write_file", `{"file_path":"README.md","content":".gemini/settings.json"}`, nil, false},
		{"move_file", `{"from":"/home/dev/project","to":"/srv/old"}`, mover, true},
		{"move_file", `{"from":"a","to":"b"}`, mover, false},
		{"write_file", `{"file_path":".gemini/settings.json","content":"{}"}`, nil, true},
		{"write_file", `{"file_path":"./x/../.gemini/settings.json","content":"{}"}`, nil, true},
		{"write_file", `{"file_path":"/home/dev/.gemini/settings.json","content":"{}"}`, nil, true},
		{"write_file", `{"file_path":"~/.gemini/extensions/writ/gemini-extension.json","content":"{}"}`, nil, true},
		{"write_file", `{"file_path":"/home/dev/.gemini/tmp/p/plans/plan.md","content":""}`, nil, false},
		{"write_file", `{"file_path":"/srv/.gemini/tmp/settings.json","content":""}`, nil, true},
		{"write_file", `{"file_path":".GEMINI/settings.json","content":"{}"}`, nil, true},
		{"write_file", `{"file_path":".gem\u200cini/settings.json","content":"{}"}`, nil, true},
		{"write_file", `{"file_path":"file:///home/dev/%2egemini/settings.json","content":"{}"}`, nil, true},
		{"write_file", `{"file_path":"..\\.gemini\\settings.json","content":"{}"}`, nil, true},
		{"write_file", `{"file_path":"new dir/.gemini/settings.json","content":"{}"}`, nil, true},
		{"write_file", `{"file_path":".env","content":"WRIT_ENFORCE=monitor"}`, nil, true},
		{"write_file", `{"file_path":"sub/.env","content":""}`, nil, true},
		{"write_file", `{"file_path":".env.example","content":""}`, nil, false},
		{"write_file", `{"file_path":"GEMINI~1/settings.json","content":"{}"}`, nil, true},
		{"write_file", `{"file_path":"gemini~12\\SETTIN~1.JSO","content":"{}"}`, nil, true},
		{"write_file", `{"file_path":"GE3F0A~1/settings.json","content":"{}"}`, nil, true},
		{"write_file", `{"file_path":"sub/ENV~1","content":"BASH_ENV=x"}`, nil, true},
		{"write_file", `{"file_path":"/home/dev/CONFIG~1/writ/GUARD~1.JSO","content":""}`, nil, true},
		{"read_file", `{"file_path":"/home/dev/CONFIG~1/WRIT/CREDEN~1.JSO"}`, nil, true},
		{"write_file", `{"file_path":"/opt/writ/WRIT-C~1","content":""}`, nil, true},
		{"write_file", `{"file_path":"NOTES~1.TXT","content":""}`, nil, false},
		{"write_file", `{"file_path":"main.go~1","content":""}`, nil, false},
		{"write_file", `{"file_path":"/home/dev/.config/writ/guard.json","content":""}`, nil, true},
		{"write_file", `{"file_path":"/home/dev/.local/state/writ/x","content":""}`, nil, true},
		{"write_file", `{"file_path":"/opt/writ/writ-client","content":""}`, nil, true},
		{"write_file", `{"file_path":"/srv/more/deep","content":""}`, nil, true},
		{"write_file", `{"file_path":"/home/dev/agent.yaml","content":""}`, nil, true},
		{
			"write_file", `{"file_path":"/usr/lib/node_modules/@google/gemini-cli/bundle/gemini.js","content":""}`,
			nil, true,
		},
		{"write_file", `{"file_path":"/etc/gemini-cli/settings.json","content":""}`, nil, true},
		{"replace", `{"file_path":".gemini/settings.json","old_string":"a","new_string":"b"}`, nil, true},
		{"replace", `{"file_path":"a","old_string":".env","new_string":".gemini"}`, nil, false},
		{"replace", `{"file_path":"a","other":".gemini/settings.json"}`, nil, true},
		{"read_file", `{"absolute_path":"/home/dev/.gemini/settings.json"}`, nil, false},
		{"read_file", `{"file_path":".env"}`, nil, false},
		{"read_file", `{"file_path":"/home/dev/.config/writ/guard.json"}`, nil, true},
		{"read_file", `{"file_path":"../.config/writ/credentials.json"}`, nil, true},
		{"glob", `{"pattern":"**/*.go"}`, nil, false},
		{"glob", `{"pattern":"/home/dev/.config/writ/*"}`, nil, true},
		{"read_many_files", `{"paths":["src","/home/dev/.config/writ/guard.json"]}`, nil, true},
		{"read_many_files", `{"include":["/home/dev/.config/*/guard.json"]}`, nil, true},
		{"grep_search", `{"pattern":"ak_live","dir_path":"src"}`, nil, false},
		{"grep_search", `{"pattern":"ak_live","dir_path":"/home/dev"}`, nil, true},
		{"grep_search", `{"pattern":"ak_live","path":".."}`, nil, true},
		{"grep_search", `{"pattern":".env"}`, nil, false},
		{"grep_search", `{"pattern":"ak_live","x_dir":"src"}`, nil, false},
		{"list_directory", `{"path":"/home/dev"}`, nil, false},
		{"run_shell_command", `{"command":"go test ./..."}`, nil, false},
		{"run_shell_command", `{"command":"echo hi","description":"about .env"}`, nil, false},
		{"run_shell_command", `{"command":"rm settings.json","dir_path":"/home/dev/.gemini"}`, nil, true},
		{"run_shell_command", `{"command":"cat writ/guard.json","dir_path":"/home/dev/.config"}`, nil, true},
		{"run_shell_command", `{"command":["rm","-rf"]}`, nil, true},
		{"run_shell_command", `{}`, nil, true},
		{"write_todos", `{"todos":[{"description":"edit /home/dev/.gemini/settings.json"}]}`, nil, false},
		{"brand_new_tool", `{"target":"/home/dev/.gemini/settings.json"}`, nil, true},
		{"brand_new_tool", `{"deep":[{"er":["~/.gemini/settings.json"]}]}`, nil, true},
		{"brand_new_tool", `{"/home/dev/.gemini/settings.json":1}`, nil, true},
		{"mcp_files_write", `{"path":"/home/dev/project/a"}`, mcp, false},
		{"mcp_files_write", `{"path":"/home/dev/.gemini/settings.json"}`, mcp, true},
		{"mcp_files_write", `{"body":"see /home/dev/.gemini/settings.json for more"}`, mcp, false},
		{"mcp_files_write", `{"path":"/home/dev"}`, mcp, false},
		{"mcp_files_write", `{"path":"/home/dev/.config/a\\b/../writ/guard.json"}`, mcp, true},
		{"mcp_files_write", `{"path":"file:/home/dev/.config/writ/guard.json"}`, mcp, true},
		{"mcp_files_write", `{"path":"FILE:///home/dev/.gemini/settings.json"}`, mcp, true},
		{"mcp_files_write", `{"path":"file://127.0.0.1/home/dev/.gemini/settings.json"}`, mcp, true},
		{"mcp_files_write", `{"path":" /home/dev/.gemini/settings.json"}`, mcp, true},
		{"mcp_files_write", `{"q":"show me ~/.config/writ/guard.json please"}`, mcp, true},
		{"mcp_files_write", `{"q":"what is a writ, and what is in its folder?"}`, mcp, false},
		{"read_file", `{"file_path":"../.config/a\\b/../writ/guard.json"}`, nil, true},
		{"write_file", `{"file_path":"a\\b/../.env","content":""}`, nil, true},
		{"mcp_files_move_file", `{"source":"/home/dev/.config","destination":"/tmp/x"}`, mover, true},
		{"read_file", `{"file_path":"/home/dev/.gemini/settings.json"}`, mcp, true},
		{
			"mcp_term_go", `{"command":"echo {} > ~/.gemini/settings.json"}`,
			&gemini.MCP{ServerName: "term", ToolName: "go"}, true,
		},
		{
			"mcp_term_execute", `{"input":"writ approvals approve 1"}`,
			&gemini.MCP{ServerName: "term", ToolName: "execute"}, true,
		},
		{
			"mcp_term_spawn", `{"argv":["writ","approvals","approve","1"]}`,
			&gemini.MCP{ServerName: "term", ToolName: "spawn"}, true,
		},
	} {
		p := &gemini.Payload{
			CWD: "/home/dev/project", ToolName: c.tool, ToolInput: json.RawMessage(c.input), MCP: c.mcp,
		}
		if reason := guard().Check(p); (reason != "") != c.denied {
			t.Errorf("%s %s: %q", c.tool, c.input, reason)
		}
	}
}

// TestLinks: a link into a protected folder is as good as the folder.
func TestLinks(t *testing.T) {
	t.Parallel()
	g := guard()
	g.Real = func(path string) string { return strings.Replace(path, "/home/dev/project/c", "/home/dev/.config", 1) }
	p := &gemini.Payload{
		CWD: "/home/dev/project", ToolName: "write_file",
		ToolInput: json.RawMessage(`{"file_path":"c/writ/guard.json"}`),
	}
	up := &gemini.Payload{
		CWD: "/home/dev/project", ToolName: "mcp_files_read",
		ToolInput: json.RawMessage(`{"path":"c/writ/../writ/guard.json"}`),
		MCP:       &gemini.MCP{ServerName: "files", ToolName: "read"},
	}
	if g.Check(up) == "" {
		t.Error("a link is not followed before dots lead up")
	}
	at := &gemini.Payload{
		CWD: "/home/dev", ToolName: "grep_search", ToolInput: json.RawMessage(`{"pattern":"ak","x_dir":"project"}`),
	}
	if g.Check(at) == "" {
		t.Error("a member that the host does not know says where it searches")
	}
	if g.Check(p) == "" || g.CheckShell("cat c/writ/*", "/home/dev/project") == "" {
		t.Error("a link is not followed")
	}
}
