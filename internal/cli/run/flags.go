package run

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"writ/internal/cli/duration"
	"writ/internal/confine/sandbox"
)

// Flags are those of writ run as they are written.
type Flags struct {
	sandbox.Options
	NewProxy func(hosts []string) sandbox.Proxy // nil: no command reaches a host

	net    []string
	quotas []string
	report string
}

// Flag is one of them. All have a value, whose name stands between backquotes in Usage.
type Flag struct {
	Name, Usage string
	Set         func(value string) error
}

// List lists the flags.
func (f *Flags) List() []Flag {
	return []Flag{
		{"write", "a `DIR` that the command may read and write", appendTo(&f.Limits.Write)},
		{"read", "a `DIR` or file that it may read", appendTo(&f.Limits.Read)},
		{"net", "none, or a `HOST:PORT` that it may reach (default none)", appendTo(&f.net)},
		{"protect", "a `PATH` that stays read-only inside what is writable", appendTo(&f.Limits.Protect)},
		{"timeout", "end the command and all it started after this `TIME`, such as 90s", f.setTimeout},
		{"limit", "`NAME=NUMBER`: processes, memory, file (sizes), files (open)", appendTo(&f.quotas)},
		{"env", "pass on a variable of this `NAME` although it looks like a secret", appendTo(&f.Keep)},
		{
			"without", "go without `WHAT` this machine cannot hold: " + strings.Join(sandbox.CanOmit, ", "),
			appendTo(&f.Without),
		},
		{"report", "write what was held and refused to `FILE`, as JSON", assignTo(&f.report)},
		{"decision", "the `ID` of the decision that demands this, for the report", assignTo(&f.Decision)},
	}
}

func appendTo(list *[]string) func(string) error {
	return func(value string) error {
		*list = append(*list, value)
		return nil
	}
}

func assignTo(text *string) func(string) error {
	return func(value string) error {
		*text = value
		return nil
	}
}

func (f *Flags) setTimeout(value string) (err error) {
	f.Timeout, err = duration.Parse(value)
	return err
}

// hosts are the targets of --net.
func (f *Flags) hosts() []string {
	return slices.DeleteFunc(slices.Clone(f.net), func(host string) bool { return host == "none" })
}

var errHelp = errors.New("help is wanted")

// parse reads flags up to the command, as the library does that reads those of other commands. That links too much.
func (f *Flags) parse(args []string) error {
	list := f.List()
	for len(args) > 0 {
		arg := args[0]
		if len(arg) < 2 || arg[0] != '-' {
			break
		}
		args = args[1:]
		if arg == "--" {
			break
		}
		if arg == "--help" || arg == "-h" {
			return errHelp
		}
		name, value, attached := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		i := slices.IndexFunc(list, func(flag Flag) bool { return flag.Name == name })
		switch {
		case i < 0:
			return fmt.Errorf("unknown flag: %s", arg)
		case !attached && len(args) == 0:
			return fmt.Errorf("flag needs an argument: %s", arg)
		case !attached:
			value, args = args[0], args[1:]
		}
		if err := list[i].Set(value); err != nil {
			return fmt.Errorf("invalid argument %q for --%s: %w", value, name, err)
		}
	}
	f.Command = args
	return nil
}
