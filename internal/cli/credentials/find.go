package credentials

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// DefaultURL is the server of `make run`.
const DefaultURL = "http://localhost:8080"

// The variables that come before the file.
const (
	URLVariable   = "WRIT_URL"
	KeyVariable   = "WRIT_API_KEY"
	TokenVariable = "WRIT_ACCESS_TOKEN"
)

// publishedURLs are the variables that name the server to published command lines, in
// their order.
var publishedURLs = []string{"BACKEND_ENDPOINT", "ARMORIQ_BACKEND_URL"}

// Found is the credentials of a command, and their server.
type Found struct {
	URL         string
	APIKey      string // empty: there is none for this server
	KeyFrom     string // the variable or file it is in
	AccessToken string // may have expired if it is Saved's
	TokenFrom   string

	Saved *SignIn // the sign-in that counts for this server; nil: none

	// The person and the organization of the credentials, where they were saved.
	Email, UserID, OrgID, OrgName string
}

// Find finds the credentials that count. The server is the one named, else the one in
// WRIT_URL, else that of the sign-in. Credentials in the environment come first, then
// those of the sign-in, and last the key of published command lines.
func (s Store) Find(named string, environment func(string) string) (Found, error) {
	saved, err := s.Read()
	if err != nil && !errors.Is(err, ErrNone) {
		return Found{}, err
	}
	f := Found{URL: WithScheme(trim(cmp.Or(named, environment(URLVariable), saved.URL)))}
	if saved.URL != "" && sameServer(f.URL, saved.URL) {
		f.useSaved(saved, s.File())
	}
	if token := environment(TokenVariable); token != "" {
		f.AccessToken, f.TokenFrom = token, TokenVariable
		f.Email, f.UserID = "", ""
	}
	if key := environment(KeyVariable); key != "" {
		f.APIKey, f.KeyFrom = key, KeyVariable
		f.OrgID, f.OrgName = "", ""
	}
	if f.APIKey == "" && f.Saved == nil {
		if err := f.usePublished(s.Published, environment); err != nil {
			return Found{}, err
		}
	}
	f.URL = cmp.Or(f.URL, DefaultURL)
	return f, nil
}

func (f *Found) useSaved(saved SignIn, file string) {
	f.Saved, f.URL = &saved, trim(saved.URL)
	f.Email, f.UserID, f.OrgID, f.OrgName = saved.Email, saved.UserID, saved.OrgID, saved.OrgName
	if saved.APIKey != "" {
		f.APIKey, f.KeyFrom = saved.APIKey, file
	}
	if saved.AccessToken != "" {
		f.AccessToken, f.TokenFrom = saved.AccessToken, file
	}
}

// published is the file of published command lines. Some of them also store a server.
type published struct {
	APIKey          string `json:"apiKey"`
	Email           string `json:"email"`
	UserID          string `json:"userId"`
	OrgID           string `json:"orgId"`
	BackendEndpoint string `json:"backendEndpoint"`
}

// usePublished uses the key of published command lines, if its server is known: the
// file seldom names it, and a default could be somebody else's server.
func (f *Found) usePublished(file string, environment func(string) string) error {
	if file == "" {
		return nil
	}
	var theirs published
	err := signInFile.read(file, false, &theirs) // who can read it is not ours to say
	if errors.Is(err, ErrNone) || err == nil && !strings.HasPrefix(theirs.APIKey, "ak_") {
		return nil // as they read it
	}
	if err != nil {
		return fmt.Errorf("the sign-in of another command line: %w", err)
	}
	server := f.URL
	for _, name := range publishedURLs {
		server = cmp.Or(server, environment(name))
	}
	server = trim(cmp.Or(server, theirs.BackendEndpoint))
	if server == "" || theirs.BackendEndpoint != "" && !sameServer(server, theirs.BackendEndpoint) {
		return nil
	}
	f.URL, f.APIKey, f.KeyFrom = server, theirs.APIKey, file
	f.OrgID = theirs.OrgID
	if f.AccessToken == "" {
		f.Email, f.UserID = theirs.Email, theirs.UserID
	}
	return nil
}

// WithScheme is an address as people type it, with the scheme that it must have: http for this machine, which no
// certificate names, else https.
func WithScheme(address string) string {
	if address == "" || strings.Contains(address, "://") {
		return address
	}
	host, _, _ := strings.Cut(address, "/")
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	if strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback() {
		return "http://" + address
	}
	return "https://" + address
}

func trim(address string) string { return strings.TrimRight(strings.TrimSpace(address), "/") }

// sameServer reports whether two addresses are those of one server.
func sameServer(a, b string) bool {
	one, err := url.Parse(trim(a))
	if err != nil || one.Host == "" {
		return false
	}
	other, err := url.Parse(trim(b))
	if err != nil {
		return false
	}
	return strings.EqualFold(one.Scheme, other.Scheme) && strings.EqualFold(one.Host, other.Host) &&
		one.Path == other.Path
}
