package profile

import (
	"slices"
	"strings"
)

// field is a group of condition fields that are known from a tool's arguments.
type field uint8

const (
	shellField field = 1 << iota // bash.*: the tool runs a shell command
	fileField                    // file.path: the tool works on a named file
	hostField                    // network.host: the tool fetches a URL
)

// tool is a tool of coding agents under its name in Claude Code.
type tool struct {
	name string
	// others are the tool's names in Gemini CLI, in Codex, in earlier versions, and in
	// plugins that translate names.
	others []string
	// beside are tools that can do what this one does and more. A statement that
	// restricts this one restricts them too; a permit does not permit them.
	beside []string
	has    field
}

// editors read, write or edit, depending on an argument; writers also change several
// files at once.
var (
	editors = []string{"str_replace_editor", "str_replace_based_edit_tool"}
	writers = append([]string{"apply_patch"}, editors...)
)

// tools are those of Gemini CLI, Claude Code and Codex.
var tools = []tool{
	{name: "Bash", has: shellField, beside: []string{"write_stdin", "write_bash", "Monitor", "js_repl", "PowerShell"},
		others: []string{
			"run_shell_command", "run_shell", "shell", "shell_command", "local_shell", "exec_command", "unified_exec",
			"container.exec",
		}},
	{name: "PowerShell"},
	{
		name:   "Read",
		has:    fileField,
		others: []string{"read_file", "read_many_files", "view", "view_image"},
		beside: editors,
	},
	{name: "Write", has: fileField, others: []string{"write_file", "create_file", "create"}, beside: writers},
	{
		name:   "Edit",
		has:    fileField,
		others: []string{"replace", "edit_file"},
		beside: append([]string{"MultiEdit", "multi_edit"}, writers...),
	},
	{name: "MultiEdit", has: fileField, others: []string{"multi_edit"}, beside: writers},
	{name: "apply_patch"}, // the files it changes are named in its text
	{name: "NotebookEdit", has: fileField}, {name: "NotebookRead", has: fileField},
	{name: "Glob", others: []string{"list_directory", "list_dir", "LS", "file_search"}},
	{name: "Grep", has: fileField, others: []string{"grep_search", "search_file_content", "grep_files", "find", "rg"}},
	{name: "LSP"},
	{name: "WebFetch", has: hostField, others: []string{"web_fetch", "fetch", "http"}},
	{name: "WebSearch", others: []string{"google_web_search", "web_search", "search"}},
	{
		name:   "Agent",
		others: []string{"Task", "invoke_agent", "delegate_to_agent", "codebase_investigator", "spawn_agent"},
	},
	{name: "Explore"},
	{name: "Skill", others: []string{"activate_skill"}},
	{name: "TodoWrite", others: []string{"write_todos", "update_plan"}},
	{name: "save_memory"}, {name: "get_internal_docs"}, {name: "write_stdin"},
	{name: "AskUserQuestion", others: []string{"ask_user", "request_user_input"}},
	{name: "EnterPlanMode", others: []string{"enter_plan_mode"}},
	{name: "ExitPlanMode", others: []string{"exit_plan_mode"}},
	{name: "ListMcpResourcesTool", others: []string{"list_mcp_resources"}},
	{name: "ReadMcpResourceTool", others: []string{"read_mcp_resource"}},
	{name: "EnterWorktree"}, {name: "ExitWorktree"}, {name: "CronCreate"}, {name: "CronDelete"}, {name: "CronList"},
	{name: "Monitor"}, {name: "PushNotification"}, {name: "RemoteTrigger"}, {name: "ScheduleWakeup"},
	{name: "SendMessage"},
	{name: "ShareOnboardingGuide"}, {name: "TaskCreate"}, {name: "TaskGet"}, {name: "TaskList"}, {name: "TaskOutput"},
	{name: "TaskStop"},
	{name: "TaskUpdate"}, {name: "TeamCreate"}, {name: "TeamDelete"}, {name: "ToolSearch"}, {name: "WaitForMcpServers"},
	{name: "Workflow"},
}

// byName finds a tool by any of its names, in lower case.
var byName = func() map[string]*tool {
	index := map[string]*tool{}
	for i := range tools {
		for _, name := range append([]string{tools[i].name}, tools[i].others...) {
			index[strings.ToLower(name)] = &tools[i]
		}
	}
	return index
}()

// find is the tool with this name, in any case.
func find(name string) *tool { return byName[strings.ToLower(name)] }

// permitted are the names under which a permit lets these tools run: each as the
// agents write it, and in lower case.
func permitted(named []string) []string {
	var names, known []string
	for _, name := range named {
		t := find(name)
		known = append(known, t.name)
		for _, name := range append([]string{t.name}, t.others...) {
			names = append(names, name, strings.ToLower(name))
		}
	}
	if slices.Contains(known, "Write") && slices.Contains(known, "Edit") {
		names = append(names, "apply_patch") // it writes and edits
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// restricted are the names, in lower case, under which calls of these tools are
// caught.
func restricted(named []string) []string {
	var names []string
	for _, name := range named {
		t := find(name)
		for _, name := range slices.Concat([]string{t.name}, t.others, t.beside) {
			names = append(names, strings.ToLower(name))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// lacking is the first of some tools that does not have a field.
func lacking(named []string, f field) (name string, lacks bool) {
	for _, name := range named {
		if find(name).has&f == 0 {
			return name, true
		}
	}
	return "", false
}

// hosts are the servers of the agents' own tools. No MCP server has these names.
var hosts = []string{"local", "gemini-cli", "claude-code", "codex", "copilot"}

// unknownServer is the server of a call whose name does not show it, such as
// Gemini's mcp_server_tool.
const unknownServer = "unknown"
