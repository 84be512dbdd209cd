package writ

import (
	"context"
	"errors"
	"fmt"
	"io"
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
		Long: "Sign in to a server. A page opens in the browser, of this machine or any other; compare the code it shows with the one\n" +
			"printed here, and approve. You get an API key, and a session for what only a person may do, if you allow that too.\n\n" +
			"With --api-key an API key is kept instead; - reads it from stdin, so that it stays out of the shell's history.\n\n" +
			"What is kept is in writ/credentials.json of your configuration folder, for you alone. Signing in again replaces it.",
		RunE: func(cmd *cobra.Command, _ []string) error { return l.run(cmd.Context(), s) },
	}
	l.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&l.apiKey, "api-key", "", "keep this API key; - reads it from stdin")
	f.StringVar(&l.org, "org", "", "the organization to propose on the page, by id or name")
	f.StringVar(&l.product, "product", "", "the product to sign in for, shown on the page")
	f.BoolVar(&l.noBrowser, "no-browser", false, "only print where to approve")
	cmd.MarkFlagsMutuallyExclusive("api-key", "org")
	cmd.MarkFlagsMutuallyExclusive("api-key", "product")
	return cmd
}

func (l *signingIn) run(ctx context.Context, s cli.Streams) error {
	address, err := l.address()
	if err != nil {
		return err
	}
	warnOfClearText(s, address)
	anonymous := &client.Client{BaseURL: address, UserAgent: userAgent()}
	signIn := l.byDevice
	if l.apiKey != "" {
		signIn = l.byKey
	}
	in, err := signIn(ctx, s, anonymous)
	if err != nil {
		return err
	}
	store := credentials.Default()
	before, beforeErr := store.Read() // one that cannot be read is replaced
	if err := store.Save(in); err != nil {
		return fmt.Errorf("you are signed in, but it could not be kept: %w", err)
	}
	if beforeErr == nil && before.KeyID != in.KeyID {
		if err := end(ctx, before); err != nil {
			fmt.Fprintf(s.Err, "writ: the sign-in before is not ended on the server: %s\n", cli.Line(err.Error()))
		}
	}
	warnOfEnvironment(s)
	found, err := store.Find(address, func(string) string { return "" })
	if err != nil {
		return err
	}
	return l.showIdentity(s, newIdentity(found))
}

// address is the server to sign in to.
func (l *signingIn) address() (string, error) {
	found, err := l.find()
	if err != nil {
		// A sign-in that cannot be read must not keep one from another.
		found, err = credentials.Store{}.Find(l.url, os.Getenv)
	}
	if err != nil {
		return "", err
	}
	u, err := url.Parse(found.URL)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("the server must be an http or https URL without a user name: give --url")
	}
	return found.URL, nil
}

// byKey keeps a key that the server knows.
func (l *signingIn) byKey(ctx context.Context, s cli.Streams, c *client.Client) (credentials.SignIn, error) {
	key := l.apiKey
	if key == "-" {
		text, err := io.ReadAll(io.LimitReader(s.In, maxSmallFile))
		if err != nil {
			return credentials.SignIn{}, fmt.Errorf("read the API key from stdin: %w", err)
		}
		key = strings.TrimSpace(string(text))
	}
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return credentials.SignIn{}, errors.New("that is no API key: it begins with ak_ and is one word")
	}
	in := credentials.SignIn{URL: c.BaseURL, APIKey: key}
	current, err := describeKey(ctx, c.WithKey(key), &in)
	if err != nil {
		return credentials.SignIn{}, hinted(err, "this API key does not hold")
	}
	in.UserID = current.OwnerID
	return in, nil
}

// byDevice has a person approve this terminal in the browser.
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
	current, err := describeKey(ctx, c.WithKey(in.APIKey), &in)
	if err != nil {
		return credentials.SignIn{}, fmt.Errorf("look at the new key: %w", err)
	}
	in.KeyID = current.ID
	return in, nil
}

// begin asks for a sign-in, and a person to approve it.
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
	return code, nil
}

// page is where a person approves. It goes to another program, so it must be a
// page and nothing else.
func (l *signingIn) page(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("the server names no page to approve at")
	}
	q := u.Query()
	for name, value := range map[string]string{"org": l.org, "product": l.product} {
		if value != "" {
			q.Set(name, value)
		}
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// describeKey asks the server what a key is, and notes its organization.
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
	places, err := c.TerminalOrganizations(ctx)
	if client.StatusOf(err) == http.StatusForbidden {
		return current, nil // a key of an agent, which may not list them
	}
	for _, place := range places {
		if place.Active {
			in.OrgName = place.Name
		}
	}
	return current, err
}

// userAgent tells who approves a terminal which one it is.
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

// warnOfClearText says when others on the network could read the credentials.
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

// warnOfEnvironment says when what was just kept does not count.
func warnOfEnvironment(s cli.Streams) {
	for _, name := range []string{credentials.KeyVariable, credentials.TokenVariable} {
		if os.Getenv(name) != "" {
			fmt.Fprintf(s.Err, "writ: %s is set, and comes before the sign-in\n", name)
		}
	}
}
