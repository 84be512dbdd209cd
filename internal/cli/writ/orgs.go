package writ

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
	"writ/internal/cli/credentials"
)

// listedOrg is an organization as `writ orgs --json` prints it.
type listedOrg struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Role        string `json:"role"`
	MemberCount int    `json:"memberCount"`
	Active      bool   `json:"active"`
}

func orgs(s cli.Streams) *cobra.Command {
	var v server
	cmd := &cobra.Command{
		Use: "orgs", Short: "List your organizations", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			listed, err := v.orgs(cmd.Context())
			if err != nil {
				return err
			}
			return show(&v, s, map[string][]listedOrg{"items": listed}, printOrgs)
		},
	}
	v.addFlags(cmd)
	return cmd
}

func (v *server) orgs(ctx context.Context) ([]listedOrg, error) {
	if in, err := v.find(); err == nil && in.APIKey == "" && in.AccessToken != "" {
		return v.orgsOfPerson(ctx, in.OrgID)
	}
	found, with, err := callWithKey(ctx, v,
		func(ctx context.Context, c *client.Client) ([]client.TerminalOrganization, error) {
			return c.TerminalOrganizations(ctx)
		})
	if err != nil {
		return nil, needsTerminalKey(err, with)
	}
	listed := make([]listedOrg, len(found))
	for i, o := range found {
		listed[i] = listedOrg{o.OrgID, o.Name, o.UserRole, o.MemberCount, o.Active}
	}
	return listed, nil
}

// orgsOfPerson are the organizations of somebody whose terminal has a session and no key.
func (v *server) orgsOfPerson(ctx context.Context, active string) ([]listedOrg, error) {
	found, err := call(ctx, &asPerson{server: *v}, func(
		ctx context.Context, c *client.Client,
	) ([]client.Organization, error) {
		return c.Organizations(ctx)
	})
	listed := make([]listedOrg, len(found))
	for i, o := range found {
		listed[i] = listedOrg{o.ID, o.Name, o.Role, o.MemberCount, o.ID == active}
	}
	return listed, err
}

// needsTerminalKey explains why a key that no sign-in made is refused.
func needsTerminalKey(err error, with credentials.Found) error {
	switch {
	case client.StatusOf(err) != http.StatusForbidden:
		return err
	case with.KeyFrom == credentials.KeyVariable:
		return fmt.Errorf("%w: this needs the key that writ login makes, and the key in %s comes before it: unset that",
			err, credentials.KeyVariable)
	}
	return fmt.Errorf("%w: this needs the key that writ login makes", err)
}

func printOrgs(s cli.Streams, listed map[string][]listedOrg) error {
	if len(listed["items"]) == 0 {
		fmt.Fprintln(s.Err, "writ: "+errNoOrganization.Error())
		return nil
	}
	var rows [][]any
	for _, o := range listed["items"] {
		mark := ""
		if o.Active {
			mark = "*"
		}
		rows = append(rows, []any{mark, o.ID, o.Name, o.Role, o.MemberCount})
	}
	return cli.WriteTable(s.Out, "\tID\tNAME\tROLE\tMEMBERS", rows)
}

// switching is what `writ switch` is asked.
type switching struct {
	server
	keyName string
}

func switchOrg(s cli.Streams) *cobra.Command {
	var w switching
	cmd := &cobra.Command{
		Use: "switch ORGANIZATION", Short: "Work in another of your organizations, by id or exact name",
		Args: cobra.ExactArgs(1),
		Long: `Work in another of your organizations, by id or exact name. The sign-in gets a key for it, and its key before is
revoked.`,
		RunE: func(cmd *cobra.Command, args []string) error { return w.run(cmd.Context(), s, args[0]) },
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return w.complete(cmd.Context(), args)
		},
	}
	w.addFlags(cmd)
	cmd.Flags().StringVar(&w.keyName, "key-name", "", "name of the new key; cli- and the date unless given")
	return cmd
}

func (w *switching) run(ctx context.Context, s cli.Streams, organization string) error {
	if err := w.mayKeep(); err != nil {
		return err
	}
	switched, found, err := callWithKey(ctx, &w.server,
		func(ctx context.Context, c *client.Client) (client.Switched, error) {
			return c.SwitchOrganization(ctx, organization, w.keyName)
		})
	if err != nil {
		return err
	}
	in := credentials.SignIn{
		URL:     found.URL,
		APIKey:  switched.APIKey,
		Email:   found.Email,
		UserID:  found.UserID,
		OrgID:   switched.OrgID,
		OrgName: switched.OrgName,
	}
	current, err := describeKey(ctx, &client.Client{BaseURL: found.URL, APIKey: in.APIKey}, &in)
	if err != nil {
		return fmt.Errorf("read the new key: %w", err)
	}
	in.KeyID = current.ID
	if err := keepSwitched(found, in); err != nil {
		return err
	}
	w.endBefore(ctx, s, found)
	now, err := w.find()
	if err != nil {
		return err
	}
	return show(&w.server, s, newIdentity(now), printIdentity)
}

// mayKeep refuses to make a key that would not be used.
func (w *switching) mayKeep() error {
	found, err := w.find()
	if err == nil && found.KeyFrom == credentials.KeyVariable {
		err = errors.New("the key in " + credentials.KeyVariable + " comes before any sign-in: unset it to switch")
	}
	return err
}

// keepSwitched saves the new key: in the sign-in, whose session stays, or as the
// first sign-in of somebody who came with another command line's key.
func keepSwitched(found credentials.Found, in credentials.SignIn) error {
	if found.Saved == nil {
		return credentials.Default().Save(in)
	}
	return credentials.Default().Update(*found.Saved, func(saved *credentials.SignIn) {
		saved.APIKey, saved.KeyID, saved.OrgID, saved.OrgName = in.APIKey, in.KeyID, in.OrgID, in.OrgName
	})
}

// endBefore revokes the key that the sign-in had, with the session or else with that
// key itself. If this fails, the switch is done all the same.
func (w *switching) endBefore(ctx context.Context, s cli.Streams, found credentials.Found) {
	if found.Saved == nil || found.Saved.KeyID == "" {
		return
	}
	var err error
	if found.Saved.RefreshToken == "" {
		bounded, cancel := context.WithTimeout(ctx, answerTime)
		defer cancel()
		err = endKeyAlone(bounded, *found.Saved)
	} else {
		person := asPerson{server: w.server}
		_, err = call(ctx, &person, func(ctx context.Context, c *client.Client) (struct{}, error) {
			return struct{}{}, c.RevokeKey(ctx, found.Saved.KeyID)
		})
	}
	if err != nil {
		fmt.Fprintf(s.Err, "writ: the key %s that you had stays valid: %s\n", cli.Line(found.Saved.KeyID),
			cli.Line(err.Error()))
	}
}

// complete proposes organizations to a shell, none where it fails.
func (w *switching) complete(ctx context.Context, args []string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(ctx, statusTime)
	defer cancel()
	var names []string
	if listed, err := w.orgs(ctx); err == nil {
		for _, o := range listed {
			names = append(names, cobra.CompletionWithDesc(cli.Line(o.ID), cli.Line(o.Name)))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
