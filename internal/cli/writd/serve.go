package writd

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"writ/internal/app"
	"writ/internal/cli"
)

func (c *command) serve() *cobra.Command {
	return &cobra.Command{
		Use: "serve", Short: "Serve the API", Args: cobra.NoArgs,
		Long: "Serve the API until interrupted. Settings come from the environment; `writd config` lists them.",
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runServer(cmd.Context()) },
	}
}

// gcPercent trades a few megabytes for a quarter of the CPU time: the live heap is
// small, so Go's default of 100 collects it too often. GOGC overrides it.
const gcPercent = 200

func (c *command) runServer(ctx context.Context) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	o, err := c.options()
	if err != nil {
		return err
	}
	app.LimitMemory(o.Config)
	server, err := app.Start(ctx, o)
	if err != nil {
		return err
	}
	c.announce(o, server)
	// Memory that only the start needed, above all for a password's hash, goes back to
	// the system while the first requests are served.
	go debug.FreeOSMemory()
	return server.Wait(ctx)
}

// announce says where the server is and how to sign in; the first time, as whom.
func (c *command) announce(o app.Options, s *app.Server) {
	fmt.Fprintf(c.streams.Out, "Writ %s is ready at %s\n", cli.Version, s.URL)
	if !o.Config.IsProduction() {
		fmt.Fprintf(c.streams.Out, "API documentation: %s/api-docs\n", s.URL)
	}
	fmt.Fprintf(c.streams.Out, "Sign in from a terminal: writ login --url %s\n", s.URL)
	if s.FirstRun == nil {
		return
	}
	f := s.FirstRun
	fmt.Fprintf(c.streams.Out, `
This is the first run. An owner, an organization and an API key were made.
They are shown this once, and kept in %s (yours to read only):

  e-mail        %s
  password      %s
  organization  %s
  API key       %s

Nothing is allowed until a policy is active. Sign in, then activate one of yours:

  writ policy push FILE --activate

or, over the API, the draft to begin with that is stored as starter:

  GET  %s/policies/yaml/export/%s
  POST %s/policies/%s/activate

`, app.FirstRunPath(o.Config), f.Email, f.Password, f.OrganizationID, f.APIKey, f.URL, f.PolicyID, f.URL, f.PolicyID)
}
