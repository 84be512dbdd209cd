package beforetool

import (
	"io"
	"os"
	"path/filepath"

	"writ/internal/hook"
)

// escapes are variables by which a shell, or a program that it starts, runs something else than the command says. No
// policy judges that. One that ends with an underscore stands for all that begin so. Left out are those that the host
// has before it reads any file, such as PATH, and those of programs that run what the project says anyway.
var escapes = []string{
	"BASH_ENV", "SHELLOPTS", "BASHOPTS", "PS4", "CDPATH", "PROMPT_COMMAND", "BASH_FUNC_", "BASH_LOADABLES_PATH",
	"EXECIGNORE", "ZDOTDIR", "FPATH",
	"LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH", "LD_", "DYLD_", "GLIBC_TUNABLES", "MALLOC_", "GCONV_PATH", "LOCPATH",
	"HOSTALIASES", "OPENSSL_CONF", "OPENSSL_MODULES", "OPENSSL_ENGINES",
	// Where programs look for the settings of their user, which name programs: git, curl, gpg, docker, aws.
	"XDG_CONFIG_HOME", "CURL_HOME", "WGETRC", "GNUPGHOME", "DOCKER_CONFIG", "AWS_CONFIG_FILE",
	"AWS_SHARED_CREDENTIALS_FILE", "CLOUDSDK_CONFIG", "CLOUDSDK_PYTHON", "KUBECONFIG", "GH_CONFIG_DIR", "HELM_PLUGINS",
	"TF_CLI_CONFIG_FILE", "TF_CLI_ARGS", "TF_CLI_ARGS_", "PSQLRC", "MAGICK_CONFIGURE_PATH",
	// Options of programs that search and show: rg --pre runs a program for each file.
	"RIPGREP_CONFIG_PATH", "BAT_CONFIG_PATH", "BAT_CONFIG_DIR", "GREP_OPTIONS", "ACKRC", "ACK_OPTIONS", "ACK_PAGER",
	"FZF_DEFAULT_COMMAND", "FZF_DEFAULT_OPTS", "FZF_DEFAULT_OPTS_FILE",
	"GIT_EXTERNAL_DIFF", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_PROXY_COMMAND", "GIT_ASKPASS", "GIT_PAGER", "GIT_EDITOR",
	"GIT_SEQUENCE_EDITOR", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE",
	"GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_CONFIG", "GIT_CONFIG_",
	"GIT_TRACE", "GIT_TRACE_", "GIT_TRACE2", "GIT_TRACE2_", // a trace is written to a file
	"NODE_OPTIONS", "NODE_PATH", "BUN_OPTIONS", "PYTHONSTARTUP", "PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE",
	"PYTHONBREAKPOINT", "PYTHONINSPECT", "PYTHONWARNINGS", "PYTHONPYCACHEPREFIX",
	"PERL5OPT", "PERL5LIB", "PERL5DB", "PERLLIB",
	"RUBYOPT", "RUBYLIB", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "DOTNET_STARTUP_HOOKS",
	"LUA_INIT", "LUA_INIT_", "PHPRC", "PHP_INI_SCAN_DIR", "GOFLAGS", "GOENV", "CC", "CXX",
	"MAKEFLAGS", "GNUMAKEFLAGS", "MAKEFILES", "TAR_OPTIONS", "RSYNC_RSH", "TAR_RSH", "CVS_RSH",
	"SSH_ASKPASS", "SUDO_ASKPASS", "LESS", "LESSOPEN", "LESSCLOSE", "LESSKEYIN", "LESSKEYIN_SYSTEM", "LESSKEY",
	"LESSKEY_SYSTEM",
	"PAGER", "MANPAGER", "MANOPT", "SYSTEMD_PAGER", "AWS_PAGER", "BAT_PAGER", "GH_PAGER", "DELTA_PAGER",
	"EDITOR", "VISUAL", "FCEDIT", "SUDO_EDITOR", "SYSTEMD_EDITOR", "KUBE_EDITOR", "GH_EDITOR", "BROWSER", "GH_BROWSER",
	"VIMINIT", "EXINIT", "GVIMINIT", "MYVIMRC", "EMACSLOADPATH",
}

// maxEnvironment bounds what is read of a file with variables.
const maxEnvironment = 1 << 20

// escapeIn reports the file by which a project sets such a variable for the host's shell, and the variable.
// The host reads the first .env or .gemini/.env of the folder, of those above it and of the home.
func escapeIn(in *hook.Input) (file, variable string) {
	if in.MCP != nil || in.ToolName != shellTool {
		return "", ""
	}
	for folder := in.CWD; ; folder = filepath.Dir(folder) {
		for _, name := range []string{".gemini/.env", ".env"} {
			file := filepath.Join(folder, name)
			if variable := escapeOf(file); variable != "" {
				return file, variable
			}
		}
		if folder == filepath.Dir(folder) {
			break
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", ""
	}
	for _, name := range []string{".gemini/.env", ".env"} {
		file := filepath.Join(home, name)
		if variable := escapeOf(file); variable != "" {
			return file, variable
		}
	}
	return "", ""
}

func escapeOf(file string) string {
	opened, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer opened.Close()
	text, err := io.ReadAll(io.LimitReader(opened, maxEnvironment+1))
	if err != nil && len(text) == 0 {
		return "" // a folder, say
	}
	if len(text) > maxEnvironment {
		return "too much to be checked"
	}
	for _, name := range escapes {
		if found := hook.Assigned(text, name); found != "" {
			return found
		}
	}
	return ""
}
