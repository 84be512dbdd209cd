package writ

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

// printedToken is what `writ token --json` prints.
type printedToken struct {
	AccessToken string `json:"accessToken"`
}

// token prints the access token of the sign-in, for requests that no command makes.
func token(s cli.Streams) *cobra.Command {
	var p asPerson
	cmd := &cobra.Command{
		Use: "token", Short: "Print the access token of your sign-in, for requests to the API", Args: cobra.NoArgs,
		Long: `Print the access token of your sign-in, renewed if it has ended, for requests that no command makes. It acts as you for at
most 15 minutes: keep it out of files and of the history of your shell. The organization of the sign-in is orgId of
writ whoami --json.`,
		Example: `  curl -s http://localhost:8080/auth/me -H "Authorization: Bearer $(writ token)"`,
		RunE: asking(&p, s, func(_ context.Context, c *client.Client, _ []string) (printedToken, error) {
			return printedToken{c.AccessToken}, nil
		}, func(s cli.Streams, t printedToken) error {
			_, err := fmt.Fprintln(s.Out, cli.Line(t.AccessToken))
			return err
		}),
	}
	p.addFlags(cmd)
	return byHand(cmd)
}
