// Package shell tells from the text of a shell command what it runs, what it
// writes, and whether that can be known at all.
//
// An agent writes the command, so the text is hostile. Parse looks at all of
// it: pipes, lists, substitutions, functions, bodies of loops, here-documents,
// the text of sh -c and eval, and the command that a wrapper such as env, sudo,
// xargs or find -exec starts. It reads as Bash does, removes quotes, expands
// braces, and follows variables that the command itself sets to plain text.
//
// Nothing is executed and no file is looked at. What runs is often decided by
// things the text does not hold: a variable of the environment, the output of
// another program, a file that is sourced. Then Dynamic is true, and whoever
// judges the command must not conclude anything from what the lists lack. The
// same holds for text that is too long, too deep, or no shell at all: it is
// Dynamic, with the programs that a rough reading finds, never an empty and
// harmless answer.
//
// Programs that do as they are told by a file (make, npm run, ./build.sh,
// python app.py) are not Dynamic: the file is the workspace's, and writing it
// was judged when it was written. Code that stands in the command itself and is
// not shell (python -c, perl -e) is, and so is a file that the same command
// writes and runs. What is only read is not judged: cat "$x" is not Dynamic.
package shell

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of a command. Beyond them it is Dynamic.
const (
	maxBytes = 64 << 10 // of the text
	maxTexts = 8        // texts within texts: sh -c 'sh -c …'
	maxWraps = 32       // programs that start each other: env env env …
	maxNest  = 2_000    // brackets or compound commands open at once
	maxSteps = 20_000   // commands looked at, those of inner texts included
	maxBrace = 256      // words one brace expansion may give
	maxDirs  = 8        // directories the command may be in
	maxAlts  = 64       // values a variable may have
)

// Command is what is known of a command.
type Command struct {
	// Programs are the base names of all programs and builtins it runs,
	// sorted, each once.
	Programs []string
	// Paths are the programs among them that are called by a path and not by
	// their name, as written, sorted, each once. An agent can write a file of any
	// name: what is called ./git need not be git.
	Paths []string
	// Writes are the paths it creates, changes or removes, as far as the text
	// tells, sorted, each once: cleaned, relative to where the command starts
	// unless absolute, and with a leading ~ for the home directory. A pattern of
	// the shell stands as it is; "**" is everything below.
	Writes []string
	// Words are the plain texts given to programs as arguments and the files
	// read from, after quotes are removed, sorted, each once. Those of programs
	// that only print (echo, printf) are left out unless another program or a
	// word takes what they print.
	Words []string
	// Dynamic is true when what runs, or what is written, cannot be known from
	// the text.
	Dynamic bool
}

// Parse reads a command. It always ends, with an answer that is safe to judge:
// should our reading or the parser's fail, the answer is that nothing is known.
func Parse(command string) (found Command) {
	defer func() {
		if recover() != nil {
			found = parse(command, (*scan).roughly)
		}
	}()
	return parse(command, (*scan).text)
}

func parse(command string, read func(*scan, string)) Command {
	s := newScan()
	read(s, command)
	return Command{
		Programs: sorted(s.programs),
		Paths:    sorted(s.paths),
		Writes:   sorted(s.writes),
		Words:    sorted(s.words),
		Dynamic:  s.dynamic || s.runsWhatItMakes(),
	}
}

// suspicious reports text that shells and we may read differently.
func suspicious(text string) bool {
	return len(text) > maxBytes || !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\r")
}

func sorted(set map[string]bool) []string {
	list := make([]string, 0, len(set))
	for item := range set {
		list = append(list, item)
	}
	slices.Sort(list)
	return list
}
