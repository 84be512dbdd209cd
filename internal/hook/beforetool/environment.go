package beforetool

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"writ/internal/hook"
)

// escapes are variables by which a shell, or a program that it starts, runs something else than the command says. No
// policy judges that. One that ends with an underscore stands for all that begin so.
var escapes = []string{
	"BASH_ENV", "SHELLOPTS", "BASHOPTS", "PS4", "CDPATH", "PROMPT_COMMAND", "BASH_FUNC_",
	"LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH", "LD_", "DYLD_", "GLIBC_TUNABLES", "MALLOC_",
	"GIT_EXTERNAL_DIFF", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_PROXY_COMMAND", "GIT_ASKPASS", "GIT_PAGER", "GIT_EDITOR",
	"GIT_SEQUENCE_EDITOR", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "GIT_DIR", "GIT_CONFIG", "GIT_CONFIG_",
	"NODE_OPTIONS", "NODE_PATH", "PYTHONSTARTUP", "PYTHONPATH", "PYTHONHOME", "PERL5OPT", "PERL5LIB", "PERL5DB",
	"RUBYOPT", "RUBYLIB", "JAVA_TOOL_OPTIONS", "LESSOPEN", "LESSCLOSE", "PAGER", "MANPAGER",
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
		if assigns(text, name) {
			return name
		}
	}
	return ""
}

// assigns reports whether a text sets a variable somewhere, by any reader's idea of where a line begins.
func assigns(text []byte, name string) bool {
	for {
		at := bytes.Index(text, []byte(name))
		if at < 0 {
			return false
		}
		before, after := text[:at], text[at+len(name):]
		if strings.HasSuffix(name, "_") { // begins many names
			after = bytes.TrimLeftFunc(after, isWord)
		}
		whole := len(before) == 0 || !isWord(rune(before[len(before)-1]))
		after = bytes.TrimLeftFunc(after, unicode.IsSpace)
		if whole && len(after) > 0 && (after[0] == '=' || after[0] == ':') {
			return true
		}
		text = text[at+len(name):]
	}
}

func isWord(r rune) bool {
	return r == '_' || r == '.' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}
