package shell

import (
	"regexp"
	"strings"
)

// launcherHandlers are programs with work of their own that can also start others, by
// their names separated by spaces.
var launcherHandlers = map[string]handler{
	"find gfind":   find,
	"fd fdfind":    fd,
	"xargs gxargs": xargs,
	"parallel":     parallel,

	"awk gawk mawk nawk original-awk": awk,

	"ssh":                              ssh,
	"scp sftp":                         scp,
	"rsync":                            rsync,
	"docker podman nerdctl kubectl oc": containers,
	"socat at batch run-parts logrotate setarch ansible": alwaysDynamic,
	"nc ncat": flagged("-e", "-c", "--exec", "--sh-exec", "--lua-exec"),
	"netcat":  flagged("-e", "-c"),

	"vim vi nvim ex view vimdiff emacs ed red nano": editor,
	"man":  flagged("-P", "--pager", "-H", "--html"),
	"less": flagged("+!", "-k", "--lesskey"),
	"more": flagged("+!"),

	"git":              git,
	"gh":               gh,
	"make gmake bmake": makeRun,
	"just":             flagged("--shell", "--shell-arg", "--command", "-c"),
	"cmake":            flagged("-E"),
	"go":               flagged("-toolexec", "-exec", "-vettool", "--toolexec", "--exec", "--vettool"),
	"cargo":            flagged("--config"),
	"gcc":              flagged("-wrapper", "--wrapper"),
	"clang":            flagged("-wrapper"),
	"npm pnpm yarn":    packages,
	"pip":              flagged("--global-option"),
	"dpkg":             flagged("--pre-invoke"),
	"apt apt-get":      flagged("-o", "--option"),
	"rpm":              flagged("--eval", "-E", "--pipe", "--define"),

	"psql":          database(`\\!|\\copy.*program|(?i)copy\b.*\bprogram\b`),
	"mysql mariadb": database(`\\!|(?i)\bsystem\b`),
	"sqlite":        database(`(?i)\.(shell|system|load|import\s*\||once\s*\||output\s*\|)|load_extension|edit\(`),

	"tar bsdtar gtar": tar,
	"zip":             flagged("-TT", "--unzip-command"),
	"split":           filterText("--filter"),
	"rg":              flagged("--pre", "--hostname-bin"),
	"jq":              flagged("-L"),

	"tmux":    tmux,
	"screen":  flagged("-X", "-S", "-dm", "-d"),
	"crontab": crontab,
	"nmap":    flagged("--script", "--interactive"),
	"tcpdump": flagged("-z"),
	"openssl": flagged("-engine", "-provider-path"),
	"dialog":  flagged("--prgbox"),
	"aria2c":  flagged("--on-download-complete", "--on-download-start", "--on-download-error"),
}

// flagged is a handler for programs that start another one only with one of these
// options, which may be abbreviated.
func flagged(options ...string) handler {
	return func(s *scan, args []arg) {
		for _, a := range args[1:] {
			if a.text() == "--" && a.exact { // the rest is not for the program itself
				break
			}
			for _, option := range options {
				for _, text := range a.alternatives {
					long := strings.HasPrefix(option, "--") && len(text) > 4 && abbreviates(text, option)
					if long || text == option || strings.HasPrefix(text, option+"=") ||
						option[0] == '+' && strings.HasPrefix(text, option) {
						s.dynamic = true
					}
				}
			}
		}
		s.shellsWithin(args)
	}
}

// filterText is a handler for an option that holds shell text.
func filterText(option string) handler {
	return func(s *scan, args []arg) {
		for _, text := range values(args, 0, option) {
			s.inner([]arg{text})
		}
	}
}

// database reads a client whose statements can reach a shell.
func database(pattern string) handler {
	reaches := regexp.MustCompile(pattern)
	return func(s *scan, args []arg) {
		for _, a := range args[1:] {
			if reaches.MatchString(a.text()) {
				s.dynamic = true
			}
		}
		if s.input.given && !s.input.file && (!s.input.known || reaches.MatchString(s.input.text)) {
			s.dynamic = true
		}
	}
}

func crontab(s *scan, args []arg) {
	for _, a := range args[1:] {
		if a.text() == "-l" {
			return
		}
	}
	s.dynamic = true
}

// editor reads commands given to an editor, and the files it opens.
func editor(s *scan, args []arg) {
	for _, a := range args[1:] {
		text := a.text()
		if strings.HasPrefix(text, "+") ||
			strings.HasPrefix(text, "-") && text != "-" && text != "--version" && text != "--help" || !a.exact {
			s.dynamic = true
		}
	}
	if s.input.given || len(args) == 1 {
		s.dynamic = true
	}
	s.writeAll(operands(args, ""))
}

// makeRun reads what changes how make runs its recipes.
func makeRun(s *scan, args []arg) {
	for i, a := range args[1:] {
		text := a.text()
		name, value, assigned := strings.Cut(text, "=")
		name = strings.TrimRight(name, ":?+!")
		switch {
		case strings.HasPrefix(text,
			"--ev"), text == "-f" && i+2 < len(args) &&
			(args[i+2].text() == "-" || strings.HasPrefix(args[i+2].text(), "/dev/") || args[i+2].process),
			text == "-f-", strings.HasPrefix(text, "-f/dev/"), text == "-E":
			s.dynamic = true
		case assigned && !strings.HasPrefix(text, "-"):
			if name == "SHELL" || name == ".SHELLFLAGS" || name == "MAKEFLAGS" ||
				strings.ContainsAny(value, "`$;|&") || influenceOf(name) == control {
				s.dynamic = true
			}
		}
	}
	s.shellsWithin(args)
}

func tmux(s *scan, args []arg) {
	for _, a := range args[1:] {
		switch a.text() {
		case "new", "new-session", "neww", "new-window", "split-window", "splitw", "send-keys", "send",
			"run-shell", "run", "if-shell", "respawn-pane", "pipe-pane", "source-file", "source", "-c", "-f":
			s.dynamic = true
		}
	}
}

// packages reads a package manager, which runs programs of packages and may choose the
// shell.
func packages(s *scan, args []arg) {
	flagged("--script-shell", "--node-options", "--call", "--shell-mode", "-c")(s, args)
	first := operands(args, "wCF", "--prefix", "--filter", "--workspace", "--dir", "--cwd")
	if len(first) == 0 {
		return
	}
	switch first[0].text() {
	case "config", "c", "set":
		if len(first) > 1 && (first[0].text() == "set" || first[1].text() == "set") {
			s.dynamic = true
		}
	case "exec", "x", "dlx":
		if len(first) > 1 {
			s.call(first[1:])
		}
	}
}

func gh(s *scan, args []arg) {
	if len(args) > 2 &&
		(args[1].text() == "alias" && args[2].text() != "list" ||
			args[1].text() == "extension" && args[2].text() == "exec") {
		s.dynamic = true
	}
}
