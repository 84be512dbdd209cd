package writ

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"writ/internal/cli"
	"writ/internal/hook/install"
)

func uninstallCommand(s cli.Streams) *cobra.Command {
	c := &cobra.Command{
		Use: "uninstall", Short: "Take the guard of a coding agent's host away again",
	}
	c.AddCommand(byHand(uninstallGemini(s)))
	return c
}

// uninstalled is what `writ uninstall gemini --json` prints.
type uninstalled struct {
	Removed  []string `json:"removed"` // files and folders that were removed or changed back
	KeyID    string   `json:"keyId,omitempty"`
	Revoked  bool     `json:"revoked"`
	Problem  string   `json:"problem,omitempty"` // why the key is not revoked
	Settings string   `json:"settings"`
}

func uninstallGemini(s cli.Streams) *cobra.Command {
	var v server
	cmd := &cobra.Command{
		Use: "gemini", Short: "Take the hooks, the extension, the guard file and its key away", Args: cobra.NoArgs,
		Long: `Take away what writ init gemini has written: the hooks in your settings, the extension, the guard file and
the state of hooks. Your settings become what they were, byte for byte; what you or the Gemini CLI have changed since stays changed. The key
that was made for this machine is revoked if you are signed in.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return v.uninstall(cmd.Context(), s) },
	}
	cli.JSONFlag(cmd, &v.asJSON)
	return cmd
}

func (v *server) uninstall(ctx context.Context, s cli.Streams) error {
	places, err := hostPlaces()
	if err != nil {
		return err
	}
	guard := readEarlier(places.Guard())
	removed, err := install.Uninstall(places)
	if err != nil {
		return err
	}
	out := uninstalled{
		Removed: append([]string{}, removed.Changes...), KeyID: removed.KeyID, Settings: places.Settings(),
	}
	if out.KeyID != "" {
		if err := revoke(ctx, guard.Server, out.KeyID); err != nil {
			out.Problem = answered(err).Error()
		}
		out.Revoked = out.Problem == ""
	}
	return show(v, s, out, printUninstalled)
}

func printUninstalled(s cli.Streams, out uninstalled) error {
	for _, path := range out.Removed {
		fmt.Fprintln(s.Out, cli.Line(path))
	}
	words := "writ: the Gemini CLI is not guarded any more"
	if len(out.Removed) == 0 {
		words = "writ: there was nothing to take away"
	}
	fmt.Fprintln(s.Err, words)
	if len(out.Removed) > 0 {
		fmt.Fprintln(s.Err, "writ: policies stay in force on the server, also those that /writ:add made: see writ policy list")
	}
	switch {
	case out.Revoked:
		fmt.Fprintf(s.Err, "writ: the key %s is revoked\n", cli.Line(out.KeyID))
	case out.KeyID != "":
		fmt.Fprintf(s.Err, "writ: the key %s is still valid (%s): run writ keys revoke %s\n", cli.Line(out.KeyID),
			cli.Line(out.Problem), cli.Line(out.KeyID))
	}
	return nil
}
