package shell

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// kind is what an operand or the value of an option is for a program.
type kind uint8

const (
	kindText     kind = iota + 1 // anything that names no file and no program
	kindRead                     // a file or directory that it reads
	kindTree                     // a file, or a directory with all that is below
	kindWrite                    // a file that it creates, changes or removes
	kindDest                     // a file that it writes, or a directory for the other operands
	kindRemove                   // a file that it removes or moves, devices too
	kindChange                   // a file of which it changes the mode, owner or times
	kindTarget                   // a file that it writes, or host:file
	kindName                     // an address whose last part is the file that it writes
	kindDir                      // the directory that it works in
	kindInto                     // the directory of the operands
	kindLost                     // a directory, after which relative paths are unknown
	kindCode                     // code that it runs
	kindShell                    // text that a shell runs; as operands, joined by spaces
	kindEach                     // operands that a shell runs one by one
	kindProgram                  // a command that it may run
	kindScript                   // a file whose code it runs; the rest is for that code
	kindModule                   // a module of Python
	kindCommand                  // a program with its arguments
	kindVariable                 // name=value for make
	kindRemote                   // a remote of git
	kindRevision                 // a revision or a path of git
	kindSetting                  // name=value of git's configuration
	kindSsh                      // an option of ssh's configuration
	kindSed                      // a script of sed
	kindAwk                      // a program of awk
	kindOpen                     // a file that a person sees or edits, or +command
	kindPage                     // a file that a person sees, or +command
	kindJq                       // a filter of jq
	kindSuffix                   // what is appended to the name of a backup
	kindWord                     // a word of letters and digits
	kindArchive                  // an archive that is read; host:file starts a program
	kindPack                     // an archive that is written
	kindClone                    // a repository that is copied
	kindMark                     // text that stands for a name, as of xargs -I
)

var kindNames = []string{
	kindText: "text", kindRead: "read", kindTree: "tree", kindWrite: "write",
	kindDest: "dest", kindRemove: "remove", kindChange: "change", kindTarget: "target",
	kindName: "name", kindDir: "dir", kindInto: "into", kindLost: "lost",
	kindCode: "code", kindShell: "shell", kindEach: "each", kindProgram: "program",
	kindScript: "script", kindModule: "module", kindCommand: "command", kindVariable: "variable",
	kindRemote: "remote", kindRevision: "revision", kindSetting: "setting", kindSsh: "ssh",
	kindSed: "sed", kindAwk: "awk", kindOpen: "open", kindPage: "page",
	kindJq: "jq", kindSuffix: "suffix", kindWord: "word", kindArchive: "archive",
	kindPack: "pack", kindClone: "clone", kindMark: "mark",
}

func kindNamed(name string) kind { return kind(max(slices.Index(kindNames, name), 0)) }

// starts reports whether all that follows belongs to what is started.
func (k kind) starts() bool {
	return k == kindCommand || k == kindShell || k == kindEach || k == kindScript || k == kindModule
}

// use records what a program does with one value.
func (s *scan) use(p *program, k kind, a arg) {
	switch k {
	case kindText, kindMark, kindDir, kindInto, kindLost:
	case kindShell, kindEach:
		s.inner([]arg{a})
	case kindProgram:
		s.mayRun(a)
	case kindScript:
		s.script(a)
	case kindVariable:
		s.makeVariable(a)
	case kindRemote:
		s.gitRemote(p, a)
	case kindRevision:
		s.gitRevision(a)
	case kindSetting:
		s.gitSetting(a)
	case kindSsh:
		s.sshOption(a)
	case kindSed:
		s.sedScript(a)
	case kindAwk:
		s.awkProgram(a)
	case kindModule:
		s.module(a)
	case kindWord:
		if strings.Trim(strings.ToLower(a.text()), "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			s.unknown.add(p.name + " " + a.text())
		}
	case kindJq: // modules are files
		s.opaque = s.opaque || strings.Contains(a.text(), "import") || strings.Contains(a.text(), "include") ||
			jqEnvironment.MatchString(a.text())
	case kindClone:
		s.dynamic = s.dynamic || strings.Contains(a.text(), "::")
	case kindSuffix:
		s.opaque = s.opaque || a.text() != "" || !a.exact
		s.dynamic = s.dynamic || strings.ContainsAny(a.text(), "/*")
	default:
		s.dynamic = !s.useFile(k, a) || s.dynamic
	}
}

// jqEnvironment is the environment in a filter of jq; .env is a member.
var jqEnvironment = regexp.MustCompile(`(^|[^.\w])env\b|ENV`)

