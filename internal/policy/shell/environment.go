package shell

import "strings"

// influence is what a variable does to the programs that see it.
type influence int

const (
	harmless influence = iota
	command            // names a program, which is then run
	control            // changes which programs run, or what is loaded into them
)

// commanding variables name a program. Agents set them to keep a program from
// waiting for a key: PAGER=cat, GIT_EDITOR=true.
var commanding = map[string]bool{
	"PAGER": true, "GIT_PAGER": true, "MANPAGER": true, "SYSTEMD_PAGER": true, "AWS_PAGER": true, "BAT_PAGER": true,
	"GH_PAGER": true,
	"EDITOR":   true, "VISUAL": true, "GIT_EDITOR": true, "GIT_SEQUENCE_EDITOR": true, "FCEDIT": true,
	"SUDO_EDITOR": true, "KUBE_EDITOR": true,
	"BROWSER": true, "GH_BROWSER": true, "GIT_SSH_COMMAND": true, "GIT_SSH": true, "GIT_PROXY_COMMAND": true,
	"GIT_EXTERNAL_DIFF": true,
	"GIT_ASKPASS":       true, "SSH_ASKPASS": true, "SUDO_ASKPASS": true, "RSYNC_RSH": true, "CVS_RSH": true,
	"TAR_RSH":       true,
	"RUSTC_WRAPPER": true, "RUSTC": true, "CC": true, "CXX": true, "LD": true, "AR": true, "LESSOPEN": true,
	"LESSCLOSE": true, "SHELL": true,
}

var controlling = map[string]bool{
	"PATH": true, "IFS": true, "ENV": true, "BASH_ENV": true, "PROMPT_COMMAND": true, "SHELLOPTS": true,
	"BASHOPTS": true,
	"PS0":      true, "PS1": true, "PS2": true, "PS4": true, "CDPATH": true, "GLOBIGNORE": true, "HOME": true,
	"PWD":    true,
	"OLDPWD": true,
	"FPATH":  true, "ZDOTDIR": true, "TMPPREFIX": true, "HISTFILE": true, "INPUTRC": true, "EXECIGNORE": true,
	"BASH_LOADABLES_PATH": true,
	"PYTHONSTARTUP":       true, "PYTHONHOME": true, "PYTHONINSPECT": true, "PYTHONBREAKPOINT": true,
	"PYTHONWARNINGS": true,
	"PERL5OPT":       true, "PERL5LIB": true, "PERL5DB": true, "PERLLIB": true, "RUBYOPT": true, "RUBYLIB": true,
	"NODE_PATH":         true,
	"JAVA_TOOL_OPTIONS": true, "_JAVA_OPTIONS": true, "JDK_JAVA_OPTIONS": true, "LUA_INIT": true, "PHPRC": true,
	"PHP_INI_SCAN_DIR": true,
	"GCONV_PATH":       true, "NLSPATH": true, "LOCPATH": true, "OPENSSL_CONF": true, "OPENSSL_MODULES": true,
	"TERMINFO": true, "HOSTALIASES": true,
	"MAKEFLAGS": true, "GNUMAKEFLAGS": true, "MAKEFILES": true, "TAR_OPTIONS": true, "VIMINIT": true, "EXINIT": true,
	"GVIMINIT":      true,
	"EMACSLOADPATH": true, "XDG_CONFIG_HOME": true, "WGETRC": true, "CURL_HOME": true, "PIP_CONFIG_FILE": true,
	"NPM_CONFIG_USERCONFIG": true,
	"GOPROXY":               true, "GOSUMDB": true, "GONOSUMDB": true, "GOPRIVATE": true, "GOINSECURE": true,
	"PIP_INDEX_URL":       true,
	"PIP_EXTRA_INDEX_URL": true,
	"UV_INDEX_URL":        true, "UV_DEFAULT_INDEX": true, "NPM_CONFIG_REGISTRY": true, "npm_config_registry": true,
	"YARN_REGISTRY": true,
	"http_proxy":    true, "https_proxy": true, "HTTP_PROXY": true, "HTTPS_PROXY": true, "ALL_PROXY": true,
	"all_proxy":          true,
	"ANTHROPIC_BASE_URL": true, "OPENAI_BASE_URL": true, "GEMINI_CLI_SYSTEM_SETTINGS_PATH": true,
	"CLAUDE_CONFIG_DIR": true, "CODEX_HOME": true,
}

// controllingPrefixes begin the names of whole families.
var controllingPrefixes = []string{
	"LD_", "DYLD_", "BASH_FUNC_", "GIT_CONFIG", "GIT_EXEC", "GIT_TEMPLATE", "MALLOC_", "WRIT_",
}

// governs says what setting a variable of this name does.
func governs(name string) influence {
	if commanding[name] {
		return command
	}
	if controlling[name] {
		return control
	}
	for _, prefix := range controllingPrefixes {
		if strings.HasPrefix(name, prefix) {
			return control
		}
	}
	return harmless
}

// environment reads the setting of a variable that programs see.
func (s *scan) environment(name string, value arg) {
	switch governs(name) {
	case control:
		s.dynamic = true
	case command:
		s.mayRun(value)
	case harmless:
		switch name {
		case "NODE_OPTIONS", "BUN_OPTIONS", "GOFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTFLAGS":
			s.loading(value)
		}
	}
}

// loading reads options that can load code or name a program.
func (s *scan) loading(value arg) {
	for _, option := range []string{"-r", "--require", "--import", "loader", "exec", "linker", "--inspect", "vettool"} {
		if !value.exact || strings.Contains(value.text(), option) {
			s.dynamic = true
		}
	}
}

// mayRun reads a command that a program is told to start: a pager, an editor.
func (s *scan) mayRun(value arg) {
	if !value.exact {
		s.dynamic = true
		return
	}
	for _, text := range value.alternatives {
		s.apart(func() { s.text(text) })
	}
}
