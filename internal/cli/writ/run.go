package writ

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"writ/internal/cli"
	"writ/internal/confine/sandbox"
)

// runFlags are the flags of writ run as they are written.
type runFlags struct {
	sandbox.Options
	net    []string
	quotas []string
	report string
}

func run(s cli.Streams) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARGUMENT]...",
		Short: "Run a command within limits that the kernel holds",
		Long: `Run a command within limits that the kernel holds. It may read the system's programs and what --read
and --write name, write what --write names, and reach the hosts of --net, through a proxy. Its /tmp and
home directory are empty and end with it.

What this machine cannot hold is an error, unless --without names it.

Exit code: the command's; 128 and the number of the signal that ended it; 123 if it succeeded and a protected
path appeared or changed; 124 after --timeout; 125 if it could not be confined; 126 if it could not be
started; 127 if it was not found.`,
		Example: `  writ run --write . -- make test
  writ run --write . --net proxy.golang.org:443 --timeout 10m -- go build ./...`,
		DisableFlagsInUseLine: true,
		Args:                  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.Command = args
			return exitWith(f.run(s))
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exitWith(refuseRun(s, err)) })
	f.declare(cmd.Flags())
	return cmd
}

// runDirectly is writ run without the tree of commands. It leaves the help to that.
func runDirectly(args []string, s cli.Streams) (code int, ran bool) {
	var f runFlags
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	flags.Usage = func() {}
	f.declare(flags)
	err := flags.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		return 0, false
	}
	if err != nil {
		return refuseRun(s, err), true
	}
	f.Command = flags.Args()
	return f.run(s), true
}

func (f *runFlags) declare(flags *pflag.FlagSet) {
	flags.SetInterspersed(false)
	flags.StringArrayVar(&f.Limits.Write, "write", nil, "a `DIR` that the command may read and write")
	flags.StringArrayVar(&f.Limits.Read, "read", nil, "a `DIR` or file that it may read")
	flags.StringArrayVar(&f.net, "net", nil, "none, or a `HOST:PORT` that it may reach (default none)")
	flags.StringArrayVar(&f.Limits.Protect, "protect", nil, "a `PATH` that stays read-only inside what is writable")
	flags.DurationVar(&f.Timeout, "timeout", 0, "end the command and all it started after this `TIME`, such as 90s")
	flags.StringArrayVar(&f.quotas, "limit", nil, "`NAME=NUMBER`: processes, memory, file (sizes), files (open)")
	flags.StringArrayVar(&f.Keep, "env", nil, "pass on a variable of this `NAME` although it looks like a secret")
	flags.StringArrayVar(&f.Without, "without", nil,
		"go without `WHAT` this machine cannot hold: "+strings.Join(sandbox.CanOmit, ", "))
	flags.StringVar(&f.report, "report", "", "write what was held and refused to `FILE`, as JSON")
	flags.StringVar(&f.Decision, "decision", "", "the `ID` of the decision that demands this, for the report")
}

// exitWith is the error that ends the program with an exit code.
func exitWith(code int) error {
	if code == 0 {
		return nil
	}
	return cli.Ended(code)
}

// refuseRun says why nothing ran, and returns the exit code for it.
func refuseRun(s cli.Streams, err error) int {
	fmt.Fprintf(s.Err, "writ run: %s\n", cli.Printable(err.Error()))
	return sandbox.ExitCode(err)
}

// run runs the command and returns the exit code.
func (f *runFlags) run(s cli.Streams) int {
	if err := f.complete(); err != nil {
		return refuseRun(s, err)
	}
	report, err := f.openReport()
	if err != nil {
		return refuseRun(s, err)
	}
	result, err := sandbox.Run(&f.Options)
	if err != nil {
		return refuseRun(s, err)
	}
	for _, change := range result.Protected {
		fmt.Fprintf(s.Err, "writ run: protected path %s: %s\n", change.Change, cli.Line(change.Path))
		if change.SetAside != "" {
			fmt.Fprintf(s.Err, "writ run: set aside as %s\n", cli.Line(change.SetAside))
		}
	}
	if result.TimedOut {
		fmt.Fprintf(s.Err, "writ run: ended after %v\n", f.Timeout)
	}
	if report != nil {
		if err := writeReport(report, result); err != nil {
			return refuseRun(s, err)
		}
	}
	return result.Exit
}

// complete makes options of the flags and of this process.
func (f *runFlags) complete() (err error) {
	if f.Dir, err = os.Getwd(); err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	if f.Dir, err = filepath.EvalSymlinks(f.Dir); err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	f.Home, f.Environment = os.Getenv("HOME"), os.Environ()
	for _, list := range [][]string{f.Limits.Write, f.Limits.Read, f.Limits.Protect} {
		for i := range list {
			if list[i], err = filepath.Abs(list[i]); err != nil {
				return err
			}
		}
	}
	f.Limits.Net = slices.DeleteFunc(slices.Clone(f.net), func(host string) bool { return host == "none" })
	if len(f.Limits.Net) > 0 && len(f.Limits.Net) < len(f.net) {
		return errors.New("--net: none cannot stand beside a host")
	}
	if f.Timeout < 0 || f.Timeout > 0 && f.Timeout < time.Millisecond {
		return errors.New("--timeout: must be at least 1ms")
	}
	f.Quotas = sandbox.DefaultQuotas()
	for _, quota := range f.quotas {
		if err := f.Quotas.Set(quota); err != nil {
			return fmt.Errorf("--limit: %w", err)
		}
	}
	f.Observe = f.report != ""
	return f.Check()
}

// openReport opens the report before the command starts, outside of what it may write.
func (f *runFlags) openReport() (*os.File, error) {
	if f.report == "" {
		return nil, nil
	}
	path, err := filepath.Abs(f.report)
	if err != nil {
		return nil, err
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(folder, filepath.Base(path))
	}
	for _, dir := range f.Limits.Write {
		if actual, err := filepath.EvalSymlinks(dir); err == nil && strings.HasPrefix(path+"/", actual+"/") {
			return nil, fmt.Errorf("--report: the command could change %s, because it may write %s", path, dir)
		}
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, fmt.Errorf("--report: %s is a link; name the file itself", path)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--report: %w", err)
	}
	return file, nil
}

func writeReport(file *os.File, report *sandbox.Report) error {
	encoder := json.NewEncoder(file)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := errors.Join(encoder.Encode(report), file.Close()); err != nil {
		return fmt.Errorf("--report: %w", err)
	}
	return nil
}
