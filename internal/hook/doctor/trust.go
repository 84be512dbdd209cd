package doctor

import (
	"os"
	"path/filepath"
	"strings"

	"writ/internal/hook/setup"
)

// trust is whether the host trusts the project.
type trust int

const (
	unknown trust = iota // it will ask
	trusts
	distrusts
)

// trust finds out as the host does. What an editor says counts before the file, and is not known here.
func (e *examination) trust() trust {
	t := e.readTrust()
	for i := range e.layers {
		if e.layers[i].name == "project settings" {
			e.layers[i].counts = t == trusts
		}
	}
	return t
}

func (e *examination) readTrust() trust {
	switch {
	case e.Getenv("GEMINI_RESTRICTED_MODE") == "true", e.Getenv("GEMINI_CLI_TRUST_WORKSPACE") == "false":
		return distrusts
	case e.Getenv("GEMINI_CLI_TRUST_WORKSPACE") == "true":
		return trusts
	}
	for _, l := range e.layers { // the project has no say
		if on := l.values.Security.FolderTrust.Enabled; on != nil && !*on && l.name != "project settings" {
			return trusts
		}
	}
	return e.trustByFile()
}

// trustByFile is what the longest rule says that the project is in.
func (e *examination) trustByFile() (found trust) {
	path := e.Getenv("GEMINI_CLI_TRUSTED_FOLDERS_PATH")
	if path == "" {
		path = filepath.Join(e.Gemini, "trustedFolders.json")
	}
	var rules map[string]any
	text, err := os.ReadFile(path)
	if err != nil || setup.Decode(string(text), &rules) != nil {
		return unknown
	}
	longest := -1
	for folder, level := range rules {
		at := folder
		if level == "TRUST_PARENT" {
			at = filepath.Dir(folder)
		}
		if len(folder) <= longest || !isWithin(real(at), real(e.Project)) {
			continue
		}
		longest, found = len(folder), trusts
		if level == "DO_NOT_TRUST" {
			found = distrusts
		}
	}
	return found
}

func real(path string) string {
	if actual, err := filepath.EvalSymlinks(path); err == nil {
		return actual
	}
	return filepath.Clean(path)
}

func isWithin(folder, path string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// folder says what the host does in this folder.
func (e *examination) folder() {
	const does = ": there the host runs no hooks of the user's settings and starts no MCP server. The hooks of the " +
		"extension run, and as no plan can be registered, no tool runs"
	switch e.trusted {
	case distrusts:
		e.add("folder", Failed, e.Project+" is not trusted"+does,
			"type /permissions into the Gemini CLI and trust the folder")
	case unknown:
		fix := "trust it when the Gemini CLI asks; without a person, start it with --skip-trust"
		if !e.passed("switches") {
			fix = "do not trust it before its settings leave hooks on"
		}
		e.add("folder", Warning, e.Project+" is not trusted yet"+does, fix)
	default:
		e.add("folder", OK, e.Project+" is trusted", "")
	}
}
