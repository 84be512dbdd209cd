package selfguard

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// class is what a path leads to. A later one is stricter.
type class int

const (
	free    class = iota
	above         // a folder that something protected is in
	setting       // the host's settings, its environment, its program
	program       // Writ's own programs
	secret        // Writ's key and state
)

// Reasons that a model can act on.
const (
	secretReason  = "Writ denies this: %s holds the key or the state of Writ, which no tool may read or change."
	settingReason = "Writ denies this: %s steers the host of this agent or its guard. You may look at it with read_file; " +
		"a person must change it."
	programReason   = "Writ denies this: %s is a program of Writ, which no tool may change or copy."
	aboveReason     = "Writ denies this: %s contains files of Writ or the host's settings. Name a folder further down."
	workspaceReason = "Writ denies this: without %s, the folder that this session works in, nothing guards it. " +
		"Name what is in the folder instead."
	manyFolders = "Writ denies this: the command enters more folders than are followed. Run it in parts."
	startReason = "Writ denies this: an agent may not start %s. A person runs it in a terminal of their own."
)

// checkPath checks an absolute path that a tool is given.
func (g *Guard) checkPath(path string, kind kind) string {
	found := max(g.classOf(path), g.classOf(g.Real(path)))
	switch {
	case kind == shellTool && g.holdsWorkspace(path):
		return strings.Replace(workspaceReason, "%s", path, 1)
	case found == secret, found == above && kind == searchTool && g.holdsSecrets(path):
		return reasonFor(max(found, above), path)
	case found == above && kind == shellTool:
		return reasonFor(above, path)
	case (found == setting || found == program) && kind >= writeTool:
		return reasonFor(found, path)
	}
	return ""
}

func reasonFor(found class, path string) string {
	format := map[class]string{
		secret: secretReason, setting: settingReason, program: programReason, above: aboveReason,
	}[found]
	return strings.Replace(format, "%s", path, 1)
}

// holdsWorkspace reports whether a path, which may hold patterns, may be the workspace or a folder that it is in.
func (g *Guard) holdsWorkspace(path string) bool {
	if g.Workspace == "" {
		return false
	}
	for _, workspace := range [][]string{parts(g.Workspace), parts(g.Real(g.Workspace))} {
		if at := parts(path); len(at) <= len(workspace) && isBelow(at, workspace[:len(at)]) {
			return true
		}
	}
	return false
}

// holdsSecrets reports whether a folder has a secret somewhere below.
func (g *Guard) holdsSecrets(folder string) bool {
	for _, at := range [][]string{parts(folder), parts(g.Real(folder))} {
		for _, place := range g.all() {
			if place.class == secret && isAbove(at, place.parts) {
				return true
			}
		}
	}
	return false
}

// classOf is what an absolute path leads to. Patterns count as everything that they may stand for.
func (g *Guard) classOf(path string) class {
	at := parts(path)
	found := g.classByName(at)
	for _, protected := range g.all() {
		switch {
		case isBelow(at, protected.parts):
			found = max(found, protected.class)
		case isAbove(at, protected.parts):
			found = max(found, above)
		}
	}
	return found
}

// place is a protected path.
type place struct {
	parts []string
	class class
}

// all are the protected paths, as they are named and as they really are.
func (g *Guard) all() []place {
	if g.places != nil {
		return g.places
	}
	for _, list := range []struct {
		paths []string
		class class
	}{{g.Secrets, secret}, {g.Programs, program}, {g.Settings, setting}} {
		for _, path := range list.paths {
			g.places = append(g.places, place{parts(path), list.class})
			if actual := g.Real(path); actual != path {
				g.places = append(g.places, place{parts(actual), list.class})
			}
		}
	}
	return g.places
}

// classByName finds the host's settings wherever they are: each folder may become a project.
func (g *Guard) classByName(at []string) class {
	for i, part := range at {
		switch {
		case match(part, ".gemini"):
			if !g.isScratch(at, i) {
				return setting
			}
		case i == len(at)-1 && match(part, ".env"):
			return setting
		case part == "gemini-cli" && i > 0 && (at[i-1] == "@google" || at[i-1] == "etc" || at[i-1] == "programdata"),
			part == "geminicli" && i > 0 && at[i-1] == "application support":
			return setting
		}
	}
	if home := parts(g.Home); len(at) == len(home)+1 && isBelow(at, home) && startFiles(at[len(home)]) {
		return setting
	}
	if isAbove(at, append(parts(g.Home), ".gemini")) {
		return above
	}
	return free
}

