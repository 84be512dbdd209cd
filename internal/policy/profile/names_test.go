package profile_test

import (
	"strings"
	"testing"

	"writ/internal/verdict"
)

// theSame are the names under which agents have one tool.
var theSame = map[string]string{
	"Bash":            "claude-code.Bash gemini-cli.run_shell_command codex.shell codex.exec_command codex.shell_command codex.local_shell copilot.bash local.Bash",
	"Read":            "claude-code.Read gemini-cli.read_file gemini-cli.read_many_files codex.view_image",
	"Write":           "claude-code.Write gemini-cli.write_file copilot.create",
	"Edit":            "claude-code.Edit gemini-cli.replace gemini-cli.edit",
	"Grep":            "claude-code.Grep gemini-cli.grep_search gemini-cli.search_file_content codex.grep_files",
	"Glob":            "claude-code.Glob gemini-cli.glob gemini-cli.list_directory codex.list_dir",
	"WebFetch":        "claude-code.WebFetch gemini-cli.web_fetch",
	"WebSearch":       "claude-code.WebSearch gemini-cli.google_web_search codex.web_search",
	"Agent":           "claude-code.Agent claude-code.Task gemini-cli.invoke_agent",
	"Skill":           "claude-code.Skill gemini-cli.activate_skill",
	"TodoWrite":       "claude-code.TodoWrite gemini-cli.write_todos codex.update_plan",
	"AskUserQuestion": "claude-code.AskUserQuestion gemini-cli.ask_user",
}

// TestOneToolUnderAllItsNames: a rule about a tool decides about the same tool of
// every agent, whichever of its names the rule uses.
func TestOneToolUnderAllItsNames(t *testing.T) {
	t.Parallel()
	for _, names := range theSame {
		calls := strings.Fields(names)
		for _, written := range calls {
			_, name, _ := strings.Cut(written, ".")
			action := `{"type":"tool","eq":"` + name + `"}`
			permits := judge(t, parse(t, profileText("deny", statement("s", "permit", action))))
			forbids := judge(t, parse(t, profileText("allow", statement("s", "forbid", action))))
			holds := judge(t, parse(t, profileText("allow", statement("s", "require_approval", action))))
			for _, called := range calls {
				wantVerdict(t, "permit "+name, permits, call(t, called, `{}`), verdict.Allow)
				wantVerdict(t, "forbid "+name, forbids, call(t, called, `{}`), verdict.Deny)
				wantVerdict(t, "hold "+name, holds, call(t, called, `{}`), verdict.Hold)
			}
			wantVerdict(t, "permit "+name, permits, call(t, "claude-code.ExitWorktree", `{}`), verdict.Deny)
			wantVerdict(t, "forbid "+name, forbids, call(t, "claude-code.ExitWorktree", `{}`), verdict.Allow)
		}
	}
}

// TestNamesReachNoFurtherThanTheirTool: what is not quite the tool is caught by
// what restricts it, and not let through by what permits it.
func TestNamesReachNoFurtherThanTheirTool(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, called string }{
		{"Bash", "claude-code.BASH"},            // no agent writes it so
		{"Bash", "desktop.bash"},                // a tool of an MCP server
		{"Read", "filesystem.read_file"},        // likewise
		{"Bash", "codex.write_stdin"},           // types into a command that runs
		{"Bash", "claude-code.Monitor"},         // runs a command of its own
		{"Bash", "copilot.write_bash"},          // likewise
		{"Bash", "codex.js_repl"},               // runs programs
		{"Bash", "claude-code.PowerShell"},      // likewise
		{"Edit", "claude-code.MultiEdit"},       // several edits at once
		{"Read", "copilot.str_replace_editor"},  // also writes
		{"Write", "copilot.str_replace_editor"}, // also reads
		{"Edit", "codex.apply_patch"},           // also makes and removes files
		{"Write", "codex.apply_patch"},          // also edits
		{"WebFetch", "fetch.fetch"},             // an MCP server that fetches
		{"Bash", "unknown.bash"},                // of some server
		{"WebSearch", "evil.google_web_search"}, // calls itself so
	} {
		action := `{"type":"tool","eq":"` + c.name + `"}`
		permits := judge(t, parse(t, profileText("hold", statement("s", "permit", action))))
		forbids := judge(t, parse(t, profileText("allow", statement("s", "forbid", action))))
		wantVerdict(t, "permit "+c.name, permits, call(t, c.called, `{}`), verdict.Hold)
		wantVerdict(t, "forbid "+c.name, forbids, call(t, c.called, `{}`), verdict.Deny)
	}
	both := judge(t, parse(t, profileText("hold", statement("s", "permit", `{"type":"tool","in":["Write","Edit"]}`))))
	wantVerdict(t, "permit Write and Edit", both, call(t, "codex.apply_patch", `{"input":"x"}`), verdict.Allow)
}

