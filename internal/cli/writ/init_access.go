package writ

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	"writ/client"
	"writ/internal/cli"
	"writ/internal/cli/credentials"
	"writ/internal/hook/guardfile"
	"writ/internal/hook/install"
)

// guardScopes are those of the key in a guard file: what hooks ask and report, and proposals, which decide nothing.
var guardScopes = []string{"enforce", "audit", "ingest", "delegation.request", "profile.propose"}

// access is the server, organization and key that hooks use.
type access struct {
	url, org, key, keyID string

	orgName string // empty: a key alone does not tell

	own    bool // the key was made for this machine, now or earlier
	made   bool // now
	person bool // somebody is signed in, who may look at policies and put them in force

	lacks []string // scopes that hooks need and the key does not have
}

// ownKeyID is the id of the key, if it goes when the guard goes.
func (a access) ownKeyID() string {
	if !a.own {
		return ""
	}
	return a.keyID
}

// abandonTime bounds the revocation of a key that nobody uses.
const abandonTime = 2 * answerTime

// abandon revokes the key of an init that failed, if it was made for it, also where the person has interrupted it. A
// key that stays is named: nobody else knows of it.
func (a access) abandon(ctx context.Context, failure error) error {
	if !a.made {
		return failure
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTime)
	defer cancel()
	if err := revoke(ctx, a.url, a.keyID); err != nil {
		return fmt.Errorf("%w; the key %s, which was made for this, could not be revoked (%s): run writ keys revoke %s",
			failure, a.keyID, cli.Line(err.Error()), a.keyID)
	}
	return failure
}

// access finds server, organization and key: a key that is given, that of an earlier guard file if it still works, or
// a new one of the person who is signed in.
func (i *initializing) access(
	ctx context.Context, s cli.Streams, places install.Places, earlier guardfile.File,
) (access, error) {
	found, err := i.find()
	if err != nil {
		return access{}, err
	}
	if found.KeyFrom == credentials.KeyVariable || found.APIKey != "" && found.AccessToken == "" {
		return i.givenKey(ctx, found)
	}
	if found.AccessToken == "" {
		if a, ok := i.unsigned(ctx, places, earlier); ok {
			return a, nil
		}
		fmt.Fprintf(s.Err, "writ: not signed in to %s\n", cli.Line(found.URL))
		in := signingIn{server: i.server, org: i.org, product: "gemini-cli", noBrowser: i.noBrowser}
		if _, err := in.signIn(ctx, s); err != nil {
			return access{}, err
		}
	}
	return i.ofPerson(ctx, places, earlier)
}

// unsigned goes on with an earlier guard file where nobody is signed in, unless the command line asks for another.
func (i *initializing) unsigned(ctx context.Context, places install.Places, earlier guardfile.File) (access, bool) {
	server := cmp.Or(i.url, os.Getenv(credentials.URLVariable), earlier.Server)
	if strings.TrimRight(server, "/") != earlier.Server || i.org != "" && i.org != earlier.Organization {
		return access{}, false
	}
	return earlierKey(ctx, places, earlier)
}

// givenKey uses a key that somebody has made for this.
func (i *initializing) givenKey(ctx context.Context, found credentials.Found) (access, error) {
	a := access{url: found.URL, key: found.APIKey}
	current, err := keyAt(ctx, a.url, a.key)
	if err != nil {
		return a, fmt.Errorf("the API key in %s: %w", found.KeyFrom, hinted(err, "give another key"))
	}
	if a.keyID = current.ID; current.OrganizationID != nil {
		a.org = *current.OrganizationID
	}
	switch {
	case slices.Contains(current.Scopes, "cli"):
		return a, cli.SignedOut(fmt.Errorf("the key in %s makes keys, and an agent could read it in the guard file: "+
			"run writ login and leave the session ticked, or give a key with the scopes %s in %s",
			found.KeyFrom, strings.Join(guardScopes, " "), credentials.KeyVariable))
	case !slices.Contains(current.Scopes, "enforce"):
		return a, fmt.Errorf("the key in %s has no scope enforce", found.KeyFrom)
	case i.org != "" && i.org != a.org:
		return a, fmt.Errorf("the key in %s is for the organization %s, not for %q: give --org by its id",
			found.KeyFrom,
			a.org, i.org)
	}
	for _, scope := range guardScopes {
		if !slices.Contains(current.Scopes, scope) {
			a.lacks = append(a.lacks, scope)
		}
	}
	return a, nil
}

// earlierKey is the key of the guard file, if it is for this server and organization and has all scopes.
func earlierKey(ctx context.Context, places install.Places, earlier guardfile.File) (access, bool) {
	if earlier.Key == "" {
		return access{}, false
	}
	current, err := keyAt(ctx, earlier.Server, earlier.Key)
	if err != nil {
		return access{}, false
	}
	for _, scope := range guardScopes {
		if !slices.Contains(current.Scopes, scope) {
			return access{}, false
		}
	}
	return access{
		url: earlier.Server, org: earlier.Organization, key: earlier.Key, keyID: current.ID,
		own: install.KeyID(places) == current.ID,
	}, true
}

