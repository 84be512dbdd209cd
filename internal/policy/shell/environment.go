package shell

import (
	"regexp"
	"strings"
)

type influence int

const (
	harmless influence = iota
	command            // names a program that is then run
	control            // changes which programs run, or what they load
)

// commanding variables name a program. Agents set them so that a program does not wait
// for input: PAGER=cat, GIT_EDITOR=true.
var commanding = names(`
	PAGER GIT_PAGER MANPAGER SYSTEMD_PAGER AWS_PAGER BAT_PAGER GH_PAGER EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR
	DELTA_PAGER FCEDIT SUDO_EDITOR SYSTEMD_EDITOR KUBE_EDITOR GH_EDITOR BROWSER GH_BROWSER FZF_DEFAULT_COMMAND
	CLOUDSDK_PYTHON GIT_SSH_COMMAND GIT_SSH GIT_PROXY_COMMAND GIT_EXTERNAL_DIFF
	GIT_ASKPASS SSH_ASKPASS SUDO_ASKPASS RSYNC_RSH CVS_RSH TAR_RSH RUSTC_WRAPPER RUSTC CC CXX LD AR LESSOPEN
	LESSCLOSE SHELL`)

var controlling = names(`
	PATH IFS ENV BASH_ENV PROMPT_COMMAND SHELLOPTS BASHOPTS PS0 PS1 PS2 PS4 CDPATH GLOBIGNORE HOME PWD OLDPWD FPATH
	ZDOTDIR TMPPREFIX HISTFILE INPUTRC EXECIGNORE BASH_LOADABLES_PATH PYTHONSTARTUP PYTHONHOME PYTHONINSPECT
	PYTHONBREAKPOINT PYTHONWARNINGS PERL5OPT PERL5LIB PERL5DB PERLLIB RUBYOPT RUBYLIB NODE_PATH JAVA_TOOL_OPTIONS
	_JAVA_OPTIONS JDK_JAVA_OPTIONS LUA_INIT PHPRC PHP_INI_SCAN_DIR GCONV_PATH NLSPATH LOCPATH OPENSSL_CONF
	OPENSSL_MODULES TERMINFO HOSTALIASES MAKEFLAGS GNUMAKEFLAGS MAKEFILES TAR_OPTIONS VIMINIT EXINIT GVIMINIT
	EMACSLOADPATH XDG_CONFIG_HOME WGETRC CURL_HOME PIP_CONFIG_FILE NPM_CONFIG_USERCONFIG GOPROXY GOSUMDB GONOSUMDB
	GOPRIVATE GOINSECURE PIP_INDEX_URL PIP_EXTRA_INDEX_URL UV_INDEX_URL UV_DEFAULT_INDEX NPM_CONFIG_REGISTRY
	npm_config_registry YARN_REGISTRY http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy
	ANTHROPIC_BASE_URL OPENAI_BASE_URL GEMINI_CLI_SYSTEM_SETTINGS_PATH CLAUDE_CONFIG_DIR CODEX_HOME
	GIT_DIR GIT_COMMON_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY LESS LESSKEY LESSKEYIN LESSKEYIN_SYSTEM
	LESSKEY_SYSTEM MORE MANOPT MYVIMRC GNUPGHOME DOCKER_CONFIG AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE
	CLOUDSDK_CONFIG GH_CONFIG_DIR TF_CLI_CONFIG_FILE HELM_PLUGINS RIPGREP_CONFIG_PATH BAT_CONFIG_PATH BAT_CONFIG_DIR
	CARGO_HOME RUSTUP_HOME PYTHONUSERBASE OPENSSL_ENGINES DOTNET_STARTUP_HOOKS`)

var controllingPrefixes = []string{
	"LD_", "DYLD_", "BASH_FUNC_", "GIT_CONFIG", "GIT_EXEC", "GIT_TEMPLATE", "MALLOC_", "WRIT_",
	"GIT_TRACE", // is written to a file
	"LUA_INIT", "npm_config_", "NPM_CONFIG_",
}

// plainVariables change how programs print or which variant they choose, and nothing
// else.
var plainVariables = names(`LANG LC_ALL LC_CTYPE LC_COLLATE LC_MESSAGES LC_NUMERIC LC_TIME TZ CI NO_COLOR FORCE_COLOR
	CLICOLOR COLUMNS LINES GOOS GOARCH CGO_ENABLED NODE_ENV`)

// plainValue leads to no file. TZ names one.
var plainValue = regexp.MustCompile(`^([\w .^$*+?#=,@-][\w .^$*+?#=/,@-]*)?$`)

func influenceOf(name string) influence {
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

// environment reads the assignment of a variable of the environment.
func (s *scan) environment(name string, value arg) {
	if !plainVariables[name] || !value.plain() || strings.Contains(value.text(), "..") ||
		!plainValue.MatchString(value.text()) {
		s.unknown.add(name + "=")
	}
	switch influenceOf(name) {
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

// mayRun reads a command that a program may start: a pager, an editor.
func (s *scan) mayRun(value arg) {
	s.dynamic = s.dynamic || !value.exact
	for _, text := range value.alternatives {
		s.subshell(func() { s.text(text) })
	}
}
