package doctor

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"writ/internal/hook"
	"writ/internal/hook/guardfile"
)

// Limits of files with variables.
const (
	maxDotEnv   = 1 << 20
	maxVariable = 100 << 10 // the system starts no program with a variable of 128 KiB
)

// dotEnv checks the files from which the host takes variables: those of the project and of the folders above it, and
// those of the home. With a variable that is too long the host can start no hook, and lets tools run; with another one
// hooks let them run.
func (e *examination) dotEnv() {
	if e.Getenv(enforceVariable) == guardfile.Monitor {
		e.add("variables", Failed, enforceVariable+"=monitor is set: calls that are not allowed run, where the "+
			"organization permits that", "unset "+enforceVariable)
		return
	}
	for _, folder := range e.dotEnvFolders() {
		for _, name := range []string{".gemini/.env", ".env"} {
			path := filepath.Join(folder, filepath.FromSlash(name))
			if problem := dotEnvProblem(path); problem != "" {
				e.add("variables", Failed, path+" "+problem,
					"take it out, and start no agent here before; look at what else the file sets")
				return
			}
		}
	}
	e.add("variables", OK, "no .env keeps the host from starting hooks", "")
}

func (e *examination) dotEnvFolders() (folders []string) {
	for folder := e.Project; ; folder = filepath.Dir(folder) {
		folders = append(folders, folder)
		if folder == filepath.Dir(folder) {
			break
		}
	}
	return append(folders, filepath.Dir(e.Gemini))
}

// dotEnvProblem is what is wrong with a file; empty: nothing, or there is none.
func dotEnvProblem(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxDotEnv+1))
	switch {
	case err != nil: // a folder, say
		return ""
	case len(text) > maxDotEnv:
		return fmt.Sprintf("has more than %d KiB: with it the host may be unable to start hooks, and lets tools run",
			maxDotEnv>>10)
	case len(text) > maxVariable && hasLong(text):
		return fmt.Sprintf("sets a variable of more than %d KiB: with it the host cannot start hooks, and lets tools run",
			maxVariable>>10)
	}
	text = withoutComments(text)
	if hook.Assigned(text, enforceVariable) != "" {
		return "sets " + enforceVariable + ", with which calls that are not allowed may run, where the organization " +
			"permits that"
	}
	for _, name := range steering {
		if found := hook.Assigned(text, name); found != "" {
			return "sets " + found + ", by which programs that the agent starts do something else first"
		}
	}
	return ""
}

// enforceVariable has calls only monitored, where the organization permits that. Only the server knows.
const enforceVariable = "WRIT_ENFORCE"

// withoutComments is a text without the lines that are comments, by the host's idea of where a line begins.
func withoutComments(text []byte) []byte {
	isEnd := func(r rune) bool { return r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029' }
	var kept [][]byte
	for line := range bytes.FieldsFuncSeq(text, isEnd) {
		if !bytes.HasPrefix(bytes.TrimSpace(line), []byte("#")) {
			kept = append(kept, line)
		}
	}
	return bytes.Join(kept, []byte("\n"))
}

// hasLong reports whether a text may set a long variable. A value in quotes may have many lines, so that with
// any quotes the whole text may be one.
func hasLong(text []byte) bool {
	if bytes.ContainsAny(text, "'\"`") {
		return true
	}
	for line := range bytes.Lines(text) {
		if len(line) > maxVariable {
			return true
		}
	}
	return false
}

// steering are the variables that loaders, C libraries and shells obey.
var steering = []string{
	"LD_", "DYLD_", "MALLOC_", "BASH_FUNC_", "GLIBC_TUNABLES", "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4",
	"POSIXLY_CORRECT",
}
