package writ

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
	"writ/internal/cli/credentials"
)

// answerTime bounds how long one call of the server may take.
const answerTime = 30 * time.Second

// server is the server of a command, and how the command prints.
type server struct {
	url    string // --url
	asJSON bool
	cmd    *cobra.Command // whose streams lead to the person; nil: none do
}

func (v *server) addFlags(cmd *cobra.Command) {
	v.cmd = cmd
	cmd.Flags().StringVar(&v.url, "url", "",
		"the server; WRIT_URL unless given, else the one you signed in to, else "+credentials.DefaultURL)
	cli.JSONFlag(cmd, &v.asJSON)
}

// find returns the credentials of a command.
func (v *server) find() (credentials.Found, error) {
	return credentials.Default().Find(v.url, os.Getenv)
}

// withKey is a client with the API key that counts.
func (v *server) withKey() (*client.Client, credentials.Found, error) {
	found, err := v.find()
	if err != nil {
		return nil, found, err
	}
	if found.APIKey == "" && found.Saved != nil && found.Saved.OrgID != "" {
		return nil, found, cli.SignedOut(fmt.Errorf("your sign-in to %s has no key, because your role there has none: "+
			"give an API key in %s, or run writ login again once you are a member", found.URL, credentials.KeyVariable))
	}
	if found.APIKey == "" && found.Saved != nil {
		return nil, found, cli.SignedOut(fmt.Errorf("your sign-in to %s has no key, because you were in no organization: "+
			"run writ login again when you are in one, or give an API key in %s", found.URL, credentials.KeyVariable))
	}
	if found.APIKey == "" && found.AccessToken != "" {
		return nil, found, cli.SignedOut(fmt.Errorf("there is a session for %s and no key: run writ login, which makes one, "+
			"or give an API key in %s", found.URL, credentials.KeyVariable))
	}
	if found.APIKey == "" {
		return nil, found, cli.SignedOut(fmt.Errorf("not signed in to %s: run writ login, or give an API key in %s",
			found.URL, credentials.KeyVariable))
	}
	return &client.Client{BaseURL: found.URL, APIKey: found.APIKey}, found, nil
}

// asPerson is the server of a command that needs a person.
type asPerson struct {
	server
	tokenFile, orgID string
	orgIsID          bool   // orgID need not be looked up as a name
	orgFlag          string // that names the organization; --organization unless set
	code             string // of the second factor
	given            string // the token that standard input held, which is read once
	tokenFrom        string // where the access token is that counts; empty: none was found yet
}

func (p *asPerson) addFlags(cmd *cobra.Command) {
	p.server.addFlags(cmd)
	cmd.Flags().StringVar(&p.tokenFile, "token", "",
		"file with an access token, or - for standard input, in place of "+credentials.TokenVariable+" and the sign-in")
	cmd.Flags().StringVar(&p.orgID, "organization", "",
		"the organization, by id or exact name; the one you switched to unless given, or your only one")
	cmd.Flags().StringVar(&p.code, "code", "",
		"a code of your second factor, where the server wants one and no terminal can ask; "+codeVariable+" unless given")
}

// client is a client with the person's access token. Without --organization it works
// in the organization of the sign-in.
func (p *asPerson) client(ctx context.Context) (*client.Client, error) { return p.limited(ctx, 0) }

// limited is a client whose requests may take so long each; 0: as long as they take.
func (p *asPerson) limited(ctx context.Context, limit time.Duration) (*client.Client, error) {
	found, err := p.find()
	if err != nil {
		return nil, err
	}
	if err := p.readToken(&found); err != nil {
		return nil, err
	}
	p.tokenFrom = found.TokenFrom
	token, err := personToken(ctx, found)
	if err != nil {
		return nil, err
	}
	if p.orgID == "" && p.tokenFile == "" && found.Saved != nil && found.TokenFrom != credentials.TokenVariable {
		p.orgID, p.orgIsID = found.Saved.OrgID, true
	}
	through := &proving{url: found.URL, given: codeGiven(p.code), limit: limit}
	if p.cmd != nil {
		through.streams = cli.Streams{In: p.cmd.InOrStdin(), Err: p.cmd.ErrOrStderr()}
	}
	c := &client.Client{BaseURL: found.URL, AccessToken: token, HTTP: &http.Client{Transport: through}}
	return c, p.findOrganization(ctx, c)
}

// How to become a person for the server.
var errKeyOnly = errors.New("this terminal has a key but no session: " +
	"run writ login and leave the session ticked, or give an access token in WRIT_ACCESS_TOKEN or --token")

func noPerson(url string) error {
	return cli.SignedOut(fmt.Errorf(
		"not signed in to %s: run writ login, or give an access token in WRIT_ACCESS_TOKEN or --token", url))
}

