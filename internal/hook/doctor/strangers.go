package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"writ/internal/hook/gemini"
	"writ/internal/hook/setup"
)

// foreignHooks looks for hooks of others that can change a call after Writ has judged it, or its result.
func (e *examination) foreignHooks() {
	for _, source := range append(e.hooksOfLayers(), e.hooksOfExtensions()...) {
		for _, event := range []string{gemini.BeforeTool, gemini.AfterTool} {
			if command, ok := source.hooks[event].firstForeign(); ok {
				e.add("other hooks", Warning, fmt.Sprintf("%s has a hook for %s (%s), which can change calls; "+
					"a call that ran otherwise than decided stops the turn", source.path, event, short(command)),
					"remove it if you do not know it")
				return
			}
		}
	}
	e.add("other hooks", OK, "none that could change a call", "")
}

// firstForeign is the command of the first hook that is not ours.
func (h hooksOf) firstForeign() (command string, ok bool) {
	for _, group := range h {
		for _, hook := range group.Hooks {
			if !hook.IsOurs() {
				return hook.Command, true
			}
		}
	}
	return "", false
}

// source is a file with hooks.
type source struct {
	path  string
	hooks map[string]hooksOf
}

func (e *examination) hooksOfLayers() (sources []source) {
	for _, l := range e.layers {
		sources = append(sources, source{l.path, l.values.Hooks})
	}
	return sources
}

func (e *examination) hooksOfExtensions() (sources []source) {
	for _, name := range e.otherExtensions() {
		path := filepath.Join(e.Extensions(), name, "hooks", "hooks.json")
		var file struct{ Hooks map[string]hooksOf }
		text, err := os.ReadFile(path)
		if err == nil && setup.Decode(string(text), &file) == nil {
			sources = append(sources, source{path, file.Hooks})
		}
	}
	return sources
}

func (e *examination) otherExtensions() (names []string) {
	entries, err := os.ReadDir(e.Extensions())
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		folder := filepath.Join(e.Extensions(), entry.Name())
		if entry.Name() != setup.Name && exists(filepath.Join(folder, "gemini-extension.json")) {
			names = append(names, entry.Name())
		}
	}
	return names
}

// plugins looks for other extensions that guard tool calls: two that ask for plans leave the model no way out.
func (e *examination) plugins() {
	for _, name := range e.otherExtensions() {
		folder := filepath.Join(e.Extensions(), name)
		text, err := os.ReadFile(filepath.Join(folder, "gemini-extension.json"))
		if err != nil {
			continue
		}
		guards := strings.Contains(string(text), "register_intent_plan") || strings.HasPrefix(name, "armor")
		if hooks, err := os.ReadFile(filepath.Join(folder, "hooks", "hooks.json")); err == nil {
			guards = guards || strings.Contains(string(hooks), gemini.BeforeTool)
		}
		if guards {
			e.add("other plugins", Warning,
				"the extension "+name+" guards tool calls too: the model needs a plan for each",
				"run gemini extensions uninstall "+name+", unless you want both")
			return
		}
	}
	e.add("other plugins", OK, "none that guards tool calls", "")
}

// unhooked looks for what the host runs without asking a hook.
func (e *examination) unhooked() {
	for _, l := range e.layers {
		switch tools := l.values.Tools; {
		case tools.DiscoveryCommand != "":
			e.add("unhooked", Warning,
				fmt.Sprintf("tools.discoveryCommand in %s runs when a session begins, and no hook "+
					"is asked (%s)", l.path, short(tools.DiscoveryCommand)), "take it out if you do not know it")
			return
		case tools.Sandbox != nil && tools.Sandbox != false:
			e.add("unhooked", Warning, "tools.sandbox in "+l.path+" has the host run in a container, where hooks find "+
				"neither writ nor the guard file and deny everything", "mount both there, or use confine in policies")
			return
		case l.name == "project settings" && len(l.values.MCPServers) > 0:
			e.add("unhooked", Warning, l.path+" has MCP servers, which the host starts in a trusted folder, "+
				"and no hook is asked", "look at what they start before you trust this folder")
			return
		}
	}
	e.add("unhooked", OK, "nothing in the settings runs without a hook", "")
}

// short is the beginning of a command, for a person.
func short(command string) string {
	const most = 60
	if len(command) > most {
		return strings.ToValidUTF8(command[:most], "") + "…"
	}
	return command
}
