package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"writ/internal/cli/duration"
)

// ChoiceFlag adds a flag that takes one of some words; *value is what it is unless given, and may be empty. Another
// word is a misuse, which is found before a server is asked. Shells complete the words.
func ChoiceFlag(cmd *cobra.Command, value *string, name, usage string, words ...string) {
	cmd.Flags().Var(&choice{value, words}, name, usage)
	complete(cmd, name, words)
}

// AlsoNamed lets a flag be written by a second name, which the help does not list.
func AlsoNamed(cmd *cobra.Command, second, name string) {
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, given string) pflag.NormalizedName {
		if given == second {
			given = name
		}
		return pflag.NormalizedName(given)
	})
}

// complete lets shells complete the words of a flag.
func complete(cmd *cobra.Command, name string, words []string) {
	completions := cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc(name, completions))
}

// choice is the value of a flag that takes one of some words.
type choice struct {
	value *string
	words []string
}

func (c *choice) Set(text string) error {
	if !slices.Contains(c.words, text) {
		return fmt.Errorf("must be %s", wordList(c.words))
	}
	*c.value = text
	return nil
}

func (c *choice) String() string {
	if c.value == nil {
		return ""
	}
	return *c.value
}

func (c *choice) Type() string { return "string" }

// wordList is "a, b or c".
func wordList(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// ChoicesFlag is ChoiceFlag for a flag that takes several of the words, repeated or with commas.
func ChoicesFlag(cmd *cobra.Command, values *[]string, name, usage string, words ...string) {
	cmd.Flags().Var(&choices{values, words}, name, usage)
	complete(cmd, name, words)
}

type choices struct {
	values *[]string
	words  []string
}

func (c *choices) Set(text string) error {
	for word := range strings.SplitSeq(text, ",") {
		if !slices.Contains(c.words, word) {
			return fmt.Errorf("must be %s", wordList(c.words))
		}
		*c.values = append(*c.values, word)
	}
	return nil
}

func (c *choices) String() string { return "" }
func (c *choices) Type() string   { return "strings" }

// NumberFlag adds a flag that takes a whole number from least to most; *value is what it is unless given.
func NumberFlag(cmd *cobra.Command, value *int, name, usage string, least, most int) {
	cmd.Flags().Var(&number{value, least, most, ""}, name, usage)
}

// SecondsFlag is NumberFlag for a length of time in seconds: elsewhere people write 10m, and are told that it is not
// so here.
func SecondsFlag(cmd *cobra.Command, value *int, name, usage string, least, most int) {
	cmd.Flags().Var(&number{value, least, most, " of seconds"}, name, usage)
}

// number is the value of a flag that takes a number within bounds.
type number struct {
	value       *int
	least, most int
	of          string // what it counts, behind a space; empty: the name of the flag says so
}

func (n *number) Set(text string) error {
	given, err := strconv.Atoi(text)
	if err != nil || given < n.least || given > n.most {
		return fmt.Errorf("must be a whole number%s from %d to %d", n.of, n.least, n.most)
	}
	*n.value = given
	return nil
}

func (n *number) String() string {
	if n.value == nil {
		return ""
	}
	return strconv.Itoa(*n.value)
}

func (n *number) Type() string { return "int" }

// DurationFlag adds a flag that takes a length of time, with days and weeks too; *value is what it is unless given.
func DurationFlag(cmd *cobra.Command, value *time.Duration, name, usage string) {
	cmd.Flags().Var((*length)(value), name, usage)
}

// length is the value of a flag that takes a length of time.
type length time.Duration

func (l *length) Set(text string) error {
	given, err := duration.Parse(text)
	if err == nil {
		*l = length(given)
	}
	return err
}

func (l *length) String() string {
	if l == nil || *l == 0 {
		return ""
	}
	return duration.Format(time.Duration(*l))
}

func (l *length) Type() string { return "duration" }
