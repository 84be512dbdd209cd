// Package selfguard denies calls by which an agent would switch off its guard: writing the host's settings, Writ's
// programs and state, or the files from which the host takes its environment; reading Writ's key; starting writ to
// approve its own calls.
//
// It only denies, and it is no sandbox: a shell command can hide what it names. Policies and confinement hold what this
// cannot see.
package selfguard

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"writ/internal/hook/gemini"
)

// Guard knows what is protected on a machine. All paths are absolute.
type Guard struct {
	Home     string
	Secrets  []string // files and folders that no tool reads or writes
	Settings []string // that no tool writes
	Programs []string // Writ's own, that no tool writes or starts
	// Workspace is where the host starts hooks. Without it none starts, and the host runs its tools unasked.
	Workspace string
	// Real is a path with its links followed, as far as it exists.
	Real   func(path string) string
	Exists func(path string) bool

	places []place // all of them, once they were needed
}

// Check is the reason why a call is denied; empty: it is none of this package's business.
func (g *Guard) Check(p *gemini.Payload) string {
	if p.MCP != nil {
		return g.checkForeign(p)
	}
	switch kind := hostTools[p.ToolName]; kind {
	case shellTool:
		return g.checkShellCall(p)
	case readTool, searchTool, writeTool:
		return g.checkFileCall(p, kind)
	case textTool:
		return ""
	}
	return g.checkForeign(p)
}

// kind is what a tool of the host does with the paths in its input.
type kind int

const (
	otherTool  kind = iota
	readTool        // reads or lists what is named
	searchTool      // reads everything below what is named
	writeTool
	shellTool
	textTool // has no paths
)

// hostTools are the host's own. What is missing here is checked like a tool that nobody knows.
var hostTools = map[string]kind{
	"read_file": readTool, "list_directory": readTool, "ls": readTool, "glob": readTool,
	"read_many_files": searchTool, "grep_search": searchTool, "search_file_content": searchTool,
	"write_file": writeTool, "replace": writeTool, "edit": writeTool,
	"run_shell_command": shellTool,
	"write_todos":       textTool, "update_topic": textTool, "google_web_search": textTool, "web_fetch": textTool,
	"invoke_agent": textTool, "activate_skill": textTool, "enter_plan_mode": textTool, "exit_plan_mode": textTool,
	"complete_task": textTool, "ask_user": textTool, "list_background_processes": textTool,
	"read_background_output": textTool,
}

// contentMembers are text of files, in which a path is only a word.
var contentMembers = []string{"content", "old_string", "new_string", "instruction", "description", "pattern"}

// folderMembers say where a tool of the host searches. The host searches the whole workspace if it knows none of them.
var folderMembers = []string{"dir_path", "path", "paths", "file_path", "absolute_path"}

func (g *Guard) checkFileCall(p *gemini.Payload, kind kind) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(p.ToolInput, &members) != nil {
		return "tool_input: must be an object"
	}
	named := false
	for _, name := range sortedNames(members) {
		if slices.Contains(contentMembers, name) && name != "pattern" || name == "pattern" && kind == searchTool {
			continue
		}
		named = named || slices.Contains(folderMembers, name)
		if reason := g.checkTexts(p, members[name], kind); reason != "" {
			return reason
		}
	}
	if kind == searchTool && !named {
		return g.checkPath(p.CWD, kind)
	}
	return ""
}

// checkTexts checks every text of a value as a path.
func (g *Guard) checkTexts(p *gemini.Payload, value json.RawMessage, kind kind) string {
	found := ""
	err := gemini.Walk(value, func(text string) {
		if found != "" {
			return
		}
		if foreign := p.MCP != nil || hostTools[p.ToolName] == otherTool; foreign {
			if found = g.checkMentions(text); found != "" || !g.mayBePath(p.CWD, text) {
				return
			}
		}
		found = g.checkSpellings(p.CWD, text, kind)
	})
	if err != nil {
		return "tool_input: " + err.Error()
	}
	return found
}

// checkSpellings checks a path as each program may read it: with backslashes as they are or as slashes, and with links
// followed before or after dots lead up.
func (g *Guard) checkSpellings(folder, text string, kind kind) string {
	text = strings.TrimSpace(text)
	paths := []string{g.absolute(folder, text)}
	if strings.Contains(text, "..") {
		linked := text
		if !filepath.IsAbs(text) {
			linked = folder + "/" + text
		}
		paths = append(paths, filepath.Join(folder, text), filepath.Clean(text), g.Real(linked))
	}
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			continue
		}
		if reason := g.checkPath(path, kind); reason != "" {
			return reason
		}
	}
	return ""
}

