package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// mayBeEmpty are the flags that say something also if they are empty: words for people, and where a first page begins.
var mayBeEmpty = []string{"cursor", "description", "note", "reason"}

// ownRules is the annotation of a command that hands its command line to another program.
const ownRules = "own-rules"

// OwnRules lets a command take empty arguments and flags: they are those of a program that it starts.
func OwnRules(cmd *cobra.Command) { cmd.Annotations = map[string]string{ownRules: ""} }

// refuseEmpty refuses an argument or a flag that was given and is empty. In scripts that is a variable that is not set,
// and the command would work on something else than was meant. What a command line says after -- COMMAND is
// for another program.
func refuseEmpty(cmd *cobra.Command, args []string) error {
	if _, found := cmd.Annotations[ownRules]; found || cmd.DisableFlagParsing {
		return nil
	}
	if dash := cmd.ArgsLenAtDash(); dash >= 0 && strings.Contains(cmd.Use, "-- COMMAND") {
		args = args[:dash]
	}
	if i := slices.Index(args, ""); i >= 0 {
		_, rest, _ := strings.Cut(cmd.Use, " ")
		return fmt.Errorf("%s is empty: %s %s", argumentName(rest, i), cmd.CommandPath(), rest)
	}
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && isEmpty(f.Value) && !slices.Contains(mayBeEmpty, f.Name) {
			err = fmt.Errorf("--%s is empty: give a value%s", f.Name, otherwise(f))
		}
	})
	return err
}

// otherwise is what else can be done about an empty flag: one that must be there cannot be left out.
func otherwise(f *pflag.Flag) string {
	if len(f.Annotations[cobra.BashCompOneRequiredFlag]) > 0 {
		return ""
	}
	return ", or leave it out"
}

// argumentName is what the usage of a command calls its argument i.
func argumentName(usage string, i int) string {
	words := strings.Fields(usage)
	if len(words) == 0 {
		return "an argument"
	}
	return strings.Trim(words[min(i, len(words)-1)], "[]().")
}

// isEmpty reports whether the value of a flag is an empty text, or a list with one or of nothing.
func isEmpty(value pflag.Value) bool {
	if list, ok := value.(pflag.SliceValue); ok {
		all := list.GetSlice()
		return len(all) == 0 || slices.Contains(all, "")
	}
	return value.Type() == "string" && value.String() == ""
}
