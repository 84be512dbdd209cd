package profile_test

import (
	"encoding/json"
	"testing"

	"writ/internal/policy/profile"
	"writ/internal/verdict"
)

// templateCases are what each template says about one call; h, d and a stand for
// hold, deny and allow, in the order of templateOrder.
var (
	templateOrder = []string{
		"all-allow", "lockdown", "strict-read-only", "balanced", "architect", "quality-guardian", "velocity-machine",
		"night-owl",
	}
	templateCases = []struct{ called, arguments, want string }{
		{"gemini-cli.read_file", `{"file_path":"src/a.go"}`, "ahaaaaaa"},
		{"claude-code.Read", `{"file_path":"/srv/.env"}`, "ahaaaddd"},
		{"claude-code.Grep", `{"pattern":"x","path":"src"}`, "ahaaahah"},
		{"claude-code.Grep", `{"pattern":"=","path":".","glob":".env"}`, "ahaaahah"},
		{"claude-code.Grep", `{"pattern":"x","path":"src/a.go"}`, "ahaaaaaa"},
		{"claude-code.Glob", `{"pattern":"**"}`, "ahaaaaaa"},
		{"gemini-cli.google_web_search", `{"query":"x"}`, "ahdhaaaa"},
		{"claude-code.WebFetch", `{"url":"https://a.b"}`, "ahdhhhad"},
		{"gemini-cli.write_file", `{"file_path":"src/a.go"}`, "ahdhaaah"},
		{"claude-code.Write", `{"file_path":"/etc/passwd"}`, "ahdhhhdh"},
		{"claude-code.Edit", `{"file_path":"../a.go"}`, "ahdhhhdh"},
		{"claude-code.Edit", `{"file_path":".github/workflows/x.yml"}`, "ahdhahah"},
		{"codex.apply_patch", `{"input":"*** Begin Patch"}`, "ahdhhhdh"},
		{"claude-code.Bash", `{"command":"ls"}`, "ahdhhhah"},
		{"gemini-cli.run_shell_command", `{"command":"go test ./..."}`, "ahdhhaah"},
		{"claude-code.Bash", `{"command":"go test ./... > out"}`, "ahdhhhah"},
		{"claude-code.Bash", `{"command":"go test; rm -rf /"}`, "ahdhdhdd"},
		{"codex.exec_command", `{"cmd":"sudo ls"}`, "ahdhdhdd"},
		{"claude-code.Bash", `{"command":"git push --force"}`, "ahdhdhdd"},
		{"claude-code.Bash", `{"command":"npm publish"}`, "ahdhhadh"},
		{"claude-code.Bash", `{"command":"make deploy"}`, "ahdhhaah"},
		{"claude-code.Bash", `{"command":"cat .env"}`, "ahdhhhdh"},
		{"github.create_issue", `{}`, "ahdhhhad"},
		{"unknown.mcp_github_create_issue", `{}`, "ahdhhhad"},
	}
)

func TestTemplatesMeanOneThing(t *testing.T) {
	t.Parallel()
	if len(profile.Templates()) != len(templateOrder) {
		t.Errorf("%d templates, and the cases are of %d", len(profile.Templates()), len(templateOrder))
	}
	for place, name := range templateOrder {
		template, ok := profile.TemplateOf(name)
		if !ok {
			t.Errorf("there is no template %s", name)
			continue
		}
		set := judge(t, template.Profile)
		for _, c := range templateCases {
			want := map[byte]verdict.Verdict{'h': verdict.Hold, 'd': verdict.Deny, 'a': verdict.Allow}[c.want[place]]
			wantVerdict(t, name+" about "+c.arguments, set, call(t, c.called, c.arguments), want)
		}
	}
}

// claudeTools are the names that the published backend and plugins take for a
// tool. A template uses no other, so that a plugin can take it over.
var claudeTools = []string{
	"*", "Agent", "AskUserQuestion", "Bash", "CronCreate", "CronDelete", "CronList", "Edit", "EnterPlanMode",
	"EnterWorktree", "ExitPlanMode",
	"ExitWorktree", "Explore", "Glob", "Grep", "ListMcpResourcesTool", "LSP", "Monitor", "MultiEdit", "NotebookEdit",
	"NotebookRead", "PowerShell",
	"PushNotification", "Read", "ReadMcpResourceTool", "RemoteTrigger", "ScheduleWakeup", "SendMessage",
	"ShareOnboardingGuide", "Skill", "Task",
	"TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop", "TaskUpdate", "TeamCreate", "TeamDelete",
	"TodoWrite", "ToolSearch",
	"WaitForMcpServers", "WebFetch", "WebSearch", "Workflow", "Write",
}

// TestPublishedNamesAreTaken: every name that the published form takes is taken.
func TestPublishedNamesAreTaken(t *testing.T) {
	t.Parallel()
	names, err := json.Marshal(claudeTools)
	if err != nil {
		t.Fatal(err)
	}
	parse(t, profileText("deny", statement("s", "permit", `{"type":"tool","in":`+string(names)+`}`)))
	for _, name := range claudeTools {
		parse(t, profileText("deny", statement("s", "forbid", `{"type":"tool","eq":"`+name+`"}`)))
	}
	known := map[string]bool{}
	for _, name := range claudeTools {
		known[name] = true
	}
	for _, template := range profile.Templates() {
		for _, s := range template.Profile.Statements {
			for _, name := range s.Action.Names {
				if !known[name] {
					t.Errorf("%s names %s, which plugins do not know", template.Name, name)
				}
			}
		}
	}
}
