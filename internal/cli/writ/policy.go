package writ

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"writ/internal/cli"
)

// policy holds the commands about policies. Those on files alone are writd's, which has the policy engine: writ is
// started for every tool call of an agent, and must not load it. The others ask a server.
func policy(s cli.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "policy",
		Short: "List, show, push, activate, bind and try policies on a server; check and test them in files",
	}
	c.AddCommand(policyList(s), policyShow(s), policyPush(s), policyActivate(s), policyDeactivate(s), policyRollback(s),
		policyBind(s), policyReplay(s), policyShadow(s), policySuggest(s), policyLint(s), policyTestCommand(s),
		policyExplain(s), policyDiff(s))
	return c
}

func policyExplain(s cli.Streams) *cobra.Command {
	var asJSON bool
	var policies []string
	var call string
	cmd := &cobra.Command{
		Use: "explain --policy FILE --call FILE|-", Short: "Explain what policies in files decide about one call, and why",
		Long: `Explain what policies in files decide about one call, and why: which rule, which part of its condition, which value.
The call is written as in tests of policies, in YAML or JSON; - reads it from the standard input. writd does it, without
any server: it must be beside writ, or on the PATH.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			words := []string{"policy", "explain", "--call=" + call, fmt.Sprintf("--json=%t", asJSON)}
			for _, file := range policies {
				words = append(words, "--policy="+file)
			}
			return runServer(cmd.Context(), words, s)
		},
	}
	cmd.Flags().StringArrayVar(&policies, "policy", nil, "a policy; may be given several times")
	cmd.Flags().StringVar(&call, "call", "", "the call")
	cli.RequireFlags(cmd, "policy", "call")
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

func policyDiff(s cli.Streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "diff OLD NEW", Short: "Compare two policies in files, rule by rule",
		Long: `Compare two policies in files, rule by rule. writd does it, without any server: it must be beside writ, or on the
PATH.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			words := []string{"policy", "diff", fmt.Sprintf("--json=%t", asJSON), "--"}
			return runServer(cmd.Context(), append(words, args...), s)
		},
	}
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

// runServer runs writd in our place.
func runServer(ctx context.Context, args []string, s cli.Streams) error {
	self, _ := os.Executable() // unknown: writd is looked for on the path
	writd, err := findServer(self, exec.LookPath)
	if err != nil {
		return err
	}
	return runProgram(ctx, writd, args, s)
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
		return "", fmt.Errorf("this needs writd, which is neither beside writ nor on the PATH; "+
			"install it or add its folder to PATH: %w", err)
	}
	return path, nil
}

// stopTime is how long a program that was asked to end may take.
const stopTime = 5 * time.Second

// runProgram runs writd in our place: with our streams and its exit code, and under our name, which is the one that was
// typed.
func runProgram(ctx context.Context, path string, args []string, s cli.Streams) error {
	program := exec.CommandContext(ctx, path, args...)
	words := &renamed{out: s.Err}
	defer words.end()
	program.Stdin, program.Stdout, program.Stderr = s.In, s.Out, words
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

// renamed has writd's words for people begin with the name of this program, and name its commands as ours.
type renamed struct {
	out  io.Writer
	line []byte // what has come of a line
}

func (r *renamed) Write(text []byte) (int, error) {
	r.line = append(r.line, text...)
	for {
		end := bytes.IndexByte(r.line, '\n') + 1
		if end == 0 {
			return len(text), nil
		}
		if _, err := r.out.Write(inOurName(r.line[:end])); err != nil {
			return 0, err
		}
		r.line = r.line[end:]
	}
}

// end writes what came without the end of a line.
func (r *renamed) end() {
	if len(r.line) > 0 {
		_, _ = r.out.Write(inOurName(r.line))
	}
}

func inOurName(line []byte) []byte {
	said, ours := bytes.CutPrefix(line, []byte("writd: "))
	if !ours {
		return line
	}
	said = bytes.ReplaceAll(said, []byte("writd policy"), []byte("writ policy"))
	return append([]byte("writ: "), said...)
}
