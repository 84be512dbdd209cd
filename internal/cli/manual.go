package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// Manual writes the manual and the completions of shells of a program, for packages. They are made of the commands
// themselves, so that none is forgotten. The example is a page of it: writ-login.
func Manual(s Streams, example string) *cobra.Command {
	var asJSON bool
	program, _, _ := strings.Cut(example, "-")
	cmd := &cobra.Command{
		Use: "man FOLDER", Short: "Write manual pages, and completions of bash, zsh and fish, into a folder",
		Long: `Write the manual pages of all commands into FOLDER/man1, and the completions of shells into FOLDER/completions, for
packages and for your own machine:

  ` + program + ` man ~/.local/share/writ && man -M ~/.local/share/writ ` + example,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			files, err := writeManual(cmd.Root(), args[0])
			if err != nil {
				return fmt.Errorf("write the manual: %w", err)
			}
			if asJSON {
				return WriteJSON(s.Out, map[string]any{"files": files})
			}
			_, err = fmt.Fprintf(s.Out, "%s in %s\n", Count(len(files), "file"), Line(args[0]))
			return err
		},
	}
	JSONFlag(cmd, &asJSON)
	return cmd
}

func writeManual(root *cobra.Command, folder string) (files []string, err error) {
	write := func(name string, text string) error {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		files = append(files, name)
		return os.WriteFile(path, []byte(text), 0o644)
	}
	for _, cmd := range commandsBelow(root) {
		name := "man1/" + strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
		if err := write(name, manPage(cmd)); err != nil {
			return nil, err
		}
	}
	var bash, zsh, fish strings.Builder
	for _, made := range []error{
		root.GenBashCompletionV2(&bash, true), root.GenZshCompletion(&zsh), root.GenFishCompletion(&fish, true),
	} {
		if made != nil {
			return nil, made
		}
	}
	for _, c := range []struct{ name, text string }{
		{"completions/" + root.Name() + ".bash", bash.String()}, {"completions/_" + root.Name(), zsh.String()},
		{"completions/" + root.Name() + ".fish", fish.String()},
	} {
		if err := write(c.name, c.text); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// commandsBelow is a command and all below it that people call.
func commandsBelow(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, sub := range cmd.Commands() {
		if sub.Hidden || sub.Name() == "help" {
			continue
		}
		all = append(all, commandsBelow(sub)...)
	}
	return all
}

// roff escapes text for a manual page: a backslash, a dash that is copied as one, and a line that would be a request.
func roff(text string) string {
	lines := strings.Split(strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

// manWidth is how long the lines of options are.
const manWidth = 100

// manPage is the manual page of a command.
func manPage(cmd *cobra.Command) string {
	var b strings.Builder
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	fmt.Fprintf(&b, ".TH \"%s\" \"1\" \"\" \"Writ %s\" \"Writ\"\n", roff(strings.ToUpper(name)), roff(Version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(cmd.UseLine()))
	long := cmd.Long
	if long == "" {
		long = cmd.Short + "."
	}
	fmt.Fprintf(&b, ".SH DESCRIPTION\n.nf\n%s\n.fi\n", roff(long))
	if cmd.HasAvailableLocalFlags() {
		fmt.Fprintf(&b, ".SH OPTIONS\n.nf\n%s.fi\n", roff(cmd.LocalFlags().FlagUsagesWrapped(manWidth)))
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(cmd.Example))
	}
	var also []string
	if cmd.HasParent() {
		also = append(also, cmd.Parent().CommandPath())
	}
	for _, sub := range commandsBelow(cmd)[1:] {
		if sub.Parent() == cmd {
			also = append(also, sub.CommandPath())
		}
	}
	for i, path := range also {
		also[i] = `\fB` + roff(strings.ReplaceAll(path, " ", "-")) + `\fR(1)`
	}
	if len(also) > 0 {
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", strings.Join(also, ", "))
	}
	return b.String()
}
