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
	has  field
	// others are the tool's names in Gemini CLI, in Codex, in earlier versions, and in
	// plugins that translate names.
	others string
	// beside are tools that can do what this one does and more. A statement that
	// restricts this one restricts them too; a permit does not permit them.
	beside string
}

// names are the names under which a permit lets the tool run.
func (t *tool) names() []string { return append([]string{t.name}, strings.Fields(t.others)...) }

// editors read, write or edit, depending on an argument; writers also change several
// files at once.
const (
	editors = "str_replace_editor str_replace_based_edit_tool"
	writers = "apply_patch " + editors
)

// tools are those of Gemini CLI, Claude Code and Codex.
var tools = []tool{
	{
		"Bash", shellField,
		"run_shell_command run_shell shell shell_command local_shell exec_command unified_exec container.exec",
		"write_stdin write_bash Monitor js_repl PowerShell",
	},
	{name: "PowerShell"},
	{"Read", fileField, "read_file read_many_files view view_image", editors},
	{"Write", fileField, "write_file create_file create", writers},
	{"Edit", fileField, "replace edit_file", "MultiEdit multi_edit " + writers},
	{"MultiEdit", fileField, "multi_edit", writers},
	{name: "apply_patch"}, // the files it changes are named in its text
	{name: "NotebookEdit", has: fileField},
	{name: "NotebookRead", has: fileField},
	{name: "Glob", others: "list_directory list_dir LS file_search"},
	{name: "Grep", has: fileField, others: "grep_search search_file_content grep_files find rg"},
	{name: "LSP"},
	{name: "WebFetch", has: hostField, others: "web_fetch fetch http"},
	{name: "WebSearch", others: "google_web_search web_search search"},
	{name: "Agent", others: "Task invoke_agent delegate_to_agent codebase_investigator spawn_agent"},
	{name: "Explore"},
	{name: "Skill", others: "activate_skill"},
	{name: "TodoWrite", others: "write_todos update_plan"},
	{name: "save_memory"}, {name: "get_internal_docs"}, {name: "write_stdin"},
	{name: "AskUserQuestion", others: "ask_user request_user_input"},
	{name: "EnterPlanMode", others: "enter_plan_mode"},
	{name: "ExitPlanMode", others: "exit_plan_mode"},
	{name: "ListMcpResourcesTool", others: "list_mcp_resources"},
	{name: "ReadMcpResourceTool", others: "read_mcp_resource"},
	{name: "EnterWorktree"}, {name: "ExitWorktree"}, {name: "CronCreate"}, {name: "CronDelete"}, {name: "CronList"},
	{name: "Monitor"}, {name: "PushNotification"}, {name: "RemoteTrigger"}, {name: "ScheduleWakeup"},
	{name: "SendMessage"}, {name: "ShareOnboardingGuide"}, {name: "TaskCreate"}, {name: "TaskGet"},
	{name: "TaskList"}, {name: "TaskOutput"}, {name: "TaskStop"}, {name: "TaskUpdate"}, {name: "TeamCreate"},
	{name: "TeamDelete"}, {name: "ToolSearch"}, {name: "WaitForMcpServers"}, {name: "Workflow"},
}

// byName finds a tool by any of its names, in lower case.
var byName = func() map[string]*tool {
	index := map[string]*tool{}
	for i := range tools {
		for _, name := range tools[i].names() {
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
		for _, name := range t.names() {
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
		for _, name := range append(t.names(), strings.Fields(t.beside)...) {
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
