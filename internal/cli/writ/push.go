package writ

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

// pushing is what `writ policy push` is asked.
type pushing struct {
	asPerson
	activate bool
}

// pushed is what `writ policy push --json` prints.
type pushed struct {
	PolicyID      string `json:"policyId"`
	Name          string `json:"name"`
	Version       int    `json:"version"`
	ActiveVersion *int   `json:"activeVersion"`
	// that Changes are compared with; absent: it is new
	Before   int                    `json:"versionBefore,omitempty"`
	Changes  []client.PolicyChange  `json:"changes"`
	Warnings []client.PolicyProblem `json:"warnings"`
}

func policyPush(s cli.Streams) *cobra.Command {
	var p pushing
	cmd := &cobra.Command{
		Use: "push FILE|-", Short: "Store a policy on a server, and with --activate put it in force",
		Args: cobra.ExactArgs(1),
		Long: `Store the policy in a YAML or JSON file on a server: as the next version of the policy with its name, or as a new
one. Without --activate it decides nothing yet. A policy with errors is not stored; each error is printed with its
line and column. - reads the policy from the standard input.

Without a sign-in, an API key of the scope policy.draft stores it, as in CI. Only a person activates it.`,
		RunE: func(cmd *cobra.Command, args []string) error { return p.run(cmd.Context(), s, args[0]) },
	}
	p.addFlags(cmd)
	cmd.Flags().BoolVar(&p.activate, "activate", false, "judge calls by it from now on; owners and admins only")
	return cmd
}

func (p *pushing) run(ctx context.Context, s cli.Streams, file string) error {
	text, err := readPolicy(s, file)
	if err != nil {
		return err
	}
	kind := client.YAMLDocument
	if filepath.Ext(file) == ".json" {
		kind = client.JSONDocument
	}
	done, err := p.store(ctx, func(ctx context.Context, c *client.Client) (pushed, error) {
		return p.push(ctx, c, kind, text)
	})
	if err != nil {
		return inFile(file, err)
	}
	for _, w := range done.Warnings {
		where := fmt.Sprintf("%s:%d:%d: ", file, w.Line, w.Column)
		if w.Rule != "" {
			where += "rule " + w.Rule + ": "
		}
		fmt.Fprintln(s.Err, cli.Line(where+w.Message+" (warning)"))
	}
	return show(&p.server, s, done, printPushed)
}

// readPolicy reads a policy that a server is asked about. An empty body is to a server none at all.
func readPolicy(s cli.Streams, file string) (string, error) {
	text, err := readInput(s, file)
	switch {
	case err != nil:
		return "", fmt.Errorf("read the policy: %w", err)
	case len(bytes.TrimSpace(text)) == 0:
		return "", fmt.Errorf("%s is empty: a policy has version: v1, name and rules", file)
	}
	return string(text), nil
}

// keyThatDrafts is what to do with a key that may not.
const keyThatDrafts = "make a key that may draft: writ keys create --scope policy.draft"

// store pushes as a person, or as a key where there is none, as in CI: a key may draft, and only people activate.
func (p *pushing) store(
	ctx context.Context, push func(context.Context, *client.Client) (pushed, error),
) (pushed, error) {
	found, err := p.find()
	if err != nil || p.activate || p.tokenFile != "" || found.AccessToken != "" || found.APIKey == "" {
		return call(ctx, &p.asPerson, push)
	}
	done, _, err := callWithKey(ctx, &p.server, push)
	if client.StatusOf(err) == http.StatusForbidden {
		err = fmt.Errorf("%w: %w; or %s", err, errKeyOnly, keyThatDrafts)
	}
	return done, err
}

func printPushed(s cli.Streams, done pushed) error {
	fmt.Fprintf(s.Out, "policy %s: %s\n", cli.Line(done.Name), done.words())
	if len(done.Changes) > 0 {
		fmt.Fprintf(s.Out, "since version %d:\n", done.Before)
	}
	changes := make([]cli.Change, len(done.Changes))
	for i, change := range done.Changes {
		changes[i] = cli.Change(change)
	}
	_, err := fmt.Fprint(s.Out, cli.ChangeLines(changes))
	return err
}

// push stores a document, and activates the very version that was stored.
func (p *pushing) push(ctx context.Context, c *client.Client, kind, text string) (pushed, error) {
	if p.activate {
		if err := refuseBeneathHost(); err != nil {
			return pushed{}, err
		}
	}
	stored, err := c.ImportPolicy(ctx, p.orgID, kind, text)
	if err != nil {
		return pushed{}, err
	}
	done := pushed{
		PolicyID:      stored.ID,
		Name:          stored.Name,
		Version:       stored.PolicyVersion,
		ActiveVersion: stored.ActiveVersion,
		Before:        stored.PolicyVersion - 1,
		Changes:       []client.PolicyChange{},
		Warnings:      append([]client.PolicyProblem{}, stored.Warnings...), // a list, also of none
	}
	if stored.ActiveVersion != nil {
		done.Before = *stored.ActiveVersion
	}
	if done.Before > 0 && done.Before != done.Version {
		if done.Changes, err = c.DiffPolicy(ctx, stored.ID, done.Before, done.Version); err != nil {
			return pushed{}, fmt.Errorf("compare with version %d of %s: %w", done.Before, done.Name, err)
		}
	}
	if p.activate && !done.isActive() { // else there is nothing to do, nor to be refused
		active, err := c.ActivatePolicy(ctx, stored.ID, done.Version)
		if err != nil {
			return pushed{}, fmt.Errorf("version %d of %s is stored, but not active: %w", done.Version, done.Name, err)
		}
		done.ActiveVersion = active.ActiveVersion
	}
	return done, nil
}

// isActive reports whether the version that was stored is in force.
func (d pushed) isActive() bool { return d.ActiveVersion != nil && *d.ActiveVersion == d.Version }

// words say what came of it.
func (d pushed) words() string {
	active := "no version is active; --activate puts it in force"
	switch {
	case d.isActive():
		active = "active"
	case d.ActiveVersion != nil:
		active = fmt.Sprintf("version %d stays active; --activate replaces it", *d.ActiveVersion)
	}
	return fmt.Sprintf("version %d, %s", d.Version, active)
}

// positioned is how a server writes the position of a problem in a document.
var positioned = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^line (\d+), column (\d+)(?:, (rule [^:]*))?: `)
})

// inFile is an error of a server about a document, in the form of compilers: a line
// for each problem, with file, line and column.
func inFile(file string, err error) error {
	refused, ok := errors.AsType[*client.Error](err)
	if !ok || len(refused.Details) == 0 || refused.Details[0].Field == "organizationId" {
		return err
	}
	lines := make([]string, len(refused.Details))
	for i, d := range refused.Details {
		lines[i] = fmt.Sprintf("%s: %s: %s", file, d.Field, d.Message)
		place := positioned().FindStringSubmatch(d.Message)
		if place == nil {
			continue
		}
		field := d.Field
		if place[3] != "" { // the rule is named, so its number says nothing more
			field = place[3] + field[strings.IndexByte(field, ']')+1:]
		}
		lines[i] = fmt.Sprintf("%s:%s:%s: %s: %s", file, place[1], place[2],
			strings.Replace(field, ".", ": ", 1), d.Message[len(place[0]):])
	}
	for i := range lines {
		lines[i] = cli.Line(lines[i])
	}
	return errors.New(strings.Join(lines, "\n"))
}
