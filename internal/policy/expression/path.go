package expression

import (
	"path"
	"regexp"
	"strings"
)

// location is a cleaned path: it has no "." or "..", except at the beginning of a
// relative one.
type location string

// parsePath reads a path from an agent, or what the agent's host has resolved it to. It
// refuses spellings that mean something else to a shell, another system or a library.
func parsePath(text string, resolved map[string]string) (location, error) {
	real, known := resolved[text]
	if known {
		text = real
	}
	switch {
	case text == "":
		return "", failure("path: the path is empty")
	case strings.ContainsRune(text, 0):
		return "", failure("path: the path holds a NUL")
	case strings.ContainsRune(text, '\\'):
		return "", failure("path: the path holds a backslash, which some systems take for a separator")
	case hasDrive(text):
		return "", failure("path: the path begins with a drive letter")
	case !known && strings.HasPrefix(text, "~"):
		return "", failure("path: the path begins with ~, which a shell expands")
	case !known && strings.TrimSpace(text) != text:
		return "", failure("path: the path begins or ends with a space, which some tools remove")
	case !known && schemeForm.MatchString(text):
		return "", failure("path: the path is a URL")
	case !known && hasReference(text):
		return "", failure("path: the path refers to the environment")
	case !known && hasWindowsName(text):
		return "", failure("path: the path holds a name that Windows takes for another one's, as GIT~1/ or .git./ for .git/")
	}
	return location(path.Clean(text)), nil
}

// schemeForm is the beginning of a URL that a tool may open as a file: file:///x, or
// file:/x and file:x, which many read the same.
var schemeForm = regexp.MustCompile(`^(?i:file:|[a-z][a-z0-9+.-]*:/)`)

// windowsForm is a folder whose name has the form of a short one, or ends with a dot or space, which Windows leaves
// out; or a file with a short name and an extension. Without one it may be a commit: HEAD~1, main.. and the like are
// among what commands read.
var windowsForm = regexp.MustCompile(
	`(^|/)(` + shortName + `(\.[^/.]{0,3})?/|[^/]*[^/. ][. ]+/|` + shortName + `\.[^/.]{1,3}$)`)

const shortName = `[^/.~]{1,6}~[0-9]{1,6}`

// hasWindowsName looks for what each of these names holds first: most paths hold none of it.
func hasWindowsName(text string) bool {
	may := strings.Contains(text, "~") || strings.Contains(text, "./") || strings.Contains(text, " /")
	return may && windowsForm.MatchString(text)
}

func hasDrive(text string) bool {
	return len(text) >= 2 && text[1] == ':' && ('a' <= text[0]|0x20 && text[0]|0x20 <= 'z')
}

// hasReference finds $NAME, ${NAME}, $(command), `command` and %NAME%.
func hasReference(text string) bool {
	if strings.ContainsAny(text, "$`") {
		return true
	}
	_, rest, first := strings.Cut(text, "%")
	name, _, second := strings.Cut(rest, "%")
	return first && second && name != "" && !strings.ContainsAny(name, "/ ")
}

func parseDir(text string) (location, error) {
	dir, err := parsePath(text, nil)
	if err != nil {
		return "", failure("within: " + err.Error())
	}
	return dir, nil
}

// within reports whether the location is the folder or below it, component by
// component. Whether a relative path is in an absolute folder, or the other way round,
// depends on where the agent runs, which is unknown. It is an error if that is possible;
// a relative path that stays below its start is outside every absolute folder.
func (l location) within(dir location) (bool, error) {
	if path.IsAbs(string(l)) != path.IsAbs(string(dir)) {
		if path.IsAbs(string(l)) {
			return false, failure("within: the path is absolute and the folder relative")
		}
		if l.climbs() {
			return false, failure("within: the relative path leaves its start, and the folder is absolute")
		}
		return false, nil
	}
	switch {
	case l == dir, dir == "/":
		return true, nil
	case dir == ".":
		return !l.climbs(), nil
	case dir.climbs() && !l.climbs():
		// The start may itself be in "../x".
		return false, failure("within: the folder is above where the path starts")
	}
	return strings.HasPrefix(string(l), string(dir)+"/") && !location(l[len(dir)+1:]).climbs(), nil
}

func (l location) climbs() bool { return l == ".." || strings.HasPrefix(string(l), "../") }

func (l location) base() string { return path.Base(string(l)) }
func (l location) ext() string  { return path.Ext(string(l)) }
func (l location) dir() string  { return path.Dir(string(l)) }
