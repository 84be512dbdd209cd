// Package hooks is writ hook for the program that starts fast: it answers before-tool and after-tool where the
// server needs no TLS, and before-tool-selection, and leaves the rest to writ-client.
package hooks

import (
	"os"
	"os/signal"
	"strings"
	"syscall"

	"writ/internal/hook"
	"writ/internal/hook/aftertool"
	"writ/internal/hook/beforetool"
	"writ/internal/hook/guardfile"
	"writ/internal/hook/plainhttp"
	"writ/internal/hook/selection"
)

// Program answers hooks. The guard file, by which it sees whether it can, is read once.
type Program struct{ guard *guardfile.File }

// Main answers the event that the arguments behind "writ hook" name, and returns the exit code. It has not run if
// writ-client must answer, or print the help; then nothing of the input is read.
func (p *Program) Main(args []string) (code int, ran bool) {
	if WantsHelp(args) || !p.Answers(args) {
		return 0, false
	}
	return p.answer(args, ""), true
}

// Launched answers the event in the place of the host's shell, which has denied on stderr.
func (p *Program) Launched(args []string) int {
	nothing := ""
	if command, err := hook.Parse(args); err == nil && command.Event == hook.AfterTool {
		nothing = "{}"
	}
	return p.answer(args, nothing)
}

// answer writes an answer that says nothing as that word.
func (p *Program) answer(args []string, nothing string) int {
	if c, err := hook.Parse(args); err == nil && c.Event == hook.BeforeToolSelection && selection.IsSilent(c.Config) {
		return 0
	}
	process := Process()
	process.Nothing, process.Guard = nothing, p.guard
	return hook.Main(args, process, hook.Handlers{
		hook.BeforeTool:          beforetool.Handler{Caller: plain},
		hook.AfterTool:           aftertool.Handler{Caller: plain},
		hook.BeforeToolSelection: selection.Handler{},
	})
}

// Answers reports whether this program answers the event, and not writ-client. An event that is not known, and a guard
// file that cannot be read, need nothing of it: the answer is that it cannot be.
func (p *Program) Answers(args []string) bool {
	command, err := hook.Parse(args)
	return err != nil || !p.needsClient(command)
}

// WantsHelp reports whether the arguments ask for help and for nothing else: the host takes a help text for an allow.
func WantsHelp(args []string) bool { return len(args) == 1 && (args[0] == "--help" || args[0] == "-h") }

// needsClient reports whether an answer needs what only writ-client links.
func (p *Program) needsClient(command hook.Command) bool {
	switch command.Event {
	case hook.BeforeToolSelection:
		return false
	case hook.BeforeTool, hook.AfterTool:
	default:
		return true
	}
	guard, err := guardfile.Read(command.Config)
	if err != nil {
		return false
	}
	p.guard = guard
	manifest := guard.Manifest != "" && command.Event == hook.BeforeTool
	return manifest || !strings.HasPrefix(guard.Server, "http://")
}

func plain(guard *guardfile.File) (hook.Caller, error) {
	return plainhttp.New(guard.Server, guard.Key)
}

// Refuse answers where no program can, and returns the exit code.
func Refuse(args []string, reason error) int { return hook.Refuse(args, Process(), reason) }

// Process is this process, for hooks. The signals that would end it come to an answer first.
func Process() hook.Process {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	return hook.Process{
		In:       os.Stdin,
		Out:      os.Stdout,
		Messages: os.Stderr,
		Signals:  signals,
		Getenv:   os.Getenv,
	}
}
