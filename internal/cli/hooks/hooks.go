// Package hooks is writ hook for the program that starts fast: it answers before-tool where the server needs
// no TLS, and before-tool-selection, and leaves the rest to writ-client.
package hooks

import (
	"os"
	"os/signal"
	"strings"
	"syscall"

	"writ/internal/hook"
	"writ/internal/hook/beforetool"
	"writ/internal/hook/guardfile"
	"writ/internal/hook/plainhttp"
	"writ/internal/hook/selection"
)

// Main answers the event that the arguments behind "writ hook" name, and returns the exit code. It has not run if
// writ-client must answer, or print the help; then nothing of the input is read.
func Main(args []string) (code int, ran bool) {
	command, err := hook.Parse(args)
	if WantsHelp(args) || err == nil && needsClient(command) {
		return 0, false
	}
	return hook.Main(args, Process(), hook.Handlers{
		hook.BeforeTool:          beforetool.Handler{Caller: plain},
		hook.BeforeToolSelection: selection.Handler{},
	}), true
}

// WantsHelp reports whether the arguments ask for help and for nothing else: the host takes a help text for an allow.
func WantsHelp(args []string) bool { return len(args) == 1 && (args[0] == "--help" || args[0] == "-h") }

// needsClient reports whether an answer needs what only writ-client links. A guard file that cannot be read needs
// nothing: the answer is that it cannot.
func needsClient(command hook.Command) bool {
	switch command.Event {
	case hook.BeforeToolSelection:
		return false
	case hook.BeforeTool:
	default:
		return true
	}
	guard, err := guardfile.Read(command.Config)
	return err == nil && (guard.Manifest != "" || !strings.HasPrefix(guard.Server, "http://"))
}

func plain(guard *guardfile.File) (beforetool.Caller, error) {
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
