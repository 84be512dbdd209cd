package shell

import "strings"

// git reads git, which runs programs that its settings, its environment and some
// options name.
func git(s *scan, args []arg) {
	at := s.gitOptions(args)
	if at >= len(args) {
		return
	}
	if !args[at].plain() {
		s.dynamic = true // an unknown command
		return
	}
	rest := args[at:]
	s.writeAll(exactly(rest, "--output"))
	for _, a := range rest[1:] {
		s.gitRemote(a.text())
	}
	switch rest[0].text() {
	case "config":
		s.gitConfig(rest)
	case "rebase":
		for _, text := range values(rest, 'x', "--exec") {
			s.inner([]arg{text})
		}
	case "bisect":
		if len(rest) > 2 && rest[1].text() == "run" {
			s.call(rest[2:])
		}
	case "submodule":
		if len(rest) > 2 && rest[1].text() == "foreach" {
			s.inner(operands(rest[1:], ""))
		}
	case "filter-branch", "filter-repo", "difftool", "mergetool", "instaweb", "daemon", "shell", "send-email",
		"hook", "credential", "web--browse":
		s.dynamic = true
	case "grep":
		s.gitPager(rest)
	case "clone":
		if len(values(rest, 'c', "--config")) > 0 || len(values(rest, 'u', "")) > 0 {
			s.dynamic = true
		}
		if paths := operands(rest, "bocju", "--branch", "--origin", "--depth", "--jobs",
			"--reference"); len(paths) > 1 {
			s.write(paths[1])
		}
	}
}

func (s *scan) gitOptions(args []arg) int {
	at := 1
	for ; at < len(args); at++ {
		text := args[at].text()
		switch {
		case !args[at].exact:
			s.dynamic = true
			return at
		case text == "-c" && at+1 < len(args):
			at++
			s.gitSetting(args[at])
		case text == "-C" && at+1 < len(args), text == "--git-dir", text == "--work-tree", text == "--namespace":
			at++
		case strings.HasPrefix(text,
			"--config-env"), strings.HasPrefix(text, "--exec-path="), strings.HasPrefix(text, "-c"):
			s.dynamic = true
		case !strings.HasPrefix(text, "-"):
			return at
		}
	}
	return at
}

// gitHarmless are the prefixes of settings that name no program. All others may.
var gitHarmless = []string{
	"user.", "author.", "committer.", "color.", "advice.", "init.defaultbranch", "commit.gpgsign", "tag.gpgsign",
	"core.quotepath", "core.autocrlf", "core.eol", "core.filemode", "core.ignorecase", "core.longpaths", "core.abbrev",
	"pull.", "push.default", "push.autosetupremote", "fetch.prune", "merge.conflictstyle", "merge.ff", "rebase.auto",
	"diff.algorithm", "diff.renames", "log.", "http.postbuffer", "http.version", "branch.", "rerere.", "column.",
	"status.",
}

func (s *scan) gitSetting(setting arg) {
	name, value, _ := strings.Cut(setting.text(), "=")
	name = strings.ToLower(name)
	if name == "core.pager" || name == "core.editor" || name == "sequence.editor" {
		s.mayRun(setting.without(len(name) + 1))
		return
	}
	for _, prefix := range gitHarmless {
		if strings.HasPrefix(name, prefix) && !strings.HasPrefix(value, "!") {
			return
		}
	}
	s.dynamic = true
}

// gitConfig reads git config. Reading a setting is harmless; setting one has effect from
// then on.
func (s *scan) gitConfig(args []arg) {
	for _, a := range args[1:] {
		switch a.text() {
		case "--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l", "--unset", "--unset-all",
			"get", "list", "unset", "--show-origin":
			return
		case "-e", "--edit", "edit":
			s.dynamic = true
			return
		}
	}
	words := operands(args, "ft", "--file", "--type", "--blob")
	if len(words) > 0 && words[0].text() == "set" {
		words = words[1:]
	}
	if len(words) >= 2 {
		s.gitSetting(words[0].followed(literal("=")).followed(words[1]))
	}
}

// gitRemote reads options and addresses that name a program.
func (s *scan) gitRemote(text string) {
	if strings.HasPrefix(text, "ext::") || strings.HasPrefix(text, "fd::") {
		s.dynamic = true
	}
	for _, option := range []string{
		"--upload-pack", "--receive-pack", "--exec", "--extcmd", "--ext-diff", "--open-files-in-pager", "--textconv",
		"--smtp-server", "--template",
	} {
		if len(text) > 5 && abbreviates(text, option) && text != "--text" {
			s.dynamic = true
		}
	}
}

func (s *scan) gitPager(args []arg) {
	for _, a := range args[1:] {
		if strings.HasPrefix(a.text(), "-O") {
			s.dynamic = true
		}
	}
}
