// Command writ is the client of a Writ server. It starts before every tool call of an agent, so writ run and the quick
// part of writ hook are all that it links. Started as bash, it stands for the host's shell. The other
// commands are in writ-client beside it, which takes longer to start.
//
// It uses few processors for a short time, so the runtime need not read the limits of its control group.
//
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"writ/internal/cli/hooks"
	"writ/internal/cli/run"
	"writ/internal/confine/sandbox"
	"writ/internal/hook/launch"
)

func main() {
	var hook hooks.Program
	if launch.Is(os.Args) {
		os.Exit(launch.Main(os.Args, launch.Program{Answers: hook.Answers, Main: hook.Launched}))
	}
	sandbox.Enter()
	name, args := command()
	switch name {
	case "run":
		if code, ran := run.Main(args, os.Stderr); ran {
			os.Exit(code)
		}
	case "hook":
		if code, ran := hook.Main(args); ran {
			os.Exit(code)
		}
	}
	if name == "hook" { // PATH may be that of the project in which an agent works
		os.Exit(hooks.Refuse(args, client()))
	}
	err := client(filepath.SplitList(os.Getenv("PATH"))...)
	fmt.Fprintf(os.Stderr, "writ: %v\n", err)
	os.Exit(1)
}

// command is the command that is named, and its arguments.
func command() (name string, args []string) {
	if len(os.Args) < 2 {
		return "", nil
	}
	return os.Args[1], os.Args[2:]
}

// client becomes writ-client: the one beside this program, else the first in these directories. It returns only if
// that fails.
func client(directories ...string) error {
	const name = "writ-client"
	program, err := os.Executable()
	if err != nil {
		return err
	}
	places := append([]string{filepath.Dir(program)}, directories...)
	for _, dir := range places {
		if !filepath.IsAbs(dir) {
			continue // anybody could have put a file there
		}
		file := filepath.Join(dir, name)
		err := syscall.Exec(file, append([]string{"writ"}, os.Args[1:]...), os.Environ())
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return fmt.Errorf("start %s: %w", file, err)
		}
	}
	return fmt.Errorf("%s is not installed: it is neither %s nor on PATH. All commands but run are in it; "+
		"install it beside writ", name, filepath.Join(places[0], name))
}
