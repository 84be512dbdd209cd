package shell

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// kind is what an operand or the value of an option is for a program, by its name in the
// descriptions. The method use says what each means.
type kind string

var kinds = names(`text mark dir into lost read tree write dest remove change target name archive pack open page code shell
	each program script module command variable remote revision setting ssh sed awk jq clone suffix word format letters
	assignment printed subscript sourced errors`)

// starts reports whether all that follows belongs to what is started.
func (k kind) starts() bool {
	return k == "command" || k == "shell" || k == "each" || k == "script" || k == "module"
}

// use records what a program does with one value.
func (s *scan) use(p *program, k kind, a arg) {
	switch k {
	case "text", "mark", "dir", "into", "lost": // names no file, or is a directory that others are in
	case "read", "tree", "write", "dest", "remove", "change", "target", "name", "archive", "pack", "open", "page":
		s.useFile(k, a)
	case "shell", "each": // text that a shell runs: all operands joined, or each
		s.inner([]arg{a})
	case "program": // a command that it may run
		s.mayRun(a)
	case "script": // a file whose code it runs
		s.script(a)
	case "code", "command":
		s.dynamic = true
	case "remote", "revision", "setting", "clone":
		s.useGit(p, k, a)
	default:
		s.useOwn(p, k, a)
	}
}

// useOwn reads kinds that belong to one program or a few.
func (s *scan) useOwn(p *program, k kind, a arg) {
	text := a.text()
	switch k {
	case "variable": // name=value for make, which may change how recipes run
		name, value, assigned := strings.Cut(text, "=")
		name = strings.TrimRight(name, ":?+!")
		s.dynamic = s.dynamic || assigned && (name == "SHELL" || name == ".SHELLFLAGS" ||
			strings.ContainsAny(value, "`$;|&") || influenceOf(name) == control)
	case "ssh": // an option of ssh's configuration
		s.dynamic = s.dynamic || !a.exact || !sshHarmless.MatchString(text)
	case "sed":
		s.sedScript(a)
	case "awk":
		s.awkProgram(a)
	case "module": // of Python. Most do their own work; some run code or programs
		s.dynamic = s.dynamic || !a.plain() || runningModules[text]
	case "word":
		s.demand(strings.Trim(strings.ToLower(text), "abcdefghijklmnopqrstuvwxyz0123456789-") == "", p, a)
	case "format": // of date. Another operand sets the clock
		s.demand(strings.HasPrefix(text, "+"), p, a)
	case "letters": // of ps. The letter e without a dash shows the environment of processes
		s.demand(!strings.ContainsAny(text, "eE"), p, a)
	case "jq": // a filter: modules are files, and some names are the environment
		s.opaque = s.opaque || jqReaches.MatchString(text)
	case "assignment": // name=value of the environment
		if name, _, ok := strings.Cut(text, "="); ok {
			s.environment(name, s.without(a, len(name)+1))
		}
	case "printed": // zsh computes what is printed as a number, and %n sets a variable
		s.opaque = s.opaque || substitutes(text)
		s.demand(!storesLength.MatchString(strings.ReplaceAll(text, "%%", "")), p, a)
	case "subscript": // Bash runs a substitution in it although it is quoted
		s.dynamic = s.dynamic || slices.ContainsFunc(a.alternatives, substitutes)
	case "sourced": // a file that the current shell runs: unknown, unless it activates an environment of Python
		s.script(a)
		s.dynamic = s.dynamic || !activates.MatchString(text) || strings.Contains(text, "..")
	case "errors": // an option of the shell about errors; others change how it reads what follows
		s.dynamic = s.dynamic || !a.exact || !aboutErrors[text]
	case "suffix": // is appended to the name of a backup
		s.opaque = s.opaque || text != "" || !a.exact
		s.dynamic = s.dynamic || strings.ContainsAny(text, "/*")
	default: // code
		s.dynamic = true
	}
}

// jqReaches finds modules and the environment in a filter of jq; .env is a member.
var jqReaches = regexp.MustCompile(`import|include|(^|[^.\w])env\b|ENV`)

var (
	storesLength = regexp.MustCompile(`%[-+ #0-9.*hlLjztq']*n`)
	activates    = regexp.MustCompile(`^[^/~].*/bin/activate$`)
)

var aboutErrors = names("pipefail errexit nounset +e +u +x")

var runningModules = names("code pdb timeit trace cProfile profile runpy pty idlelib IPython antigravity")

