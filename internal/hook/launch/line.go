// Package launch starts hooks for the host, in the place of a shell.
//
// The host starts a hook as bash -c COMMAND, in an environment that a project can set. A shell that is linked
// dynamically obeys variables of the loader before its first word. So the host finds a static program by the
// name of bash, which runs our own commands and nothing else.
package launch

import (
	"strconv"
	"strings"
	"time"
)

// unanswered is the answer in place of a hook's that was killed or cannot be started.
const unanswered = `{"decision":"deny","reason":"Writ: the hook did not answer, so the call must not run. Run writ doctor."}`

// How commands treat what a hook prints.
type kind int

const (
	unknown    kind = iota
	mustAnswer      // a whole answer in time, else a deny
	mayAnswer       // what it prints, and a deny if it fails
	neverFails      // what it prints, if anything
)

// kindOf is the kind of an event's command. An unknown event has none.
func kindOf(event string) kind {
	switch event {
	case "before-tool":
		return mustAnswer
	case "before-tool-selection": // any output changes what the model is sent
		return neverFails
	case "session-start", "before-agent", "after-tool", "session-end":
		return mayAnswer
	}
	return unknown
}

// Line is a hook's command.
type Line struct {
	Writ     string        // the program
	Config   string        // the guard file
	Event    string        // before-tool
	Patience time.Duration // how long the answer may take; only before-tool has one
}

// Parts of the commands.
const (
	hookWords  = " hook --config "
	denyScript = "printf %s '" + unanswered + "'; exit 2"

	selectionEnd = " 2>/dev/null || :"
	mayEnd       = " || { " + denyScript + "; }"

	// What is late must not hold the host's stderr: the host would wait for it. The host replaces the names of
	// variables in settings by their values, which a project can set; a[0] is the name of none.
	mustBegin = "IFS= read -r -d '' -t "
	mustExec  = " a < <(exec "
	mustEnd   = ` 2>/dev/null); case ${a[0]} in *'}'$'\n') printf %s "${a[0]}";; *) ` + denyScript + ";; esac"
)

// Command is the line as bash reads it, which does the same as Main: a person may read it, and where the host finds
// another bash it denies too.
func (l Line) Command() string {
	words := quote(l.Writ) + hookWords + quote(l.Config) + " " + l.Event
	switch kindOf(l.Event) {
	case neverFails:
		return words + selectionEnd
	case mayAnswer:
		return words + mayEnd
	}
	return mustBegin + strconv.Itoa(int(l.Patience/time.Second)) + mustExec + words + mustEnd
}

// Parse reads a command that Command has written, and nothing else.
func Parse(command string) (l Line, ok bool) {
	words := command
	if rest, found := strings.CutPrefix(command, mustBegin); found {
		digits, rest, _ := strings.Cut(rest, mustExec)
		seconds, err := strconv.Atoi(digits)
		if err != nil || seconds <= 0 || seconds > maxPatience {
			return Line{}, false
		}
		l.Patience, words = time.Duration(seconds)*time.Second, rest
	}
	if l.Writ, words, ok = unquote(words); !ok {
		return Line{}, false
	}
	words, ok = strings.CutPrefix(words, hookWords)
	if !ok {
		return Line{}, false
	}
	if l.Config, words, ok = unquote(words); !ok {
		return Line{}, false
	}
	l.Event, _, _ = strings.Cut(strings.TrimPrefix(words, " "), " ")
	return l, kindOf(l.Event) != unknown && l.Command() == command
}

// maxPatience bounds how long an answer may take, in seconds.
const maxPatience = 3600

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", escaped) + "'" }

// escaped is a quote within quotes.
const escaped = `'\''`

// unquote reads a word that quote has written, and gives what is behind it.
func unquote(text string) (word, rest string, ok bool) {
	if text, ok = strings.CutPrefix(text, "'"); !ok {
		return "", "", false
	}
	for {
		before, after, found := strings.Cut(text, "'")
		if !found {
			return "", "", false
		}
		word += before
		if text, ok = strings.CutPrefix("'"+after, escaped); !ok {
			return word, after, true
		}
		word += "'"
	}
}
