package writ

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
	"writ/internal/manifest"
)

// applying is what `writ manifest apply` is asked.
type applying struct {
	server
	dryRun bool
}

// applied is what `writ manifest apply --json` prints.
type applied struct {
	AgentID       string                  `json:"agentId"`
	Agent         string                  `json:"agent"`  // its status in the registry
	Status        string                  `json:"status"` // of the lists: active, pending or none
	PolicyID      string                  `json:"policyId,omitempty"`
	PolicyVersion int                     `json:"policyVersion,omitempty"`
	Changes       []client.ManifestChange `json:"changes"`
	Servers       []client.ManifestServer `json:"mcpServers"`
	Warnings      []string                `json:"warnings"`
	ToDo          []string                `json:"toDo"` // what a person must do
}

func manifestApply(s cli.Streams) *cobra.Command {
	var a applying
	cmd := &cobra.Command{
		Use: "apply [FILE|-]", Short: "Register the agent, the lists and the MCP servers of a manifest on a server",
		Args: cobra.MaximumNArgs(1),
		Long: `Register the agent, the lists and the MCP servers of a manifest on a server, with the key of the manifest. A list
that allows less counts at once; one that allows more waits for a person, and so does every MCP server. Applying a manifest again changes nothing. No secret of the
manifest is sent, but for the key that makes the call.`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.run(cmd.Context(), s, fileOf(args)) },
	}
	a.addFlags(cmd)
	cmd.Flags().BoolVar(&a.dryRun, "dry-run", false, "check the manifest and call no server")
	return cmd
}

func (a *applying) run(ctx context.Context, s cli.Streams, file string) error {
	var r reading
	m, warnings, err := r.read(s, file)
	if err != nil {
		return refused(file, err)
	}
	printWarnings(s, file, warnings)
	if a.dryRun {
		fmt.Fprintf(s.Out, "%s is valid; nothing was registered\n", cli.Line(file))
		return nil
	}
	found, err := a.find()
	if err != nil {
		return err
	}
	c := &client.Client{BaseURL: found.URL, APIKey: m.Identity.APIKey.Reveal()}
	done, err := a.apply(ctx, c, m)
	if err != nil {
		return hinted(err, "the key in identity.api_key is not valid on "+found.URL)
	}
	for _, w := range done.Warnings {
		if !foundHere(warnings, w) {
			fmt.Fprintln(s.Err, cli.Line("writ: "+w+" (warning)"))
		}
	}
	return show(&a.server, s, done, printApplied)
}

// foundHere reports whether a warning of a server is one that was printed with its place in the file.
func foundHere(printed []manifest.Problem, warning string) bool {
	return slices.ContainsFunc(printed, func(p manifest.Problem) bool { return p.Field+" "+p.Message == warning })
}

// apply registers the lists and the agent. Each call may take as long, and is tried as
// often, as the manifest says.
func (a *applying) apply(ctx context.Context, c *client.Client, m *manifest.Manifest) (done applied, err error) {
	registered, err := retried(ctx, m.Proxy, func(ctx context.Context) (client.RegisteredManifest, error) {
		return c.RegisterManifest(ctx, m)
	})
	if err != nil {
		return done, err
	}
	agent, err := retried(ctx, m.Proxy, func(ctx context.Context) (client.Agent, error) {
		return c.RegisterAgent(ctx, "", client.NewAgent{AgentID: m.Identity.AgentID, Environment: m.Environment})
	})
	if client.StatusOf(err) == http.StatusConflict { // somebody has registered it before
		agent, err = client.Agent{Status: "registered"}, nil
	}
	done = applied{
		AgentID:       registered.AgentID,
		Agent:         agent.Status,
		Status:        registered.Status,
		PolicyID:      registered.PolicyID,
		PolicyVersion: registered.PolicyVersion,
		Changes:       registered.Changes,
		Warnings:      registered.Warnings,
		Servers:       registered.Servers,
		ToDo:          toDo(registered, agent),
	}
	return done, err
}

// toDo is what a person must do before everything in the manifest counts.
func toDo(r client.RegisteredManifest, agent client.Agent) []string {
	todo := []string{}
	if r.Status == "pending" {
		todo = append(todo, fmt.Sprintf("the lists allow more than before: an owner or admin must activate their policy: "+
			"writ policy activate %s --version %d", r.PolicyID, r.PolicyVersion))
	}
	if staysInForce(r.Status, r.PolicyVersion) {
		todo = append(todo, "the lists before stay in force: an owner or admin must deactivate their policy: "+
			"writ policy deactivate "+r.PolicyID)
	}
	if agent.Status == "pending" {
		todo = append(todo,
			fmt.Sprintf("the agent is proposed: an owner or admin must confirm it: "+
				"writ agents register %s --key KEY (its key, of writ keys list)", r.AgentID))
	}
	for _, s := range r.Servers {
		switch s.Status {
		case "pending":
			todo = append(todo, "the MCP server "+s.ID+" is proposed: an owner or admin must approve it: writ mcp approve "+s.ID)
		case "refused":
			todo = append(todo, "the MCP server "+s.ID+" is not registered: "+s.Problem)
		}
	}
	return todo
}

// staysInForce reports whether a manifest without lists came after one with lists. What allows more waits for a person,
// and so does the end of what narrows.
func staysInForce(status string, version int) bool { return status == "none" && version != 0 }

func printApplied(s cli.Streams, done applied) error {
	t := &sheet{}
	t.row("agent", done.AgentID+" ("+done.Agent+")")
	lists := map[string]string{
		"active": "in force", "pending": "waiting for a person", "none": "none: only policies count",
	}[done.Status]
	if staysInForce(done.Status, done.PolicyVersion) {
		lists = "none any more: those before stay in force until a person ends them"
	}
	t.row("lists", lists)
	var changes []string
	for _, c := range done.Changes {
		changes = append(changes, map[string]string{"added": "+ ", "removed": "- "}[c.Kind]+c.List+" "+c.Entry)
	}
	if len(changes) == 0 {
		changes = []string{"none in the lists"} // the agent and the servers may be new
	}
	t.rows("changes", changes...)
	var servers []string
	for _, known := range done.Servers {
		servers = append(servers, known.ID+" ("+known.Status+")")
	}
	t.rows("servers", servers...)
	t.rows("to do", done.ToDo...)
	return t.print(s)
}

// retried calls the server until it answers, as often as a manifest says. An answer that
// is the caller's fault is not asked for again.
func retried[T any](ctx context.Context, p manifest.Proxy, ask func(context.Context) (T, error)) (out T, err error) {
	for try := 0; ; try++ {
		limited, cancel := context.WithTimeout(ctx, p.Timeout)
		out, err = ask(limited)
		cancel()
		status := client.StatusOf(err)
		isFinal := err == nil || status >= 400 && status < 500 && status != http.StatusTooManyRequests
		if isFinal || try >= p.MaxRetries || ctx.Err() != nil {
			return out, err
		}
		select {
		case <-ctx.Done():
			return out, err
		case <-time.After(min(100*time.Millisecond<<min(try, 10), 5*time.Second)):
		}
	}
}
