package selfguard

import (
	"path/filepath"
	"slices"
	"strings"
)

const (
	maxNesting = 6  // of commands in words
	maxBases   = 64 // folders from which a path may be meant
)

// Programs by what they do with files that are named. What could write or start something is in none of the first two.
const (
	// looks may be given settings.
	looks = "cat head tail grep egrep fgrep ls stat file wc cmp md5sum sha256sum test [ [[ source . echo printf jq " +
		"realpath readlink basename dirname which type cd pushd git find du diff done fi read"
	// lists may be given Writ's programs.
	lists = "ls stat file test [ [[ which type realpath readlink basename dirname du echo printf find git"
	// takes copy, change or remove a folder with all that is in it, or print it.
	takes = "rm rmdir mv cp rsync tar zip 7z chmod chown chgrp chattr setfacl ln install dd shred unlink grep egrep " +
		"fgrep rg ag cpio scp mount find xargs git unzip patch"
	// gitLooks are the commands of git that only look.
	gitLooks = "status diff log show ls-files check-ignore blame grep rev-parse branch remote describe add"
	// keywords stand before a command.
	keywords = "if then elif else while until do ! { time"
	// wrappers start the command that is among their words.
	wrappers = "sudo doas env nohup time timeout xargs exec command nice ionice setsid stdbuf watch parallel strace " +
		"script unshare chroot busybox find eval builtin sh bash dash zsh ksh fish su runuser flock ssh nsenter systemd-run " +
		"at batch writ coproc then do else setarch linux32 linux64 taskset chrt prlimit"
)

// ourPrograms are the names of Writ's programs.
const ourPrograms = "writ writ-client writ-plan writd"

// in reports whether a word is one of a list. A map would be made at every start.
func in(list, word string) bool {
	return word != "" && !strings.Contains(word, " ") && strings.Contains(" "+list+" ", " "+word+" ")
}

// CheckShell is the reason why a shell command that runs in a folder is denied; empty: none was found.
func (g *Guard) CheckShell(text, folder string) string {
	c := &shellCheck{guard: g, bases: []string{folder}}
	for _, sign := range []string{"|", "<(", "<<", "$(", "`"} {
		c.piped = c.piped || strings.Contains(text, sign)
	}
	if reason := c.check(text, 0); reason != "" {
		return reason
	}
	if c.lost {
		return manyFolders
	}
	return ""
}

// shellCheck checks one text.
type shellCheck struct {
	guard *Guard
	bases []string // folders from which a relative path may be meant
	piped bool     // what is printed may be run
	lost  bool     // there are more folders than are followed
	seen  map[string]bool
}

func (c *shellCheck) check(text string, nesting int) string {
	words := split(text, nesting == 0)
	for len(words) > 0 {
		end := 1
		for end < len(words) && !words[end].begins {
			end++
		}
		if reason := c.checkCommand(words[:end], nesting); reason != "" {
			return reason
		}
		words = words[end:]
	}
	return ""
}

// checkCommand checks a simple command.
func (c *shellCheck) checkCommand(words []word, nesting int) string {
	settings, words := cutSettings(words)
	if reason := c.checkWords(&simple{words: settings}, nesting); reason != "" || len(words) == 0 {
		return reason
	}
	command := &simple{words: words, name: baseName(words[0].text)}
	if reason := command.starts(); reason != "" {
		return reason
	}
	if command.name == "cd" || command.name == "pushd" {
		defer c.enter(words[len(words)-1].text)
	}
	return c.checkWords(command, nesting)
}

func (c *shellCheck) checkWords(command *simple, nesting int) string {
	for i, w := range command.words {
		if c.isText(command, i) {
			continue
		}
		if reason := c.checkWord(command, i, w); reason != "" {
			return reason
		}
		if nesting < maxNesting && strings.ContainsAny(w.text, " \t\n;|&()'\"`<>") {
			if reason := c.check(w.text, nesting+1); reason != "" {
				return reason
			}
		}
	}
	return ""
}