// demand has a value be unknown unless it is of the form that is described.
func (s *scan) demand(described bool, p *program, a arg) {
	if !described {
		s.unknown.add(p.name + " " + a.text())
	}
}

// useFile records the use of a file.
func (s *scan) useFile(k kind, a arg) {
	text := a.text()
	switch k {
	case "read":
		s.readFile(a)
	case "tree": // with all that is below
		s.opaque = s.opaque || strings.HasPrefix(text, "@") // an archive to some versions of tar
		s.readFile(a)
		s.readFile(s.follow(a, s.lit("/**")))
	case "write":
		s.write(a)
	case "dest", "remove": // dest may be a directory for the other operands. Both may be devices
		s.makes(a)
		s.change(a)
	case "change": // of mode, owner or times
		s.change(a)
	case "target": // a file, or host:file
		if host, _, remote := strings.Cut(text, ":"); !remote || strings.Contains(host, "/") {
			s.write(a)
		}
	case "name": // an address whose last part is the file that is written
		address, _, _ := strings.Cut(text, "?")
		s.write(arg{alternatives: []string{path.Base(address)}, exact: a.exact, glob: a.glob})
	case "archive", "pack": // is read, or written; host:file starts a program
		s.dynamic = s.dynamic || strings.Contains(text, ":")
		if k == "archive" {
			s.readFile(a)
		} else {
			s.write(a)
		}
	case "open": // a file that a person edits, or +command
		s.dynamic = s.dynamic || s.input.given || !a.exact || strings.HasPrefix(text, "+")
		s.write(a)
	case "page": // a file that a person sees, or +command
		s.dynamic = s.dynamic || strings.HasPrefix(text, "+")
		s.readFile(a)
	}
}

// useGit reads the kinds of git.
func (s *scan) useGit(p *program, k kind, a arg) {
	text := a.text()
	switch k {
	case "remote": // a remote of git by its name: an address is not described, and some start a program
		s.dynamic = s.dynamic || strings.Contains(text, "::")
		s.demand(!strings.ContainsAny(text, ":/\\@.~"), p, a)
	case "revision": // a revision or a path of git
		s.gitRevision(a)
	case "setting": // name=value of git's configuration
		s.gitSetting(a)
	case "clone": // a repository that is copied
		s.dynamic = s.dynamic || strings.Contains(text, "::")
	}
}

// gitRevision reads a revision or a path: both may name a file.
func (s *scan) gitRevision(a arg) {
	s.readFile(a)
	text := a.text()
	if first := strings.IndexByte(text, ':'); first >= 0 && a.plain() {
		s.readFile(s.lit(strings.TrimLeft(text[first:], "0123:")))
		s.readFile(s.lit(text[strings.LastIndexByte(text, ':')+1:]))
	}
}

// gitHarmless are settings that name no program. All others may.
var gitHarmless = regexp.MustCompile(`^(?i:(user|author|committer|color|advice|pull|log|branch|rerere|column|status)\.` +
	`|init\.defaultbranch|(commit|tag)\.gpgsign|core\.(quotepath|autocrlf|eol|filemode|ignorecase|longpaths|abbrev)` +
	`|push\.(default|autosetupremote)|fetch\.prune|merge\.(conflictstyle|ff)|rebase\.auto|diff\.(algorithm|renames)` +
	`|http\.(postbuffer|version))[^=]*(=[^!]|=?$)`)

// gitSetting reads name=value of git's configuration, which may name a program.
func (s *scan) gitSetting(setting arg) {
	name, _, _ := strings.Cut(strings.ToLower(setting.text()), "=")
	if name == "core.pager" || name == "core.editor" || name == "sequence.editor" {
		s.mayRun(s.without(setting, len(name)+1))
		return
	}
	s.dynamic = s.dynamic || !setting.exact || !gitHarmless.MatchString(setting.text())
}

var sshHarmless = regexp.MustCompile(`^\s*(?i:stricthostkeychecking|userknownhostsfile|connecttimeout|batchmode|port|user` +
	`|serveraliveinterval|loglevel|identityfile|identitiesonly|forwardagent)\s*([= ]|$)`)

// script reads the file that a shell or an interpreter runs.
func (s *scan) script(file arg) {
	text := file.text()
	s.dynamic = s.dynamic || !file.plain() || file.process || text == "-" || strings.HasPrefix(text, "/dev/") ||
		strings.HasPrefix(text, "/proc/")
	for _, name := range file.alternatives {
		s.run(name)
	}
}