// checkMentions looks for the paths of secrets anywhere in a text: a tool that nobody knows may take its path from a
// sentence.
func (g *Guard) checkMentions(text string) string {
	text = strings.ReplaceAll(text, `\`, "/")
	for _, place := range g.Secrets {
		names := []string{place}
		if rest, ok := strings.CutPrefix(place, g.Home+"/"); ok && g.Home != "" {
			names = append(names, "~/"+rest, "$HOME/"+rest, "${HOME}/"+rest)
		}
		for _, name := range names {
			if strings.Contains(text, filepath.ToSlash(name)) {
				return reasonFor(secret, name)
			}
		}
	}
	return ""
}

// mayBePath tells a path from a sentence that has one in it, for tools whose arguments nobody knows. What
// leads up again may begin with anything.
func (g *Guard) mayBePath(folder, text string) bool {
	text = strings.TrimSpace(text)
	first, _, more := strings.Cut(text, "/")
	sentence := more && strings.ContainsAny(first, " \n") || strings.Contains(text, "\n")
	return !sentence || strings.Contains(text, "..") || g.Exists(filepath.Join(folder, first))
}

// checkForeign checks a tool that nobody knows: every text may be a path that it writes, and some are commands.
func (g *Guard) checkForeign(p *gemini.Payload) string {
	name := p.ToolName
	if p.MCP != nil {
		name += " " + p.MCP.ToolName
	}
	kind := writeTool
	if removes(name) {
		kind = shellTool // what is above a protected path counts too
	}
	if reason := g.checkTexts(p, p.ToolInput, kind); reason != "" {
		return reason
	}
	return g.checkCommands(p, p.ToolInput, starts(name))
}

// checkCommands checks the texts of members that are named like a command, or all texts.
func (g *Guard) checkCommands(p *gemini.Payload, value json.RawMessage, all bool) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(value, &members) != nil {
		return ""
	}
	for _, name := range sortedNames(members) {
		if !all && !starts(name) {
			continue
		}
		var words []string
		_ = gemini.Walk(members[name], func(text string) { words = append(words, text) }) // it was walked before
		for _, text := range append(words, strings.Join(words, " ")) {
			if reason := g.CheckShell(text, p.CWD); reason != "" {
				return reason
			}
		}
	}
	return ""
}

// removes reports whether a tool may move or remove whole folders, by its name.
func removes(name string) bool {
	return containsAny(name, "move", "rename", "delete", "remove", "unlink", "link", "copy", "rmdir", "trash")
}

// starts reports whether a tool or a member of its input may be a command, by its name.
func starts(name string) bool {
	return containsAny(name, "shell", "bash", "exec", "command", "cmd", "script", "terminal", "process", "spawn",
		"code",
		"eval", "args", "argv", "run")
}

func containsAny(name string, parts ...string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(name, part) })
}

func (g *Guard) checkShellCall(p *gemini.Payload) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(p.ToolInput, &members) != nil {
		return "tool_input: must be an object"
	}
	base := p.CWD
	for _, name := range sortedNames(members) {
		if name == "command" || name == "description" {
			continue
		}
		var dir string
		if json.Unmarshal(members[name], &dir) != nil || dir == "" {
			continue
		}
		dir = g.absolute(p.CWD, dir)
		if reason := g.checkPath(dir, writeTool); reason != "" {
			return reason
		}
		if strings.Contains(name, "dir") || strings.Contains(name, "cwd") {
			base = dir
		}
	}
	var command string
	if err := json.Unmarshal(members["command"], &command); err != nil {
		return "tool_input.command: must be a text"
	}
	return g.CheckShell(command, base)
}

func sortedNames(members map[string]json.RawMessage) []string {
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// absolute is where a path leads that a tool is given in a folder.
func (g *Guard) absolute(folder, path string) string {
	if rest, ok := cutFileScheme(path); ok {
		path = unescape(rest)
	}
	path = strings.ReplaceAll(path, `\`, "/")
	for _, prefix := range []string{"~", "$HOME", "${HOME}", "%USERPROFILE%"} {
		if rest, ok := strings.CutPrefix(path, prefix); ok && (rest == "" || rest[0] == '/') {
			return filepath.Join(g.Home, rest)
		}
	}
	for _, prefix := range []string{"$PWD", "${PWD}"} {
		if rest, ok := strings.CutPrefix(path, prefix); ok && (rest == "" || rest[0] == '/') {
			return filepath.Join(folder, rest)
		}
	}
	if strings.HasPrefix(path, "/") || filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(folder, path)
}

// cutFileScheme is the path of a URL of a file, with as many slashes as programs accept and whatever host it names.
func cutFileScheme(text string) (path string, ok bool) {
	const scheme = "file:"
	if len(text) < len(scheme) || !strings.EqualFold(text[:len(scheme)], scheme) {
		return "", false
	}
	rest := text[len(scheme):]
	if host, ok := strings.CutPrefix(rest, "//"); ok {
		if at := strings.IndexByte(host, '/'); at >= 0 {
			rest = host[at:]
		}
	}
	return rest, true
}

// unescape replaces %2e and the like.
func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			high, low := strings.IndexByte(hexDigits, lower(text[i+1])), strings.IndexByte(hexDigits, lower(text[i+2]))
			if high >= 0 && low >= 0 {
				b.WriteByte(byte(high<<4 | low))
				i += 2
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

const hexDigits = "0123456789abcdef"

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
