package shell

import (
	"regexp"
	"strings"
)

// Agents often ask interpreters small questions: which version is installed, what a JSON
// file says. Such a line is inert: it names nothing that could write a file, start a
// program or reach the network. We do not try to understand more code than that, so the
// list of names is short and everything else is Dynamic.

// inertNames are the names that a line may use, besides the modules that it imports only
// for their version.
var inertNames = names(`print len json sys version version_info stdin load loads dumps dump stdout indent
	sorted keys values items get True False None for in if else and or not is str int float bool list dict set tuple
	range sum min max any all enumerate zip __version__ __file__ x d k v data f r i p platform implementation
	executable prefix maxsize read readline readlines strip split join lower upper startswith endswith format
	math sqrt pi floor ceil datetime date now isoformat today calendar round abs reversed lambda sort_keys ensure_ascii
	console log JSON stringify parse process versions arch Object entries map filter length const let var name scripts`)

var (
	// Names, numbers, quotes and the signs of plain expressions. No backquote, which
	// JavaScript's templates use, no @, no backslash.
	inertSigns = regexp.MustCompile(`^[\w\s.,:;()\[\]{}+\-*/%<>=!&|?'"]*$`)
	inertText  = regexp.MustCompile(`'[^'"\\]*'|"[^'"\\]*"`)
	inertName  = regexp.MustCompile(`[A-Za-z_]\w*`)
	inertIndex = regexp.MustCompile(`\[\d+\]`)
	// a.b.__version__, whatever a is.
	inertVersion = regexp.MustCompile(`\b[A-Za-z_]\w*(\.[A-Za-z_]\w*)*\.(__version__|__file__|VERSION)\b`)
	inertImport  = regexp.MustCompile(`^\s*import\s+[\w.]+(\s+as\s+\w+)?(\s*,\s*[\w.]+(\s+as\s+\w+)?)*\s*$`)
	// require('./package.json') reads JSON; any other file would be run.
	inertRequire = regexp.MustCompile(`require\((?:'\./[\w./-]*\.json'|"\./[\w./-]*\.json")\)`)
)

// inert reports whether code for an interpreter is an inert line.
func inert(name string, line arg) bool {
	if !line.plain() || len(line.text()) > 500 {
		return false
	}
	switch name {
	case "python":
		return inertPython(line.text())
	case "node":
		return inertScript(line.text())
	}
	return false
}

// inertPython reads a line of Python. It may use only the version of what it imports,
// unless that is one of the modules listed.
func inertPython(code string) bool {
	bare, ok := withoutText(code)
	if !ok {
		return false
	}
	var rest []string
	for part := range strings.FieldsFuncSeq(bare, func(r rune) bool { return r == ';' || r == '\n' }) {
		if inertImport.MatchString(part) {
			continue
		}
		rest = append(rest, inertVersion.ReplaceAllString(part, "0"))
	}
	return onlyInertNames(strings.Join(rest, ";")) && !strings.Contains(strings.Join(rest, ";"), "import")
}

// inertScript reads a line of JavaScript. It must not select members by text, which
// could be any, and must not have regular expressions, which can hold quotes.
func inertScript(code string) bool {
	code = inertRequire.ReplaceAllString(code, "JSON")
	bare, ok := withoutText(code)
	if !ok || strings.Contains(bare, "/") || strings.Contains(bare, "require") || strings.Contains(bare, "import") {
		return false
	}
	return !strings.Contains(inertIndex.ReplaceAllString(bare, ""), "[") && onlyInertNames(bare)
}

// withoutText replaces quoted text by a number. It fails on signs that plain expressions
// do not have, and on a quote with a prefix: f'…' holds code.
func withoutText(code string) (bare string, ok bool) {
	if !inertSigns.MatchString(code) {
		return "", false
	}
	for _, at := range inertText.FindAllStringIndex(code, -1) {
		if at[0] > 0 && inertName.MatchString(code[at[0]-1:at[0]]) {
			return "", false
		}
	}
	bare = inertText.ReplaceAllString(code, " 0 ")
	return bare, !strings.ContainsAny(bare, `'"`)
}

func onlyInertNames(bare string) bool {
	for _, name := range inertName.FindAllString(bare, -1) {
		if !inertNames[name] {
			return false
		}
	}
	return true
}
