package writ

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"writ/internal/cli"
	"writ/internal/cli/credentials"
)

// identity is whom commands act for, as `writ whoami` and `writ login` print it. It
// shows no credential.
type identity struct {
	URL        string `json:"url"`
	Email      string `json:"email,omitempty"`
	UserID     string `json:"userId,omitempty"`
	OrgID      string `json:"orgId,omitempty"`
	OrgName    string `json:"orgName,omitempty"`
	Key        string `json:"key,omitempty"` // its first characters, as lists of keys show them
	KeyFrom    string `json:"keyFrom,omitempty"`
	Person     bool   `json:"person"` // whether commands that need a person may be tried
	PersonFrom string `json:"personFrom,omitempty"`
}

// shownPrefix is how much of a key is no secret.
const shownPrefix = len("ak_test_") + 8

func newIdentity(f credentials.Found) identity {
	i := identity{
		URL:        f.URL,
		Email:      f.Email,
		UserID:     f.UserID,
		OrgID:      f.OrgID,
		OrgName:    f.OrgName,
		KeyFrom:    f.KeyFrom,
		Person:     f.AccessToken != "",
		PersonFrom: f.TokenFrom,
	}
	switch {
	case len(f.APIKey) > 2*shownPrefix:
		i.Key = f.APIKey[:shownPrefix]
	case f.APIKey != "":
		i.Key = "…" // too short to show a part of it
	}
	return i
}

func whoami(s cli.Streams) *cobra.Command {
	var v server
	cmd := &cobra.Command{
		Use: "whoami", Short: "Print who you are signed in as, without asking the server", Args: cobra.NoArgs,
		Long: `Print who you are signed in as, on which server, and where the credentials come from. It asks no server, so it does
not know whether they are still valid: writ status does.`,
		RunE: func(*cobra.Command, []string) error {
			found, err := v.find()
			if err != nil {
				return err
			}
			if found.APIKey == "" && found.AccessToken == "" {
				return cli.SignedOut(fmt.Errorf("not signed in to %s: run writ login", found.URL))
			}
			return show(&v, s, newIdentity(found), printIdentity)
		},
	}
	v.addFlags(cmd)
	return cmd
}

func printIdentity(s cli.Streams, i identity) error {
	t := &sheet{}
	t.row("server", i.URL)
	t.row("account", i.Email)
	t.row("in", nameAndID(i.OrgName, i.OrgID))
	if i.Key != "" {
		t.row("key", strings.TrimSuffix(i.Key, "…")+"… from "+i.KeyFrom)
	}
	if i.Person {
		t.row("session", "from "+i.PersonFrom)
	}
	return t.print(s)
}

// nameAndID is a thing by its name and id, or by its id alone where nobody knows the name.
func nameAndID(name, id string) string {
	if name == "" {
		return id
	}
	return fmt.Sprintf("%s (%s)", name, id)
}