// startFiles reports whether a file in the home directory is one that shells run when they start. The host starts hooks
// with a shell.
func startFiles(name string) bool {
	for file := range strings.SplitSeq(".bashrc .bash_profile .bash_login .bash_aliases .profile .zshenv .zshrc .zprofile "+
		".pam_environment", " ") {
		if match(name, file) {
			return true
		}
	}
	return false
}

// isScratch reports whether a path is in the folder where the host keeps drafts and logs: ~/.gemini/tmp.
func (g *Guard) isScratch(at []string, i int) bool {
	return len(at) > i+1 && at[i+1] == "tmp" && slices.Equal(at[:i], parts(g.Home))
}

// parts are the components of a path as the least exact file system compares them.
func parts(p string) []string {
	p = path.Clean("/" + strings.Trim(filepath.ToSlash(p), "/"))
	var list []string
	for part := range strings.SplitSeq(strings.Trim(p, "/"), "/") {
		if part != "" {
			list = append(list, fold(part))
		}
	}
	return list
}

// fold makes names equal that some file system takes for one: without case, without characters that it passes over, and
// without dots and spaces at the end.
func fold(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf) {
			return -1
		}
		least := unicode.ToLower(r)
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			if next < unicode.MaxASCII && next >= 'a' {
				least = next
			}
		}
		return least
	}, name)
	if trimmed := strings.TrimRight(name, " ."); trimmed != "" {
		name = trimmed
	}
	name, _, _ = strings.Cut(name, ":") // streams of Windows
	return name
}

// isBelow reports whether a path, which may hold patterns, may be the folder or something in it.
func isBelow(at, folder []string) bool {
	if len(at) < len(folder) {
		return false
	}
	for i, part := range folder {
		if !match(at[i], part) {
			return false
		}
	}
	return true
}

// isAbove reports whether a path, which may hold patterns, may be a folder that the other one is in.
func isAbove(at, other []string) bool {
	return len(at) < len(other) && isBelow(at, other[:len(at)])
}

// match reports whether a component with patterns of a shell may stand for a name. A pattern does not stand
// for a dot at the beginning, as in shells.
func match(pattern, name string) bool {
	if !strings.ContainsAny(pattern, "*?[") {
		return pattern == name || isShort(pattern, name)
	}
	if strings.HasPrefix(name, ".") && !strings.HasPrefix(pattern, ".") {
		return false
	}
	return matchFrom(pattern, name)
}

// isShort reports whether a component may be the short name that Windows gives to a file beside its own: gemini~1 for
// .gemini, settin~1.jso for settings.json; se1a2b~1.jso where there are many alike.
func isShort(part, name string) bool {
	base, extension, _ := strings.Cut(part, ".")
	stem, number, found := strings.Cut(base, "~")
	if !found || stem == "" || number == "" || strings.Trim(number, "0123456789") != "" {
		return false
	}
	long, of := strings.TrimLeft(name, "."), ""
	if at := strings.LastIndexByte(long, '.'); at >= 0 {
		long, of = long[:at], long[at+1:]
	}
	if extension != of[:min(3, len(of))] {
		return false
	}
	long = strings.NewReplacer(" ", "", ".", "").Replace(long)
	isHashed := len(stem) > 4 && len(stem) < 7 && strings.Trim(stem[len(stem)-4:], "0123456789abcdef") == ""
	return strings.HasPrefix(long, stem) || isHashed && strings.HasPrefix(long, stem[:len(stem)-4])
}

// matchFrom tries what the last star stands for again and again: what earlier ones stand for does not matter then.
func matchFrom(pattern, name string) bool {
	star, resume := -1, 0
	p, n := 0, 0
	for n < len(name) {
		width, any := one(pattern[p:])
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, resume = p, n
			p++
		case p < len(pattern) && (any || pattern[p] == name[n]):
			p += width
			n++
		case star >= 0:
			resume++
			p, n = star+1, resume
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// one is how long the part of a pattern is that stands for one character, and whether it may be any.
func one(pattern string) (width int, any bool) {
	if pattern == "" || pattern[0] != '[' && pattern[0] != '?' {
		return 1, false
	}
	if end := strings.IndexByte(pattern, ']'); pattern[0] == '[' && end > 0 {
		return end + 1, true // whatever it lists
	}
	return 1, true
}