// cutSettings takes off what stands before a command: keywords, and variables that are set for it.
func cutSettings(words []word) (settings, rest []word) {
	for i, w := range words {
		name, _, assigns := strings.Cut(w.text, "=")
		if !in(keywords, w.text) && !(assigns && name != "" && !strings.ContainsAny(name, "/.-~$")) {
			return words[:i], words[i:]
		}
	}
	return words, nil
}

// enter adds the folder of a cd to those from which a path may be meant.
func (c *shellCheck) enter(dir string) {
	for _, base := range slices.Clone(c.bases) {
		at := c.guard.absolute(base, dir)
		switch {
		case slices.Contains(c.bases, at):
		case len(c.bases) < maxBases:
			c.bases = append(c.bases, at)
		default:
			c.lost = true
		}
	}
}

// isText reports whether a word is text that is not run: the message of a commit, or what is only printed.
func (c *shellCheck) isText(command *simple, i int) bool {
	if i == 0 || command.words[i].written {
		return false
	}
	before := command.words[i-1].text
	switch command.name {
	case "git":
		return command.words[1].text == "commit" &&
			(before == "-m" || before == "-am" || before == "--message" || before == "-sm")
	case "echo", "printf":
		return !c.piped
	}
	return false
}

// checkWord checks what a word of a command names.
func (c *shellCheck) checkWord(command *simple, i int, w word) string {
	for _, base := range c.bases {
		if command.removes(i) && c.guard.holdsWorkspace(c.guard.absolute(base, w.text)) {
			return strings.Replace(workspaceReason, "%s", w.text, 1)
		}
		if in(takes, command.name) && !command.onlyLooks() && i > 0 && c.classIn(base, w.text) == above {
			return reasonFor(above, w.text)
		}
		for _, text := range spellings(w.text) {
			if found := c.classIn(base, text); found > above && !command.mayName(found, i, w) {
				return reasonFor(found, text)
			}
		}
	}
	return ""
}

// classIn is what a word leads to from a folder: as it is written, and with links followed as the shell does, before
// dots lead up again.
func (c *shellCheck) classIn(base, text string) class {
	g := c.guard
	path := g.absolute(base, text)
	found := max(g.classOf(path), g.tailClass(path))
	if first, _, _ := strings.Cut(text, "/"); first != "" && !c.exists(filepath.Join(base, first)) &&
		first != "~" && !strings.HasPrefix(first, "$") {
		return found // no link is on the way
	}
	found = max(found, g.classOf(g.Real(path)))
	if strings.Contains(text, "..") {
		found = max(found, g.classOf(g.Real(base+"/"+text)))
	}
	return found
}

// exists asks once for each path: a long text has many words, and few files.
func (c *shellCheck) exists(path string) bool {
	known, ok := c.seen[path]
	if !ok {
		if c.seen == nil {
			c.seen = map[string]bool{}
		}
		known = c.guard.Exists(path)
		c.seen[path] = known
	}
	return known
}

// spellings are the paths that a word may hold: itself, and what is behind the signs that stand before a path.
func spellings(text string) []string {
	text = strings.NewReplacer("{", "*", "}", "*").Replace(text)
	all := []string{text}
	for part := range strings.FieldsFuncSeq(text, isSign) {
		if part = strings.TrimLeft(part, "-+"); part != "" && part != text {
			all = append(all, part)
		}
	}
	return all
}

func isSign(r rune) bool { return strings.ContainsRune("=,:@'\"()<>|;& ", r) }

// tailClass finds Writ's secrets by the end of a path whose beginning nobody knows: $D/writ/guard.json.
func (g *Guard) tailClass(path string) class {
	at := parts(path)
	for _, protected := range g.all() {
		own := protected.parts
		if protected.class != secret || len(own) < 2 {
			continue
		}
		for i := 0; i+2 <= len(at); i++ {
			if match(at[i], own[len(own)-2]) && match(at[i+1], own[len(own)-1]) {
				return secret
			}
		}
	}
	return free
}

