// Package setup is what writ init writes into the Gemini CLI's settings, and how it gets there and away again.
package setup

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"writ/internal/hook"
	"writ/internal/hook/guardfile"
	"writ/internal/hook/launch"
)

// Command is the command line that the host runs for an event, in bash or in what stands for it.
//
// The host lets a tool run when its hook is killed, missing or late, or says nothing. So before a tool the shell itself
// waits for writ, and not for longer than the host waits; and it denies unless an answer came whole. Every
// answer of writ is one line.
func Command(guard *guardfile.File, event hook.Event) string {
	line := launch.Line{Writ: guard.Writ, Config: guard.Path(), Event: string(event)}
	if event == hook.BeforeTool {
		line.Patience = Timeout(guard, event) - patience/2
	}
	return line.Command()
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// patience is how much longer the host waits before a tool than the hook takes, which gives up by itself: a hook
// that the host gives up on lets the tool run.
const patience = 15 * time.Second

// Timeout is how long the host waits for a hook of the event. Before a tool, the hook reads the payload and asks the
// server twice. The other events take less than five answers.
func Timeout(guard *guardfile.File, event hook.Event) time.Duration {
	if event == hook.BeforeTool {
		return guard.Wait() + 3*guard.AnswerLimit() + patience
	}
	return 6 * guard.AnswerLimit()
}

// ShellFolder is where the host finds its shell for hooks.
func ShellFolder(guard *guardfile.File) string {
	return filepath.Join(filepath.Dir(guard.Path()), "shell")
}

// Shell is the program that stands for bash there: a copy of writ. It is empty where the system's bash is the
// safer one: on macOS it obeys no variables of the loader, and programs of others do.
func Shell(guard *guardfile.File) string {
	if runtime.GOOS == "darwin" {
		return ""
	}
	return filepath.Join(ShellFolder(guard), launch.Name)
}

// Environment is what hooks must not take from a project, whose .env the host loads. PATH is where the host looks for
// bash: our static program, for bash itself obeys variables of the loader that cannot be emptied, only be absent. The
// system's bash comes next: if ours is gone it denies in most projects, and without any the host would let tools run.
// The rest is for that bash: files that it sources, and libraries that programs load. SHLVL keeps it from
// taking the host's socket for a connection of rsh, for which it would source a file of the home. A hook that uses one
// processor starts fewer threads.
func Environment(guard *guardfile.File) map[string]string {
	path := shellPath()
	if Shell(guard) != "" {
		path = ShellFolder(guard) + ":" + path
	}
	return map[string]string{
		"BASH_ENV": "", "ENV": "", "SHLVL": "2", "SHELLOPTS": "", "BASHOPTS": "", "PS4": "",
		"LD_PRELOAD": "", "LD_LIBRARY_PATH": "", "LD_AUDIT": "", "PATH": path,
		"GODEBUG": "", "GOGC": "", "GOMEMLIMIT": "", "GOMAXPROCS": "1", "GOTRACEBACK": "",
	}
}

// shellPath is the system's folders, and the one where bash is if it is in none of them: without bash no hook would
// start, and the host would let tools run.
func shellPath() string {
	const system = "/usr/bin:/bin"
	for _, folder := range filepath.SplitList(system) {
		if _, err := exec.LookPath(folder + "/bash"); err == nil {
			return system
		}
	}
	if bash, err := exec.LookPath("bash"); err == nil {
		return system + ":" + filepath.Dir(bash)
	}
	return os.Getenv("PATH")
}
