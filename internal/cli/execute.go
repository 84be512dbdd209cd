package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Execute runs the command that the arguments name. An error before the command
// begins is one of the command line itself: ErrUsage, with a hint where to read on.
func Execute(ctx context.Context, root *cobra.Command, args []string, s Streams) error {
	root.Version = Version
	root.SilenceUsage, root.SilenceErrors = true, true
	root.AddCommand(versionCommand(s))
	root.SetArgs(args)
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.InitDefaultCompletionCmd(args...)
	root.InitDefaultHelpCmd()
	began := false
	watch(root, func() { began = true })
	root.SetFlagErrorFunc(plainFlagError)
	cmd, err := root.ExecuteContextC(ctx)
	wrong, found := errors.AsType[misuse](err)
	if found {
		err = wrong.error
	}
	if err == nil || began && !found {
		return err
	}
	return &usageError{error: err, command: cmd.CommandPath()}
}

// watch makes every command below cmd call begin first. A command that only holds
// others shows its help, and refuses an unknown name.
func watch(cmd *cobra.Command, begin func()) {
	if cmd.HasSubCommands() && !cmd.Runnable() {
		cmd.Args, cmd.SuggestionsMinimumDistance, cmd.DisableFlagsInUseLine = refuseUnknown, 2, true
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := refuseEmpty(cmd, args); err != nil {
				return err
			}
			return argumentsNamed(cmd, args, check(cmd, args))
		}
	}
	run := cmd.RunE
	if show := cmd.Run; run == nil && show != nil { // cobra's own help
		cmd.Args = knownTopic
		run = func(cmd *cobra.Command, args []string) error { show(cmd, args); return nil }
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		begin()
		return run(cmd, args)
	}
	for _, sub := range cmd.Commands() {
		watch(sub, begin)
	}
}

// plainFlagError says what a flag takes, where the library quotes the function that read its value.
func plainFlagError(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && isOfCommand(cmd, unknown) {
		_, rest, _ := strings.Cut(cmd.Use, " ")
		return fmt.Errorf("%w: put -- before the command: %s %s", err, cmd.CommandPath(), rest)
	}
	wrong, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	kinds := map[string]string{"bool": "must be true or false", "int64": "must be a whole number"}
	wanted := kinds[wrong.GetFlag().Value.Type()]
	if _, read := errors.AsType[*strconv.NumError](err); !read || wanted == "" {
		return err
	}
	return fmt.Errorf("invalid argument %q for %q flag: %s", wrong.GetValue(), "--"+wrong.GetFlag().Name, wanted)
}

// isOfCommand reports whether an unknown flag is probably one of the program that this command starts: it stands behind
// what belongs before --, or is short, as none of ours is.
func isOfCommand(cmd *cobra.Command, unknown *pflag.NotExistError) bool {
	ours, _, starts := strings.Cut(cmd.Use, "-- COMMAND")
	ours = strings.TrimSuffix(ours, "[")
	return starts && (cmd.Flags().NArg() >= len(strings.Fields(ours)) || unknown.GetSpecifiedShortnames() != "")
}

// argumentsNamed says which argument of a command is missing, or that there is one too many, where cobra only counts
// them.
func argumentsNamed(cmd *cobra.Command, args []string, err error) error {
	unknown := err != nil && !cmd.HasSubCommands() && strings.HasPrefix(err.Error(), "unknown command")
	if err == nil || !unknown && !strings.Contains(err.Error(), "arg(s)") {
		return err
	}
	_, rest, _ := strings.Cut(cmd.Use, " ")
	usage := strings.TrimSpace(cmd.CommandPath() + " " + rest)
	if unknown { // so cobra calls an argument of a command that takes none
		return fmt.Errorf("unexpected argument %q: %s", args[0], usage)
	}
	var wanted []string
	for word := range strings.FieldsSeq(rest) {
		if word == "--" {
			continue // what stands behind it must be there too
		}
		if word == "|" || strings.HasPrefix(word, "-") || strings.HasPrefix(word, "[") || strings.HasPrefix(word, "(") {
			break // from here on it is flags, and what need not be there
		}
		wanted = append(wanted, strings.TrimSuffix(word, "..."))
	}
	if len(args) < len(wanted) {
		return fmt.Errorf("%s is missing: %s", wanted[len(args)], usage)
	}
	return fmt.Errorf("wrong number of arguments: %s", usage)
}

// knownTopic refuses help about a command that there is not. One that hands its command line on has commands elsewhere.
func knownTopic(cmd *cobra.Command, topic []string) error {
	about, rest, err := cmd.Root().Find(topic)
	if err != nil || about.DisableFlagParsing {
		return err
	}
	return refuseUnknown(about, rest)
}

func refuseUnknown(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("unknown command %q: did you mean %s?", args[0], strings.Join(near, " or "))
	}
	return fmt.Errorf("unknown command %q", args[0])
}

// Misuse marks an error that a command finds in its own command line only after it began.
func Misuse(format string, args ...any) error { return misuse{fmt.Errorf(format, args...)} }

type misuse struct{ error }

// usageError is what is wrong with a command line.
type usageError struct {
	error
	command string // "writd user create"
}

func (e *usageError) Error() string   { return fmt.Sprintf("%v (see %s --help)", e.error, e.command) }
func (e *usageError) Unwrap() []error { return []error{e.error, ErrUsage} }

// ErrUsage marks an error of the command line itself.
var ErrUsage = errors.New("usage")

// RequireFlags makes flags of a command required; they must be there.
func RequireFlags(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		cobra.CheckErr(cmd.MarkFlagRequired(name))
	}
}

// JSONFlag adds --json to a command.
func JSONFlag(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "print JSON")
}

func versionCommand(s Streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return WriteJSON(s.Out, map[string]string{"version": Version})
			}
			_, err := fmt.Fprintln(s.Out, Version)
			return err
		},
	}
	JSONFlag(cmd, &asJSON)
	return cmd
}
