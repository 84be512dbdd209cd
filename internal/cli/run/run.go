// Package run is writ run: it reads its flags, runs the command confined and says how it ended. It links
// little, because it starts before every command of an agent.
package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"writ/internal/cli/printable"
	"writ/internal/confine/sandbox"
)

// Main runs the command that the arguments behind "writ run" name, and returns the exit code. It leaves two things to
// whoever links more: the help, and commands that reach hosts.
func Main(args []string, messages io.Writer) (code int, ran bool) {
	var f Flags
	err := f.parse(args)
	switch {
	case errors.Is(err, errHelp), err == nil && len(f.hosts()) > 0:
		return 0, false
	case err != nil:
		return Refuse(messages, err), true
	}
	return f.Run(messages), true
}

// Refuse says why nothing ran, and returns the exit code for it.
func Refuse(messages io.Writer, err error) int {
	fmt.Fprintf(messages, "writ run: %s\n", printable.Text(err.Error()))
	return sandbox.ExitCode(err)
}

// Run runs the command and returns the exit code.
func (f *Flags) Run(messages io.Writer) int {
	f.Observe = f.report != ""
	f.Begin()
	defer f.End()
	if err := f.complete(); err != nil {
		return Refuse(messages, err)
	}
	report, err := f.openReport()
	if err != nil {
		return Refuse(messages, err)
	}
	result, err := sandbox.Run(&f.Options)
	if err != nil {
		return Refuse(messages, err)
	}
	for _, change := range result.Protected {
		fmt.Fprintf(messages, "writ run: protected path %s: %s\n", change.Change, printable.Line(change.Path))
		if change.SetAside != "" {
			fmt.Fprintf(messages, "writ run: set aside as %s\n", printable.Line(change.SetAside))
		}
	}
	if result.TimedOut {
		fmt.Fprintf(messages, "writ run: ended after %v\n", f.Timeout)
	}
	if report != nil {
		if err := writeReport(report, result); err != nil {
			return Refuse(messages, err)
		}
	}
	return result.Exit
}

// complete makes options of the flags and of this process.
func (f *Flags) complete() (err error) {
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
	if f.Limits.Net = f.hosts(); len(f.Limits.Net) > 0 {
		if len(f.Limits.Net) < len(f.net) {
			return errors.New("--net: none cannot stand beside a host")
		}
		if f.NewProxy != nil {
			f.Proxy = f.NewProxy(f.Limits.Net)
		}
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
	return f.Check()
}

// openReport opens the report before the command starts, outside of what it may write.
func (f *Flags) openReport() (*os.File, error) {
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