// TestServersAndTheirTools covers the other types of actions.
func TestServersAndTheirTools(t *testing.T) {
	t.Parallel()
	const github, issue = `{"type":"mcp_server","eq":"github"}`, `{"type":"mcp_tool","in":["mcp__github__create_issue","slack.post"]}`
	for _, c := range []struct {
		action, called  string
		permits, forbid bool
	}{
		{github, "github.create_issue", true, true},
		{github, "GitHub.create_issue", false, true},
		{github, "unknown.mcp_github_create_issue", false, true},
		{github, "unknown.mcp_slack_post", false, false},
		{github, "claude-code.Bash", false, false},
		{github, "github2.create_issue", false, false},
		{issue, "github.create_issue", true, true},
		{issue, "github.Create_Issue", false, true},
		{issue, "unknown.mcp_github_create_issue", false, true},
		{issue, "unknown.mcp_github_add_comment_t___a_pull_request", false, true},
		{github, "unknown.mcp_github_add_comment_t___a_pull_request", false, true},
		{issue, "github.delete_repo", false, false},
		{issue, "slack.post", true, true},
		{`{"type":"mcp_tool","eq":"mcp__github__*"}`, "github.delete_repo", true, true},
		{`{"type":"mcp_server","eq":"*"}`, "anything.at_all", true, true},
		{`{"type":"mcp_server","eq":"*"}`, "unknown.mcp_a_b", false, true},
		{`{"type":"mcp_server","eq":"*"}`, "gemini-cli.run_shell_command", false, false},
		{`{"type":"tool","eq":"*"}`, "anything.at_all", true, true},
	} {
		permits := judge(t, parse(t, profileText("hold", statement("s", "permit", c.action))))
		forbids := judge(t, parse(t, profileText("allow", statement("s", "forbid", c.action))))
		wantVerdict(t, "permit "+c.action, permits, call(t, c.called, `{}`), pick(c.permits, verdict.Allow,
			verdict.Hold))
		wantVerdict(t, "forbid "+c.action, forbids, call(t, c.called, `{}`), pick(c.forbid, verdict.Deny,
			verdict.Allow))
	}
}

func pick(first bool, a, b verdict.Verdict) verdict.Verdict {
	if first {
		return a
	}
	return b
}

// TestPrincipals: a statement is about those it names. Who does not say who it is
// may be any agent.
func TestPrincipals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, id, called, agent, role string
		permits, forbids              bool
	}{
		{"agent", "claude-code", "claude-code.Bash", "claude-code", "", true, true},
		{"agent", "claude-code", "claude-code.Bash", "", "", true, true},
		{"agent", "claude-code", "claude-code.Bash", "other", "", false, true},
		{"agent", "claude-code", "gemini-cli.run_shell_command", "", "", false, true},
		{"agent", "claude-code", "gemini-cli.run_shell_command", "gemini-cli", "", false, false},
		{"agent", "*", "gemini-cli.run_shell_command", "anyone", "", true, true},
		{"role", "member", "local.Bash", "", "member", true, true},
		{"role", "member", "local.Bash", "", "owner", false, false},
		{"role", "member", "local.Bash", "", "", false, true},
		{"org", orgID, "local.Bash", "", "", true, true},
		{"org", "*", "local.Bash", "", "", true, true},
		{"user", "*", "local.Bash", "", "", true, true},
	} {
		principal := `"principal":{"type":"` + c.kind + `","id":"` + c.id + `"}`
		with := func(effect string) string {
			return strings.Replace(statement("s", effect, `{"type":"tool","eq":"Bash"}`),
				`"principal":{"type":"agent","id":"*"}`, principal, 1)
		}
		asked := call(t, c.called, `{"command":"ls"}`)
		asked.Agent.ID, asked.User.Role = c.agent, c.role
		what := principal + " and agent " + c.agent + ", role " + c.role
		wantVerdict(t, "permit "+what, judge(t, parse(t, profileText("hold", with("permit")))), asked,
			pick(c.permits, verdict.Allow, verdict.Hold))
		wantVerdict(t, "forbid "+what, judge(t, parse(t, profileText("allow", with("forbid")))), asked,
			pick(c.forbids, verdict.Deny, verdict.Allow))
	}
}

// TestStatementsLeaveOtherToolsForeseeable: SDKs are told beforehand which tools
// run whatever their arguments; a statement about one tool must not unsettle the
// others.
func TestStatementsLeaveOtherToolsForeseeable(t *testing.T) {
	t.Parallel()
	set := judge(t, parse(t, profileText("deny",
		statement("a", "forbid", `{"type":"tool","eq":"Bash"}`, condition(`bash.program in ["rm"]`)),
		statement("b", "permit", `{"type":"tool","in":["Read","Bash"]}`))))
	for called, certain := range map[string]bool{"gemini-cli.read_file": true, "gemini-cli.run_shell_command": false} {
		if got := set.Foresee(call(t, called, `{}`)); got.Verdict != verdict.Allow || got.Certain != certain {
			t.Errorf("%s: %s, certain %t; want allow, certain %t", called, got.Verdict, got.Certain, certain)
		}
	}
}

// TestWhatRunsUnseenIsRestricted: a tool that types into a shell, or runs another
// language, is not known by a command that stands beside what it runs.
func TestWhatRunsUnseenIsRestricted(t *testing.T) {
	t.Parallel()
	forbids := judge(t, parse(t, profileText("allow", statement("s", "forbid", `{"type":"tool","eq":"Bash"}`,
		condition(`bash.program in ["rm"]`)))))
	programs := judge(t, parse(t, profileText("allow", statement("s", "forbid", `{"type":"bash_program","eq":"rm"}`))))
	for called, arguments := range map[string]string{
		"codex.write_stdin":      `{"session_id":1,"chars":"rm -rf x\n","command":"ls"}`,
		"copilot.write_bash":     `{"sessionId":"1","input":"rm -rf x","command":"ls"}`,
		"codex.js_repl":          `{"code":"1","command":"ls"}`,
		"claude-code.PowerShell": `{"command":"Remove-Item x"}`,
	} {
		wantVerdict(t, "forbid rm", forbids, call(t, called, arguments), verdict.Deny)
		wantVerdict(t, "forbid the program rm", programs, call(t, called, arguments), verdict.Deny)
	}
}