// useFile records the use of a file. Any other kind is code.
func (s *scan) useFile(k kind, a arg) bool {
	switch k {
	case kindRead:
		s.readFile(a)
	case kindTree:
		s.opaque = s.opaque || strings.HasPrefix(a.text(), "@") // an archive to some versions of tar
		s.readFile(a)
		s.readFile(a.followed(literal("/**")))
	case kindWrite:
		s.write(a)
	case kindRemove, kindDest:
		s.makes(a)
		s.change(a)
	case kindChange:
		s.change(a)
	case kindTarget:
		if host, _, remote := strings.Cut(a.text(), ":"); !remote || strings.Contains(host, "/") {
			s.write(a)
		}
	case kindName:
		address, _, _ := strings.Cut(a.text(), "?")
		s.write(arg{alternatives: []string{path.Base(address)}, exact: a.exact, glob: a.glob})
	case kindArchive:
		s.dynamic = s.dynamic || strings.Contains(a.text(), ":")
		s.readFile(a)
	case kindPack:
		s.dynamic = s.dynamic || strings.Contains(a.text(), ":")
		s.write(a)
	case kindOpen:
		s.dynamic = s.dynamic || s.input.given || !a.exact || strings.HasPrefix(a.text(), "+")
		s.write(a)
	case kindPage:
		s.dynamic = s.dynamic || strings.HasPrefix(a.text(), "+")
		s.readFile(a)
	default:
		return false
	}
	return true
}

// makeVariable reads an operand of make, which may change how recipes run.
func (s *scan) makeVariable(a arg) {
	name, value, assigned := strings.Cut(a.text(), "=")
	name = strings.TrimRight(name, ":?+!")
	if assigned && (name == "SHELL" || name == ".SHELLFLAGS" || strings.ContainsAny(value, "`$;|&") ||
		influenceOf(name) == control) {
		s.dynamic = true
	}
}

// gitRemote reads a remote by its name. An address, or another repository, is not
// described, and some addresses start a program.
func (s *scan) gitRemote(p *program, a arg) {
	text := a.text()
	if strings.Contains(text, "::") {
		s.dynamic = true
	}
	if strings.ContainsAny(text, ":/\\@.~") {
		s.unknown.add(p.name + " " + text)
	}
}

// gitRevision reads a revision or a path: both may name a file.
func (s *scan) gitRevision(a arg) {
	s.readFile(a)
	text := a.text()
	if first := strings.IndexByte(text, ':'); first >= 0 && a.plain() {
		s.readFile(literal(strings.TrimLeft(text[first:], "0123:")))
		s.readFile(literal(text[strings.LastIndexByte(text, ':')+1:]))
	}
}

// gitHarmless are the prefixes of settings that name no program. All others may.
var gitHarmless = []string{
	"user.", "author.", "committer.", "color.", "advice.", "init.defaultbranch", "commit.gpgsign", "tag.gpgsign",
	"core.quotepath", "core.autocrlf", "core.eol", "core.filemode", "core.ignorecase", "core.longpaths", "core.abbrev",
	"pull.", "push.default", "push.autosetupremote", "fetch.prune", "merge.conflictstyle", "merge.ff", "rebase.auto",
	"diff.algorithm", "diff.renames", "log.", "http.postbuffer", "http.version", "branch.", "rerere.", "column.",
	"status.",
}

// gitSetting reads name=value of git's configuration, which may name a program.
func (s *scan) gitSetting(setting arg) {
	name, value, _ := strings.Cut(setting.text(), "=")
	name = strings.ToLower(name)
	if name == "core.pager" || name == "core.editor" || name == "sequence.editor" {
		s.mayRun(setting.without(len(name) + 1))
		return
	}
	for _, prefix := range gitHarmless {
		if strings.HasPrefix(name, prefix) && !strings.HasPrefix(value, "!") && setting.exact {
			return
		}
	}
	s.dynamic = true
}

var sshHarmless = names(`stricthostkeychecking userknownhostsfile connecttimeout batchmode serveraliveinterval loglevel
	port user identityfile identitiesonly forwardagent`)

func (s *scan) sshOption(a arg) {
	name, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(a.text())), "=")
	name, _, _ = strings.Cut(name, " ")
	s.dynamic = s.dynamic || !a.exact || !sshHarmless[name]
}

// script reads the file that a shell or an interpreter runs.
func (s *scan) script(file arg) {
	text := file.text()
	if !file.plain() || file.process || strings.HasPrefix(text, "/dev/") || strings.HasPrefix(text, "/proc/") ||
		text == "-" {
		s.dynamic = true
	}
	for _, name := range file.alternatives {
		s.run(name)
	}
}

// module reads python -m. Most modules do their own work; some run code or programs.
func (s *scan) module(name arg) {
	switch name.text() {
	case "code", "pdb", "timeit", "trace", "cProfile", "profile", "runpy", "pty", "idlelib", "IPython", "antigravity":
		s.dynamic = true
	}
	s.dynamic = s.dynamic || !name.plain()
}
