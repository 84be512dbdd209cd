// Package shell finds out from the text of a shell command what it runs, reads and
// writes, and whether that can be known at all.
//
// An agent writes the command, so the text is hostile. Parse reads all of it: pipes,
// lists, substitutions, functions, loops, here-documents, the text of sh -c and eval,
// and the command that a program such as env, sudo, xargs or find -exec starts. It reads
// as Bash does, removes quotes, expands braces, and follows variables that the command
// itself sets to plain text. It executes nothing and opens no file.
//
// A command is plain if nothing about it is in doubt: the syntax is of a short list,
// every word is known, and every program and option is in the descriptions below
// programs. Whatever else is found only adds a doubt: Dynamic, Opaque, Unknown or
// Scripts. Then the lists hold what can be seen, and the caller must not conclude
// anything from what they lack.
//
// Text that is too long, too deeply nested or not shell is Dynamic, with the programs
// that a tolerant reading finds: never an empty, harmless answer. docs/shell.md explains
// what plain means and how a program is described.
package shell

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of a command. Beyond them it is Dynamic.
const (
	maxBytes  = 64 << 10 // of the text
	maxTexts  = 8        // texts within texts: sh -c 'sh -c …'
	maxWraps  = 32       // programs that start each other: env env env …
	maxLines  = 256      // words that an unknown program may run; of more, only the words within them count
	maxNest   = 2_000    // brackets or compound commands open at once
	maxSteps  = 20_000   // commands read, including those of inner texts
	maxBrace  = 256      // words of one brace expansion
	maxBraces = 8        // braces of a word
	maxDirs   = 8        // directories the command may be in
	maxAlts   = 64       // values a variable may have
)

// Command is what is known of a command.
type Command struct {
	// All lists are sorted and without repeats.

	// Programs are the base names of all programs and builtins that it runs.
	Programs []string
	// Paths are the programs among them that are called by a path, as written. An
	// agent can write a file of any name: ./git need not be git.
	Paths []string
	// Writes are the paths that it creates, changes or removes, as far as the text
	// shows: cleaned, relative to where the command starts unless absolute, and with a
	// leading ~ for the home directory. Patterns stay as they are; "**" is everything
	// below.
	Writes []string
	// Words are the plain texts given to programs as arguments, and the files that are
	// redirected in, without quotes. Those of programs that only print (echo, printf) are left
	// out unless something uses their output.
	Words []string
	// Reads are the paths whose contents it reads, in the form of Writes.
	Reads []string
	// Scripts are the programs that run code of the workspace: make, npm, ./build.sh.
	Scripts []string
	// Unknown are the programs without a description, and "program option" where a
	// described program has an option that is not.
	Unknown []string
	// MayRun are the names in the words of programs without a description: such a program may start one.
	MayRun []string
	// Dynamic is true if the text does not show what runs, or where something is
	// written.
	Dynamic bool
	// Opaque is true if some word is not known: a pattern, an expansion, the output of
	// another program.
	Opaque bool
}

// Plain reports whether everything about the command is understood: what it starts,
// reads and writes is in the lists, and nothing else.
func (c *Command) Plain() bool {
	return !c.Dynamic && !c.Opaque && len(c.Unknown) == 0 && len(c.Scripts) == 0
}

// Parse reads a command. It always returns an answer that is safe to judge: if we or
// the parser panic, the answer is Dynamic.
func Parse(command string) (found Command) {
	defer func() {
		if recover() != nil {
			found = parse(command, (*scan).tolerant)
		}
	}()
	return parse(command, (*scan).text)
}

func parse(command string, read func(*scan, string)) Command {
	s := newScan()
	read(s, command)
	found := Command{Dynamic: s.dynamic || s.runsWhatItMakes(), Opaque: s.opaque}
	size := 0
	for _, l := range s.lists() {
		size += len(l.sorted())
	}
	all := make([]string, 0, size) // memory for all of them at once
	for i, into := range found.lists() {
		from := len(all)
		all = append(all, *s.lists()[i]...)
		*into = all[from:len(all):len(all)]
	}
	scans.Put(s) // not after a panic
	return found
}

func (c *Command) lists() []*[]string {
	return []*[]string{&c.Programs, &c.Paths, &c.Writes, &c.Reads, &c.Words, &c.Scripts, &c.Unknown, &c.MayRun}
}

// lists are those of a Command, in the same order.
func (s *scan) lists() []*list {
	return []*list{&s.programs, &s.paths, &s.writes, &s.reads, &s.words, &s.scripts, &s.unknown, &s.possible}
}

// ambiguous reports whether shells may read a text differently than we do.
func ambiguous(text string) bool {
	return len(text) > maxBytes || strings.IndexByte(text, 0) >= 0 || strings.IndexByte(text, '\r') >= 0 ||
		!utf8.ValidString(text)
}

// list is a set of texts, which is small as a rule.
type list []string

func (l *list) add(text string) {
	if n := len(*l); n >= 64 && n&(n-1) == 0 { // keep out repeats before it grows
		l.sorted()
	}
	*l = append(*l, text)
}

// empty makes it empty, in the same memory unless that is large.
func (l *list) empty() {
	if cap(*l) > maxKept {
		*l = nil
	}
	*l = (*l)[:0]
}

// sorted sorts it and removes repeats.
func (l *list) sorted() list {
	slices.Sort(*l)
	*l = slices.Compact(*l)
	return *l
}

// names is a set of words.
func names(text string) map[string]bool {
	set := map[string]bool{}
	for name := range strings.FieldsSeq(text) {
		set[name] = true
	}
	return set
}
