// Package writd is the server's command line: serve, and what its operator does
// on the machine itself. Whoever can run these commands can read the data folder;
// they ask for no other rights.
package writd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"writ/internal/app"
	"writ/internal/cli"
	"writ/internal/config"
	"writ/web"
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
	root.AddCommand(c.serve(), c.health(), c.proxy(), c.demo(), c.user(), c.org(), c.operator(), c.signingKey(),
		c.backup(), c.restore(), c.audit(), c.witness(), c.retention(), c.rollup(), c.prices(), c.policy(), c.config(),
		cli.Manual(s, "writd-org-create"))
	return cli.Execute(ctx, root, args, s)
}

// options reads the configuration; its error names everything that is wrong.
func (c *command) options() (app.Options, error) {
	settings, err := config.Load(c.environ, os.ReadFile)
	if err != nil {
		return app.Options{}, err
	}
	return app.Options{
		Config: settings, Logger: c.logger(settings), Version: cli.Version, Dashboard: web.Dashboard(),
	}, nil
}

func (c *command) logger(settings config.Config) *slog.Logger {
	options := &slog.HandlerOptions{Level: settings.LogLevel}
	if settings.LogFormat == config.LogJSON {
		options.ReplaceAttr = durationsAsText
		return slog.New(slog.NewJSONHandler(c.streams.Err, options))
	}
	return slog.New(slog.NewTextHandler(c.streams.Err, options))
}

// durationsAsText has JSON say 5s as text does; it would be a bare number of nanoseconds.
func durationsAsText(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// work is what a command does with the data.
type work func(ctx context.Context, areas *app.Areas, args []string) (result any, err error)

// onData is the RunE of a command that works on the data, beside a running server or
// without one, and prints a result: JSON, one object; nothing where it is nil. Without a
// database it refuses: whoever runs it in the wrong folder would be told of an empty one.
func (c *command) onData(do work) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		o, err := c.options()
		if err == nil {
			err = app.RequireDatabase(cmd.Context(), o.Config)
		}
		if err != nil {
			return err
		}
		return c.onNewData(do)(cmd, args)
	}
}

// onNewData is onData for a command with which an installation may begin.
func (c *command) onNewData(do work) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) (err error) {
		o, err := c.options()
		if err != nil {
			return err
		}
		isNew := app.IsNewDatabase(o.Config)
		areas, err := app.Open(cmd.Context(), o, o.Config.PublicURL)
		if err != nil {
			return err
		}
		defer func() {
			if closeErr := areas.Close(); err == nil {
				err = closeErr
			}
		}()
		if isNew {
			fmt.Fprintf(c.streams.Err, "writd: %s\n", app.MadeDatabase(app.DatabaseFile(o.Config)))
		}
		result, err := do(cmd.Context(), areas, args)
		if result == nil {
			return err
		}
		return errors.Join(c.print(result), err)
	}
}

func (c *command) print(result any) error { return cli.WriteIndentedJSON(c.streams.Out, result) }

func (c *command) config() *cobra.Command {
	return &cobra.Command{
		Use: "config", Short: "Check the configuration and list every setting", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			var rows [][]any
			for _, v := range config.Variables() {
				rows = append(rows, []any{v.Name, c.isSet(v), v.Default, v.Doc})
			}
			if err := cli.WriteTable(c.streams.Out, "VARIABLE\tSET\tDEFAULT\tMEANING", rows); err != nil {
				return err
			}
			o, err := c.options()
			if err != nil {
				return err
			}
			for _, doubt := range o.Config.Doubts {
				fmt.Fprintf(c.streams.Err, "writd: a variable may be a misspelled setting: %s: %s\n",
					cli.Line(doubt.Variable), doubt.Message)
			}
			return app.CheckFiles(o.Config)
		},
	}
}

// isSet says whether a setting is set, never to what.
func (c *command) isSet(v config.Variable) string {
	for _, entry := range c.environ {
		name, value, _ := strings.Cut(entry, "=")
		if value != "" && (name == v.Name || v.File && name == v.Name+"_FILE") {
			return "yes"
		}
	}
	return "-"
}
