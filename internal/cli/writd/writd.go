// Package writd is the server's command line: serve, and what its operator does
// on the machine itself. Whoever can run these commands can read the data folder;
// they ask for no other rights.
package writd

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"writ/internal/app"
	"writ/internal/cli"
	"writ/internal/config"
)

// command carries what every subcommand needs.
type command struct {
	streams cli.Streams
	environ []string
}

// Run is the program.
func Run(ctx context.Context, args []string, s cli.Streams) error {
	c := &command{streams: s, environ: os.Environ()}
	root := &cobra.Command{Use: "writd", Short: "The Writ server: intent-based security for AI agents"}
	root.AddCommand(c.serve(), c.user(), c.org(), c.signingKey(), c.backup(), c.restore(), c.retention(), c.rollup(),
		c.prices(), c.policy(), c.config())
	return cli.Execute(ctx, root, args, s)
}

// options reads the configuration, complaining about all of it at once.
func (c *command) options() (app.Options, error) {
	settings, err := config.Load(c.environ, os.ReadFile)
	if err != nil {
		return app.Options{}, err
	}
	return app.Options{Config: settings, Logger: c.logger(settings), Version: cli.Version}, nil
}

func (c *command) logger(settings config.Config) *slog.Logger {
	options := &slog.HandlerOptions{Level: settings.LogLevel}
	if settings.LogFormat == config.LogJSON {
		return slog.New(slog.NewJSONHandler(c.streams.Err, options))
	}
	return slog.New(slog.NewTextHandler(c.streams.Err, options))
}

// withAreas runs an operator's command on the data, beside a running server or
// without one.
func (c *command) withAreas(ctx context.Context, do func(ctx context.Context, areas *app.Areas) error) (err error) {
	o, err := c.options()
	if err != nil {
		return err
	}
	areas, err := app.Open(ctx, o, o.Config.PublicURL)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := areas.Close(); err == nil {
			err = closeErr
		}
	}()
	return do(ctx, areas)
}

// print writes a result: JSON, one object.
func (c *command) print(result any) error {
	return cli.WriteIndentedJSON(c.streams.Out, result)
}

func (c *command) config() *cobra.Command {
	return &cobra.Command{
		Use: "config", Short: "Check the configuration and list every setting", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			table := tabwriter.NewWriter(c.streams.Out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "VARIABLE\tSET\tDEFAULT\tMEANING")
			for _, v := range config.Variables() {
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", v.Name, c.isSet(v), v.Default, v.Doc)
			}
			if err := table.Flush(); err != nil {
				return err
			}
			_, err := c.options()
			return err
		},
	}
}

// isSet tells whether a setting was made, never to what.
func (c *command) isSet(v config.Variable) string {
	for _, entry := range c.environ {
		name, value, _ := strings.Cut(entry, "=")
		if value != "" && (name == v.Name || v.File && name == v.Name+"_FILE") {
			return "yes"
		}
	}
	return "-"
}
