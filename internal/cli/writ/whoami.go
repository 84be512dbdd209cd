package writ

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"writ/internal/cli"
	"writ/internal/cli/credentials"
)

// identity is who commands act for, as `writ whoami` and `writ login` print it.
// It shows no credential.
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
	who := identity{
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
		who.Key = f.APIKey[:shownPrefix]
	case f.APIKey != "":
		who.Key = "…" // too short to show a part of it
	}
	return who
}

func whoami(s cli.Streams) *cobra.Command {
	var v server
	cmd := &cobra.Command{
		Use: "whoami", Short: "Tell who you are signed in as, without asking the server", Args: cobra.NoArgs,
		Long: "Tell who you are signed in as, on which server, and where the credentials are from. It asks no server, so it does not\n" +
			"know whether they still hold: writ status does.",
		RunE: func(*cobra.Command, []string) error {
			found, err := v.find()
			if err != nil {
				return err
			}
			if found.APIKey == "" && found.AccessToken == "" {
				return cli.SignedOut(fmt.Errorf("not signed in to %s: run writ login", found.URL))
			}
			return v.showIdentity(s, newIdentity(found))
		},
	}
	v.addFlags(cmd)
	return cmd
}

func (v *server) showIdentity(s cli.Streams, who identity) error {
	if v.asJSON {
		return v.print(s, who)
	}
	t := &sheet{}
	t.row("server", who.URL)
	t.row("account", who.Email)
	t.row("in", who.place())
	if who.Key != "" {
		t.row("key", who.Key+"… from "+who.KeyFrom)
	}
	if who.Person {
		t.row("session", "from "+who.PersonFrom)
	}
	_, err := io.WriteString(s.Out, t.String())
	return err
}

// place is the organization, as a person reads it.
func (who identity) place() string {
	if who.OrgName == "" {
		return who.OrgID
	}
	return fmt.Sprintf("%s (%s)", who.OrgName, who.OrgID)
}
