package doctor

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Limits of files with variables.
const (
	maxDotEnv   = 1 << 20
	maxVariable = 100 << 10 // the system starts no program with a variable of 128 KiB
)

// dotEnv checks the files from which the host takes variables: those of the project and of the folders above it, and
// those of the home. With a variable that is too long the host can start no hook, and lets tools run.
func (e *examination) dotEnv() {
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
	for line := range bytes.Lines(bytes.ReplaceAll(text, []byte("\r"), []byte("\n"))) {
		if name := assigned(string(line)); steersPrograms(name) {
			return "sets " + name + ", by which programs that the agent starts do something else first"
		}
	}
	return ""
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

// assigned is the name that a line sets, as the host reads it; empty: none.
func assigned(line string) string {
	name, _, found := strings.Cut(line, "=")
	if before, _, colon := strings.Cut(line, ":"); colon && (!found || len(before) < len(name)) {
		name, found = before, true
	}
	if !found {
		return ""
	}
	return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(name), "export "))
}

// steersPrograms reports whether loaders, C libraries or shells obey a variable.
func steersPrograms(name string) bool {
	for _, prefix := range []string{"LD_", "DYLD_", "MALLOC_", "BASH_FUNC_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	switch name {
	case "GLIBC_TUNABLES", "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "POSIXLY_CORRECT":
		return true
	}
	return false
}