// readToken takes the access token of --token, which comes before all others.
func (p *asPerson) readToken(found *credentials.Found) (err error) {
	if p.tokenFile == "" {
		return nil
	}
	var in io.Reader = os.Stdin
	if p.cmd != nil {
		in = p.cmd.InOrStdin()
	}
	token := p.given
	if token == "" {
		if token, err = cli.SecretOf(in, "token", "the token", p.tokenFile); err != nil {
			return err
		}
	}
	found.TokenFrom = "the file that --token names"
	if p.tokenFile == "-" {
		p.given, found.TokenFrom = token, "standard input"
	}
	found.AccessToken = token
	return nil
}

// personToken is the access token that counts: that of --token, of the environment, or
// of the sign-in, which is renewed if it has ended.
func personToken(ctx context.Context, found credentials.Found) (string, error) {
	switch {
	case found.AccessToken == "" && found.APIKey != "":
		return "", cli.SignedOut(errKeyOnly)
	case found.AccessToken == "":
		return "", noPerson(found.URL)
	case found.Saved == nil || found.TokenFrom != credentials.Default().File():
		return found.AccessToken, nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	token, err := credentials.Default().AccessToken(ctx, found.URL, renewAt(found.URL))
	switch {
	case errors.Is(err, credentials.ErrNone):
		return "", noPerson(found.URL)
	case client.StatusOf(err) == http.StatusUnauthorized:
		return "", cli.SignedOut(errors.New("your sign-in has ended: run writ login"))
	case err != nil:
		return "", fmt.Errorf("renew the sign-in: %w", err)
	}
	return token, nil
}

func renewAt(url string) credentials.Renew {
	return func(ctx context.Context, refreshToken string) (credentials.Tokens, error) {
		fresh, err := (&client.Client{BaseURL: url}).Refresh(ctx, refreshToken)
		return credentials.Tokens{
			Access: fresh.AccessToken, Refresh: fresh.RefreshToken, Life: time.Duration(fresh.ExpiresIn) * time.Second,
		}, err
	}
}

// request asks a server one thing.
type request[T any] func(ctx context.Context, c *client.Client, args []string) (T, error)

// asking is the RunE of a command that asks the server one thing as a person, and
// prints the answer: in JSON with --json, else in words.
func asking[T any](
	p *asPerson, s cli.Streams, ask request[T], print func(cli.Streams, T) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		answer, err := call(cmd.Context(), p, func(ctx context.Context, c *client.Client) (T, error) {
			return ask(ctx, c, args)
		})
		if err != nil {
			return err
		}
		return show(&p.server, s, answer, print)
	}
}

// show prints a result: in JSON with --json, else in words.
func show[T any](v *server, s cli.Streams, result T, print func(cli.Streams, T) error) error {
	if v.asJSON {
		return cli.WriteJSON(s.Out, result)
	}
	return print(s, result)
}

// call asks the server one thing as a person. Each request may take answerTime.
func call[T any](ctx context.Context, p *asPerson, ask func(context.Context, *client.Client) (T, error)) (T, error) {
	var none T
	c, err := p.limited(ctx, answerTime)
	if err != nil {
		return none, hinted(err, p.signInAgain())
	}
	out, err := ask(ctx, c)
	return out, hinted(err, p.signInAgain())
}

// signInAgain is the hint where the server does not accept a person's token. It says where the token is: a variable
// that was forgotten comes before a sign-in, and writ login alone would change nothing.
func (p *asPerson) signInAgain() string {
	const again = "sign in again with writ login, or give a new access token"
	switch p.tokenFrom {
	case "":
		return again
	case credentials.Default().File():
		return "your stored sign-in was refused: " + again
	}
	return "the access token of " + p.tokenFrom + " was refused: give a new one there, or none and sign in with writ login"
}

// callWithKey is call with the API key.
func callWithKey[T any](
	ctx context.Context, v *server, ask func(context.Context, *client.Client) (T, error),
) (T, credentials.Found, error) {
	var none T
	c, found, err := v.withKey()
	if err != nil {
		return none, found, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	out, err := ask(ctx, c)
	return out, found, hinted(err, mendKey(found))
}

// mendKey is the hint where the server does not accept an API key: it says where the key is.
func mendKey(found credentials.Found) string {
	return "sign in again with writ login, or mend the key in " + found.KeyFrom
}

// hinted adds what to do about an error, where we know it.
func hinted(err error, signIn string) error {
	answer, ok := errors.AsType[*client.Error](err)
	switch {
	case !ok:
		return err
	case answer.StatusCode == http.StatusUnauthorized:
		return cli.SignedOut(fmt.Errorf("%w: %s", err, signIn))
	case answer.Reason == proofRequired:
		return fmt.Errorf("%w: %s", err, proveHint)
	case slices.ContainsFunc(answer.Details, func(d client.Detail) bool { return d.Field == "organizationId" }):
		return fmt.Errorf("%w: give --organization, an id or a name of writ orgs", err)
	}
	return err
}