// simple is a simple command.
type simple struct {
	words []word
	name  string // of the program, without its folder
}

func baseName(text string) string { return fold(filepath.Base(filepath.ToSlash(text))) }

// starts is the reason why a command is denied that starts a program of Writ.
func (s *simple) starts() string {
	for i, w := range s.words {
		name := strings.TrimSuffix(baseName(w.text), ".exe")
		if !in(ourPrograms, name) || i > 0 && !in(wrappers, s.name) {
			continue
		}
		next := ""
		if i+1 < len(s.words) {
			next = s.words[i+1].text
		}
		if name == "writ" && slices.Contains([]string{"run", "version", "--version", "--help", "help"}, next) {
			continue
		}
		return strings.Replace(startReason, "%s", strings.TrimSpace(name+" "+next), 1)
	}
	return ""
}

// removes reports whether a command takes away what a word of it names, or the way into it.
func (s *simple) removes(i int) bool {
	named := s.words[i].text
	if i == 0 || strings.HasPrefix(named, "-") {
		return false
	}
	switch s.name {
	case "rm", "rmdir":
		return true
	case "mv":
		return i < len(s.words)-1 // the last one is where things go
	case "find":
		return s.has("-delete", "-exec") && named != "." // which find does not remove
	case "chmod":
		return slices.ContainsFunc(s.words[1:], func(w word) bool { return closes(w.text) })
	}
	return false
}

// closes reports whether a mode of chmod takes the right to enter a folder from its owner.
func closes(mode string) bool {
	if len(mode) >= 3 && strings.Trim(mode, "01234567") == "" {
		return (mode[len(mode)-3]-'0')&1 == 0
	}
	for clause := range strings.SplitSeq(mode, ",") {
		rights := strings.TrimLeft(clause, "ugoa")
		who := clause[:len(clause)-len(rights)]
		if strings.Trim(rights, "rwxXst+-=") != "" || who != "" && !strings.ContainsAny(who, "ua") {
			continue
		}
		enters := strings.ContainsAny(rights, "xX")
		if strings.HasPrefix(rights, "-") && enters || strings.HasPrefix(rights, "=") && !enters {
			return true
		}
	}
	return false
}

// mayName reports whether the command may be given something that is protected.
func (s *simple) mayName(found class, i int, w word) bool {
	switch {
	case found == secret || w.written || s.name == "":
		return false
	case i == 0:
		return found == program // what may be started was checked
	case found == program:
		return in(lists, s.name) && s.onlyLooks()
	case s.words[i-1].text == "--env-file" || strings.HasPrefix(w.text, "--env-file="):
		return true
	}
	return in(looks, s.name) && s.onlyLooks()
}

// onlyLooks excludes uses that write, start or print something. It does not know all programs: see looks and lists.
func (s *simple) onlyLooks() bool {
	switch s.name {
	case "git":
		return len(s.words) > 1 && in(gitLooks, s.words[1].text) && !s.has("--output", "--ext-diff")
	case "find":
		return !s.has("-exec", "-ok", "-delete", "-fprint", "-fls")
	case "cat", "head", "tail", "ls", "stat", "du":
		return true
	}
	return !in(takes, s.name) || !s.recursive()
}

// has reports whether a word begins with one of these.
func (s *simple) has(prefixes ...string) bool {
	return slices.ContainsFunc(s.words, func(w word) bool {
		return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(w.text, prefix) })
	})
}

// recursive reports whether a program that searches files would search folders. Others that take folders always do.
func (s *simple) recursive() bool {
	if !strings.HasSuffix(s.name, "grep") {
		return true
	}
	return s.has("-r", "-R", "--recursive", "--dereference-recursive") ||
		slices.ContainsFunc(s.words, func(w word) bool {
			return strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "--") &&
				strings.ContainsAny(w.text, "rR")
		})
}