// ofPerson uses the key that an earlier init made, or makes one for this machine.
func (i *initializing) ofPerson(ctx context.Context, places install.Places, earlier guardfile.File) (access, error) {
	found, err := i.find()
	if err != nil {
		return access{}, err
	}
	p := asPerson{server: i.server, orgID: i.org, orgFlag: "--org"}
	return call(ctx, &p, func(ctx context.Context, c *client.Client) (access, error) {
		org, err := p.organization(ctx, c)
		if err != nil {
			return access{}, err
		}
		named, err := c.Organization(ctx, org)
		if err != nil {
			return access{}, err
		}
		if earlier.Server == found.URL && earlier.Organization == org {
			if a, ok := earlierKey(ctx, places, earlier); ok {
				a.orgName, a.person = named.Name, true
				return a, nil
			}
		}
		issued, err := c.CreateKey(ctx, client.NewKey{Name: keyName(), OrganizationID: org, Scopes: guardScopes})
		if err != nil {
			return access{}, fmt.Errorf("make a key for this machine: %w", err)
		}
		return access{
			url:     found.URL,
			org:     org,
			orgName: named.Name,
			key:     issued.APIKey,
			keyID:   issued.ID,
			own:     true,
			made:    true,
			person:  true,
		}, nil
	})
}

// keyName is what lists of keys show.
func keyName() string {
	host, err := os.Hostname()
	if err != nil {
		return "gemini-cli"
	}
	return "gemini-cli on " + host
}

func keyAt(ctx context.Context, url, key string) (*client.CurrentKey, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	current, err := (&client.Client{BaseURL: url, APIKey: key}).CurrentKey(ctx)
	if client.StatusOf(err) == 0 && err != nil {
		return nil, noAnswer(url, "ask "+url+" about the key", err)
	}
	return current, err
}

// revoke revokes a key of the person who is signed in to the server.
func revoke(ctx context.Context, url, keyID string) error {
	if keyID == "" {
		return nil
	}
	p := asPerson{server: server{url: url}}
	_, err := call(ctx, &p, func(ctx context.Context, c *client.Client) (struct{}, error) {
		return struct{}{}, c.RevokeKey(ctx, keyID)
	})
	return err
}

// readEarlier is what an earlier guard file says, also one of another version; empty where there is none.
func readEarlier(path string) (f guardfile.File) {
	if earlier, err := guardfile.Read(path); err == nil {
		return *earlier
	}
	text, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(text, &f) != nil {
		return guardfile.File{}
	}
	return f
}

// ensurePolicy has a policy in force in the organization: it is, or a template of its name is put in force.
func (i *initializing) ensurePolicy(ctx context.Context, a access) (string, error) {
	p := asPerson{server: server{url: a.url, cmd: i.cmd}, orgID: a.org, orgIsID: true}
	return call(ctx, &p, func(ctx context.Context, c *client.Client) (string, error) {
		known, err := policyByName(ctx, c, a.org, i.policy)
		switch {
		case err != nil:
			return "", err
		case known != nil && known.ActiveVersion != nil:
			return fmt.Sprintf("%s, version %d, in force", i.policy, *known.ActiveVersion), nil
		case known != nil:
			return "", fmt.Errorf("the policy %s is there, but not in force in this organization: an owner or admin "+
				"activates it: writ policy activate %[1]s", i.policy)
		}
		text, err := c.PolicyTemplate(ctx, i.policy)
		if client.StatusOf(err) == http.StatusNotFound {
			return "", fmt.Errorf("the organization has no policy %s, and there is no template of that name", i.policy)
		}
		if err != nil {
			return "", err
		}
		stored, err := c.ImportPolicy(ctx, a.org, client.YAMLDocument, text)
		if err == nil {
			stored, err = c.ActivatePolicy(ctx, stored.ID, stored.PolicyVersion)
		}
		if client.StatusOf(err) == http.StatusForbidden {
			err = errors.Join(err, errors.New("ask an owner or admin to put it in force"))
		}
		if err != nil {
			return "", fmt.Errorf("put the template %s in force: %w", i.policy, err)
		}
		return fmt.Sprintf("%s, version %d, put in force", i.policy, stored.PolicyVersion), nil
	})
}

// policyByName is a policy of an organization; nil: there is none of this name.
func policyByName(ctx context.Context, c *client.Client, org, name string) (*client.PolicyState, error) {
	found, err := c.Policies(ctx, client.PolicyFilter{OrganizationID: org, Name: name}, client.List{})
	if err != nil {
		return nil, err
	}
	for _, p := range found.Items {
		if p.Name == name {
			return &p, nil
		}
	}
	return nil, nil
}
