package writ

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"writ/internal/cli"
)

// policy hands `writ policy …` to writd, which has the policy engine: linked into
// writ, it would be loaded for every tool call of an agent. Only a replay is our
// own, for a server does it.
func policy(s cli.Streams) *cobra.Command {
	c := &cobra.Command{
		Use: "policy", Short: "Check, test, explain and compare policies in files (runs writd policy); replay one on a server",
		DisableFlagParsing: true, // they are writd's
		RunE: func(cmd *cobra.Command, args []string) error {
			self, err := os.Executable()
			if err != nil {
				self = "" // then it is looked for on the path
			}
			writd, err := findServer(self, exec.LookPath)
			if err != nil {
				return err
			}
			return runProgram(cmd.Context(), writd, append([]string{"policy"}, args...), s)
		},
	}
	c.AddCommand(policyReplay(s))
	return c
}

// findServer is the path of writd: beside this program, where both were installed,
// or else on the path.
func findServer(self string, lookPath func(string) (string, error)) (string, error) {
	name := "writd"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	beside := []string{self}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		beside = append(beside, real)
	}
	for _, program := range beside {
		path := filepath.Join(filepath.Dir(program), name)
		if info, err := os.Stat(path); filepath.IsAbs(path) && err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	path, err := lookPath(name)
	if err != nil {
		return "", fmt.Errorf("writd is needed for this and is neither beside writ nor on the PATH; install it or add its folder to PATH: %w", err)
	}
	return path, nil
}

// stopTime is how long a program that was asked to end may take.
const stopTime = 5 * time.Second

// runProgram runs a program in our place: with our streams, and its exit code is
// ours.
func runProgram(ctx context.Context, path string, args []string, s cli.Streams) error {
	program := exec.CommandContext(ctx, path, args...)
	program.Stdin, program.Stdout, program.Stderr = s.In, s.Out, s.Err
	program.Cancel = func() error { return program.Process.Signal(syscall.SIGTERM) }
	program.WaitDelay = stopTime
	err := program.Run()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok && ended.Exited() {
		return cli.Ended(ended.ExitCode())
	}
	if err != nil {
		return fmt.Errorf("run %s: %w", path, err)
	}
	return nil
}
