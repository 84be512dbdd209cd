package writ

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
	"writ/internal/cli/credentials"
)

// statusTime bounds how long all questions of `writ status` may take.
const statusTime = 10 * time.Second

// report is what `writ status --json` prints.
type report struct {
	URL     string             `json:"url"`
	Version string             `json:"version"`
	Ready   bool               `json:"ready"`
	Problem string             `json:"problem,omitempty"`
	Key     *client.CurrentKey `json:"key,omitempty"`
	KeyFrom string             `json:"keyFrom,omitempty"`
	Account string             `json:"account,omitempty"` // of the session
}

// errNotReady ends `writ status` with a failure that scripts can see.
var errNotReady = errors.New("the server is not ready")

func status(s cli.Streams) *cobra.Command {
	var v server
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Ask the server whether it is ready, what your key may do, and whether your session is valid",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), statusTime)
			defer cancel()
			found, err := v.find()
			if err != nil {
				return err
			}
			r, err := readStatus(ctx, found)
			if err != nil {
				return err
			}
			if err := show(&v, s, r, printStatus); err != nil || r.Ready {
				return err
			}
			return errNotReady
		},
	}
	v.addFlags(cmd)
	return cmd
}

func readStatus(ctx context.Context, found credentials.Found) (report, error) {
	c := &client.Client{BaseURL: found.URL, APIKey: found.APIKey}
	health, err := c.WithKey("").Health(ctx)
	if err != nil {
		return report{}, noAnswer(c.BaseURL, "no Writ server at "+c.BaseURL, err)
	}
	r := report{URL: c.BaseURL, Version: health.Version, Ready: true}
	if _, err := c.WithKey("").Ready(ctx); err != nil {
		r.Ready, r.Problem = false, err.Error()
		return r, nil // so it cannot check credentials either
	}
	if c.APIKey != "" {
		if r.Key, err = c.CurrentKey(ctx); err != nil {
			return report{}, fmt.Errorf("the API key in %s: %w", found.KeyFrom, hinted(err,
				"run writ login, or give another key"))
		}
		r.KeyFrom = found.KeyFrom
	}
	if found.AccessToken != "" {
		r.Account, err = account(ctx, found)
	}
	return r, err
}

// account is the e-mail of the person who is signed in.
func account(ctx context.Context, found credentials.Found) (string, error) {
	token, err := personToken(ctx, found)
	if err != nil {
		return "", err
	}
	me, err := (&client.Client{BaseURL: found.URL, AccessToken: token}).Me(ctx)
	if err != nil {
		return "", fmt.Errorf("the session in %s: %w", found.TokenFrom, hinted(err,
			"run writ login, or give another access token"))
	}
	return me.User.Email, nil
}

func printStatus(s cli.Streams, r report) error {
	state := "ready"
	if !r.Ready {
		state = "not ready: " + r.Problem
	}
	fmt.Fprintf(s.Out, "server   %s\nversion  %s\nstate    %s\n", r.URL, cli.Line(r.Version), cli.Line(state))
	if r.Key != nil {
		key := fmt.Sprintf("%s (%s), scopes %s", r.Key.ID, r.Key.Environment, strings.Join(r.Key.Scopes, " "))
		if r.Key.Stopped {
			key += "; stopped: nothing is allowed until a person revives it"
		}
		fmt.Fprintf(s.Out, "key      %s\n", cli.Line(key))
	}
	if r.Account != "" {
		fmt.Fprintf(s.Out, "session  %s\n", cli.Line(r.Account))
	}
	return nil
}
