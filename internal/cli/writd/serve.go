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
	for _, doubt := range o.Config.Doubts {
		o.Logger.Warn("a variable may be a misspelled setting", "variable", doubt.Variable, "problem", doubt.Message)
	}
	app.LimitMemory(o.Config)
	server, err := app.Start(ctx, o)
	if err != nil {
		return err
	}
	c.announce(ctx, o, server)
	// Memory that only the start needed, above all for a password's hash, goes back to
	// the system while the first requests are served.
	go debug.FreeOSMemory()
	go app.GiveBackMemory(ctx)
	return server.Wait(ctx)
}

// announceNoAccount says what comes before a sign-in where the server made no account, as in production. It says so too
// where the server is stopped at once.
func (c *command) announceNoAccount(ctx context.Context, s *app.Server) {
	if none, err := s.Auth.Empty(context.WithoutCancel(ctx), s.Database); err == nil && none {
		fmt.Fprintln(c.streams.Out, "Nobody has an account yet. With the same settings: writd user create --email ADDRESS, "+
			"then writd org create --name NAME --owner ADDRESS")
	}
}

// announce says where the server is and how to sign in; the first time, as whom. What it prints can be pasted.
func (c *command) announce(ctx context.Context, o app.Options, s *app.Server) {
	fmt.Fprintf(c.streams.Out, "Writ %s is ready at %s\n", cli.Version, s.URL)
	c.announceSettings(o.Config, s)
	fmt.Fprintf(c.streams.Out, "Sign in from a terminal: writ login --url %s\n", s.URL)
	if s.FirstRun == nil {
		c.announceNoAccount(ctx, s)
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

Nothing is allowed until a policy is active. Sign in, read the policy to begin with, and put it in force:

  writ login --url %s
  writ policy show starter
  writ policy activate starter

Or put one of your own in force: writ policy push FILE --activate

`, app.FirstRunPath(o.Config), f.Email, f.Password, f.OrganizationID, f.APIKey, f.URL)
}

// announceSettings says what an operator looks for first: where the server listens, whether it speaks TLS itself, and
// which database it uses. Addresses of databases hold passwords, so only the kind is said.
func (c *command) announceSettings(settings config.Config, s *app.Server) {
	if !settings.IsProduction() {
		fmt.Fprintf(c.streams.Out, "API documentation: %s/api-docs\n", s.URL)
		return
	}
	tls, database := "none here, so a proxy in front must speak it", "SQLite in "+settings.DataDir
	if settings.UsesTLS() {
		tls = "by this server"
	}
	if settings.UsesPostgres() {
		database = "PostgreSQL"
	}
	fmt.Fprintf(c.streams.Out, "  listens on  %s\n  TLS         %s\n  database    %s\n  version     %s\n",
		s.Address, tls, database, cli.Version)
	if !settings.UsesTLS() && len(settings.TrustedProxies) == 0 {
		fmt.Fprintln(c.streams.Out, "  proxies     none trusted, so limits count all clients behind one as one: name it in WRIT_TRUSTED_PROXIES")
	}
	if s.AgentsAddress != "" {
		fmt.Fprintf(c.streams.Out, "  agents on   %s, with certificates\n", s.AgentsAddress)
	}
	if settings.MetricsListen != "" {
		fmt.Fprintf(c.streams.Out, "  metrics on  %s\n", settings.MetricsListen)
	}
	c.announceWarnings(settings)
}

// announceWarnings says what lets others in. The server starts all the same: it may be known, and meant.
func (c *command) announceWarnings(settings config.Config) {
	if settings.IsPublicPlain() {
		fmt.Fprintln(c.streams.Out, "  warning     WRIT_PUBLIC_URL begins with http://, so passwords and keys cross the network in clear: "+
			"have a proxy speak TLS, or set WRIT_TLS_CERT and WRIT_TLS_KEY")
	}
	if settings.MasterKeyIsWeak() {
		fmt.Fprintln(c.streams.Out, "  warning     WRIT_MASTER_KEY is easily guessed, and whoever has it can forge plans and logs: "+
			"begin anew with one of `openssl rand -hex 32`")
	}
	for _, file := range config.ExposedFiles(c.environ) {
		fmt.Fprintf(c.streams.Out, "  warning     %s names a file that everybody on this machine can read: keep %s from others\n",
			file.Variable, cli.Line(file.Path))
	}
}
