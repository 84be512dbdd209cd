// Package writ is the client's command line, for people and agents that use a
// Writ server. It links no database and no policy engine, because it will be
// started for every tool call of an agent.
package writ

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

// defaultServer is where `make run` serves.
const defaultServer = "http://localhost:8080"

// statusTime bounds how long a look at the server may take.
const statusTime = 10 * time.Second

// Run is the program.
func Run(ctx context.Context, args []string, s cli.Streams) error {
	root := &cobra.Command{Use: "writ", Short: "Work with a Writ server"}
	root.AddCommand(status(s), policy(s), auditCommand(s), approvals(s))
	return cli.Execute(ctx, root, args, s)
}

// report is what `writ status --json` prints.
type report struct {
	URL     string             `json:"url"`
	Version string             `json:"version"`
	Ready   bool               `json:"ready"`
	Problem string             `json:"problem,omitempty"`
	Key     *client.CurrentKey `json:"key,omitempty"`
}

// errNotReady ends `writ status` with a failure that scripts can see.
var errNotReady = errors.New("the server is not ready")

func status(s cli.Streams) *cobra.Command {
	var url string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "status", Short: "Tell whether the server is ready, and what the API key in WRIT_API_KEY may do", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), statusTime)
			defer cancel()
			r, err := look(ctx, &client.Client{BaseURL: url, APIKey: os.Getenv("WRIT_API_KEY")})
			if err != nil {
				return err
			}
			if err := show(s, r, asJSON); err != nil {
				return err
			}
			if !r.Ready {
				return errNotReady
			}
			return nil
		},
	}
	server := os.Getenv("WRIT_URL")
	if server == "" {
		server = defaultServer
	}
	cmd.Flags().StringVar(&url, "url", server, "the server (WRIT_URL)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func look(ctx context.Context, c *client.Client) (report, error) {
	health, err := c.Health(ctx)
	if err != nil {
		return report{}, fmt.Errorf("no Writ server at %s: %w", c.BaseURL, err)
	}
	r := report{URL: c.BaseURL, Version: health.Version, Ready: true}
	if _, err := c.Ready(ctx); err != nil {
		r.Ready, r.Problem = false, err.Error()
	}
	if c.APIKey != "" && r.Ready {
		if r.Key, err = c.CurrentKey(ctx); err != nil {
			return report{}, fmt.Errorf("the API key in WRIT_API_KEY: %w", err)
		}
	}
	return r, nil
}

func show(s cli.Streams, r report, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(s.Out).Encode(r)
	}
	state := "ready"
	if !r.Ready {
		state = "not ready: " + r.Problem
	}
	fmt.Fprintf(s.Out, "server   %s\nversion  %s\nstate    %s\n", r.URL, cli.Line(r.Version), cli.Line(state))
	if r.Key != nil {
		key := fmt.Sprintf("%s (%s), scopes %s", r.Key.ID, r.Key.Environment, strings.Join(r.Key.Scopes, " "))
		fmt.Fprintf(s.Out, "key      %s\n", cli.Line(key))
	}
	return nil
}
