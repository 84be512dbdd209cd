package writd

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"writ/internal/app"
	"writ/internal/cli"
	"writ/internal/config"
)

func (c *command) proxy() *cobra.Command {
	return &cobra.Command{
		Use: "proxy", Short: "Serve the enforcement proxy of another Writ server", Args: cobra.NoArgs,
		Long: "Serve the MCP endpoint and POST /invoke of the Writ server at WRIT_SERVER_URL until interrupted. Both " +
			"have the same WRIT_PROXY_TOKEN. The proxy needs neither a database nor the master key, and while the " +
			"server is away nothing passes.",
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runProxy(cmd.Context()) },
	}
}

func (c *command) runProxy(ctx context.Context) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	settings, err := config.LoadProxy(c.environ, os.ReadFile)
	if err != nil {
		return err
	}
	app.LimitMemory(settings)
	p, err := app.StartProxy(app.Options{Config: settings, Logger: c.logger(settings), Version: cli.Version})
	if err != nil {
		return err
	}
	fmt.Fprintf(c.streams.Out, "The proxy of %s listens at %s/proxy/mcp; %s/ready says whether the server answers it\n",
		settings.ServerURL, p.URL, p.URL)
	go app.GiveBackMemory(ctx)
	return p.Wait(ctx)
}
