package writ

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
	"writ/internal/cli/credentials"
)

// signingIn is what `writ login` is asked.
type signingIn struct {
	server
	apiKey    string
	org       string
	product   string
	noBrowser bool
}

func login(s cli.Streams) *cobra.Command {
	var l signingIn
	cmd := &cobra.Command{
		Use: "login", Short: "Sign in, in the browser or with an API key", Args: cobra.NoArgs,
		Long: `Sign in to a server. A page opens in the browser, of this machine or any other; compare the code that it shows with
the one printed here, and approve. You get an API key and, if you allow it, a session for what only a person may do.

With --api-key an API key is stored instead; - reads it from stdin, so that it stays out of the shell's history.

The sign-in is stored in writ/credentials.json of your configuration folder, readable by you alone. Signing in again
replaces it.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return l.run(cmd.Context(), s) },
	}
	l.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&l.apiKey, "api-key", "", "store this API key; - reads it from stdin")
	f.StringVar(&l.org, "org", "", "the organization to propose on the page, by id or name")
	f.StringVar(&l.product, "product", "", "the product to sign in for, shown on the page")
	f.BoolVar(&l.noBrowser, "no-browser", false, "only print where to approve")
	cmd.MarkFlagsMutuallyExclusive("api-key", "org")
	cmd.MarkFlagsMutuallyExclusive("api-key", "product")
	return cmd
}

func (l *signingIn) run(ctx context.Context, s cli.Streams) error {
	found, err := l.signIn(ctx, s)
	if err != nil {
		return err
	}
	return show(&l.server, s, newIdentity(found), printIdentity)
}

// signIn signs in, and stores the sign-in in place of the one before.
func (l *signingIn) signIn(ctx context.Context, s cli.Streams) (credentials.Found, error) {
	address, err := l.address()
	if err != nil {
		return credentials.Found{}, err
	}
	warnOfClearText(s, address)
	anonymous := &client.Client{BaseURL: address, UserAgent: userAgent()}
	by := l.byDevice
	if l.apiKey != "" {
		by = l.byKey
	}
	in, err := by(ctx, s, anonymous)
	if err != nil {
		return credentials.Found{}, err
	}
	store := credentials.Default()
	before, beforeErr := store.Read() // one that cannot be read is replaced
	if err := store.Save(in); err != nil {
		return credentials.Found{}, fmt.Errorf("you are signed in, but the sign-in could not be stored: %w", err)
	}
	if beforeErr == nil && (before.KeyID != in.KeyID || before.RefreshToken != in.RefreshToken) {
		endEarlier(ctx, s, before, in.URL)
	}
	warnOfEnvironment(s)
	return store.Find(address, func(string) string { return "" })
}

// endEarlier ends the sign-in that another takes the place of. A terminal has one.
func endEarlier(ctx context.Context, s cli.Streams, before credentials.SignIn, url string) {
	switch err := end(ctx, before); {
	case err != nil:
		fmt.Fprintf(s.Err, "writ: the earlier sign-in is not ended on the server: %s; if writ keys list there has its key, "+
			"revoke it\n", cli.Line(answered(err).Error()))
	case before.URL != url:
		fmt.Fprintf(s.Err, "writ: signed out of %s: a terminal is signed in to one server\n", cli.Line(before.URL))
	}
}

// address is the server to sign in to.
func (l *signingIn) address() (string, error) {
	found, err := l.find()
	if err != nil {
		// A stored sign-in that cannot be read must not prevent a new one.
		found, err = credentials.Store{}.Find(l.url, os.Getenv)
	}
	if err != nil {
		return "", err
	}
	u, err := url.Parse(found.URL)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return "", cli.Misuse("the server must be an http or https URL without a user name: give --url")
	}
	return found.URL, nil
}

// byKey signs in with an API key that the server accepts.
func (l *signingIn) byKey(ctx context.Context, s cli.Streams, c *client.Client) (credentials.SignIn, error) {
	key := l.apiKey
	if key == "-" {
		text, err := readInput(s, "-")
		if err != nil {
			return credentials.SignIn{}, fmt.Errorf("read the API key: %w", err)
		}
		key = strings.TrimSpace(string(text))
	}
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return credentials.SignIn{}, cli.Misuse("that is no API key: it begins with ak_ and is one word")
	}
	in := credentials.SignIn{URL: c.BaseURL, APIKey: key}
	current, err := describeKey(ctx, c.WithKey(key), &in)
	if other := somethingElse(c.BaseURL, err); other != nil {
		return credentials.SignIn{}, other
	}
	if err != nil {
		return credentials.SignIn{}, hinted(err, "copy the key whole, or make another one there")
	}
	in.UserID = current.OwnerID
	return in, nil
}

// byDevice waits for a person to approve this terminal in the browser.
func (l *signingIn) byDevice(ctx context.Context, s cli.Streams, c *client.Client) (credentials.SignIn, error) {
	code, err := l.begin(ctx, s, c)
	if err != nil {
		return credentials.SignIn{}, err
	}
	granted, err := polling{client: c, wait: waitFor}.run(ctx, code)
	if err != nil {
		return credentials.SignIn{}, err
	}
	in := credentials.SignIn{
		URL:    c.BaseURL,
		APIKey: granted.APIKey,
		Email:  granted.Email,
		UserID: granted.UserID,
		OrgID:  granted.OrganizationID,
	}
	if granted.AccessToken != "" {
		in = in.Hold(credentials.Tokens{
			Access: granted.AccessToken, Refresh: granted.RefreshToken,
			Life: time.Duration(granted.ExpiresIn) * time.Second,
		})
	}
	if in.APIKey == "" {
		return in, withoutKey(ctx, s, c.As(granted.AccessToken), &in)
	}
	current, err := describeKey(ctx, c.WithKey(in.APIKey), &in)
	if err != nil {
		return credentials.SignIn{}, fmt.Errorf("read the new key: %w", err)
	}
	in.KeyID = current.ID
	return in, nil
}

// withoutKey says why a sign-in has no key, and fills in its organization.
func withoutKey(ctx context.Context, s cli.Streams, person *client.Client, in *credentials.SignIn) error {
	if in.OrgID == "" {
		fmt.Fprintln(s.Err, "writ: you are in no organization yet: writ invites accept joins one with the token of its mail; "+
			"then run writ login again, for a key")
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	org, err := person.Organization(ctx, in.OrgID)
	if err != nil {
		return fmt.Errorf("read the organization: %w", err)
	}
	in.OrgName = org.Name
	fmt.Fprintf(s.Err, "writ: as %s of %s you have no keys: this terminal reads with your session\n",
		cli.Line(org.Role), cli.Line(org.Name))
	return nil
}

// begin asks the server for a sign-in, and a person to approve it.
func (l *signingIn) begin(ctx context.Context, s cli.Streams, c *client.Client) (client.DeviceCode, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	code, err := c.StartDevice(ctx, client.DeviceStart{Client: client.WritClient, Product: l.product})
	if err != nil {
		return code, noAnswer(c.BaseURL, "ask "+c.BaseURL+" for a sign-in", err)
	}
	page, err := l.page(code.VerificationURIComplete)
	if err != nil {
		return code, err
	}
	fmt.Fprintf(s.Err, "writ: approve this terminal at %s\nwrit: the page must show the code %s\n", cli.Line(page),
		cli.Line(code.UserCode))
	if !l.noBrowser {
		openBrowser(page)
	}
	sayWaiting(s, code)
	return code, nil
}

// page is the address where a person approves. Another program gets it, so it must be
// the address of a web page.
func (l *signingIn) page(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("the server names no page to approve at")
	}
	q := u.Query()
	if l.org != "" {
		q.Set("org", l.org)
	}
	if l.product != "" {
		q.Set("product", l.product)
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// describeKey reads what a key is, and fills in its organization.
func describeKey(ctx context.Context, c *client.Client, in *credentials.SignIn) (*client.CurrentKey, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	current, err := c.CurrentKey(ctx)
	if err != nil {
		return nil, err
	}
	if current.OrganizationID != nil {
		in.OrgID = *current.OrganizationID
	}
	orgs, err := c.TerminalOrganizations(ctx)
	if client.StatusOf(err) == http.StatusForbidden {
		return current, nil // a key of an agent, which may not list them
	}
	for _, o := range orgs {
		if o.Active {
			in.OrgName = o.Name
		}
	}
	return current, err
}

// userAgent names this terminal to the person who approves it.
func userAgent() string {
	host, err := os.Hostname()
	if err != nil {
		return "writ/" + cli.Version
	}
	plain := func(r rune) rune {
		if r <= ' ' || r > '~' || r == '(' || r == ')' {
			return '-'
		}
		return r
	}
	return fmt.Sprintf("writ/%s (%s)", cli.Version, strings.Map(plain, host))
}

// warnOfClearText warns where others on the network could read the credentials.
func warnOfClearText(s cli.Streams, address string) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "https" || u.Hostname() == "localhost" {
		return
	}
	if ip := net.ParseIP(u.Hostname()); ip == nil || !ip.IsLoopback() {
		fmt.Fprintf(s.Err, "writ: %s is no https address: others on the way there can read the credentials\n",
			cli.Line(address))
	}
}

// warnOfEnvironment warns where the environment comes before the sign-in.
func warnOfEnvironment(s cli.Streams) {
	for _, name := range []string{credentials.KeyVariable, credentials.TokenVariable} {
		if os.Getenv(name) != "" {
			fmt.Fprintf(s.Err, "writ: %s is set, and comes before the sign-in\n", name)
		}
	}
}
