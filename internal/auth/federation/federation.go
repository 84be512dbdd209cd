// Package federation lets people sign in with an external account: at Google, if the
// operator set that up, or at an organization's own identity provider, which an
// owner of that organization set up.
//
// An external account is an identity: an organization (none for Google), an issuer
// and a subject. Each identity belongs to one account here. An e-mail address alone
// never leads to an account, because a provider can claim any address. A new
// identity gets a new account. If its address already has an account, the sign-in is
// refused until the owner of that account, signed in, links the identity.
//
// An organization's provider vouches for that organization alone. It may only name
// addresses in its domains, the people it brings become members with the default
// role, and their sessions are limited to the organization: package auth stores the
// limit, the edge enforces it on every route. An account that such a provider made
// is not verified; once the owner of the address sets a password by mail, the
// provider can no longer sign in to it.
//
// Anyone can claim a domain. A typed address leads to a provider only if a DNS record
// proves that the domain is the organization's; otherwise whoever claims a domain
// first could collect the passwords of its people.
//
// The state of a sign-in is in a sealed cookie until the browser comes back. So
// unfinished sign-ins take no storage, and the answer is accepted only in the
// browser that began.
package federation

import (
	"context"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"writ/internal/audit"
	"writ/internal/auth"
	"writ/internal/auth/oidc"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/secret"
)

// Limits.
const (
	maxIssuer     = 500
	maxClient     = 500
	maxSecret     = 2000
	maxDomains    = 20
	maxIdentities = 20 // of one account

	attemptLife = 10 * time.Minute // for a person to sign in at the provider
	codeLife    = time.Minute      // for a browser to exchange its code
	proofTime   = 10 * time.Second // to look up the records of all domains
)

// Provider is an organization's identity provider.
type Provider struct {
	OrgID       string
	Issuer      string
	ClientID    string
	Slug        string // a word people can type instead of the organization's id; empty: none
	Domains     []Domain
	DefaultRole principal.Role
	Enforced    bool       // everyone but owners must sign in with it
	TestedAt    *time.Time // the last successful test with this issuer and client
	CreatedAt   time.Time
	UpdatedAt   time.Time

	sealedSecret []byte
}

// Domain is a mail domain of a provider.
type Domain struct {
	Name     string
	ProvenAt *time.Time // when a DNS record proved it to be the organization's; nil: never
}

// Settings are what an owner sets about a provider.
type Settings struct {
	Issuer      string
	ClientID    string
	Secret      secret.Text // unset: unchanged
	Slug        string
	Domains     []string
	DefaultRole principal.Role
	Enforced    bool
}

// Google is the operator's registration with Google; the zero value is none.
type Google struct {
	Issuer   string
	ClientID string
	Secret   secret.Text
}

// Members is what the service needs of organizations.
type Members struct {
	// Role is a person's role in an open organization; Forbidden if there is none.
	Role func(ctx context.Context, r database.Reader, orgID, userID string) (principal.Role, error)
	// Join makes a person a member, if the organization has a seat for one with the address.
	Join func(
		ctx context.Context, tx *database.Tx, actor principal.Principal, orgID, userID, address string,
		role principal.Role,
	) error
}

// Keys ends the keys of terminals, within a change that declares the organization's
// log.
type Keys interface {
	// EndVouched ends those of people the provider vouched for; no user means everyone.
	EndVouched(ctx context.Context, tx *database.Tx, actor principal.Principal, orgID, userID string) error
	// EndUnvouched ends those of everyone else but owners.
	EndUnvouched(ctx context.Context, tx *database.Tx, actor principal.Principal, orgID string) error
	// Forget drops cached keys, after the change.
	Forget()
}

// Web is the client that calls providers.
type Web interface {
	Check(target string) error
	IsPermitted(target string) bool
	WebClient() *http.Client
}

// Options are the parts of a Service.
type Options struct {
	Database  *database.DB
	Log       *audit.Log
	Sealer    *secret.Sealer
	Auth      *auth.Service
	Members   Members
	Keys      Keys
	Web       Web
	Google    Google
	PublicURL string
	OpenToAll bool // whether people without an account may sign up with Google
	// LookupTXT looks up DNS records; nil: with the system's resolver.
	LookupTXT func(ctx context.Context, name string) ([]string, error)
}

// Service manages identity providers and signs people in with them.
type Service struct {
	Options
	party *oidc.RelyingParty
}

// New makes a Service.
func New(o Options) *Service {
	if o.LookupTXT == nil {
		o.LookupTXT = net.DefaultResolver.LookupTXT
	}
	o.PublicURL = strings.TrimRight(o.PublicURL, "/")
	return &Service{Options: o, party: oidc.New(o.Web.WebClient(), o.Database.Now)}
}

var (
	slugForm   = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{1,38}[a-z0-9])$`)
	domainForm = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])$`)
)

// check gives the settings as they are stored, or a fault about the wrong field.
func (s *Service) check(n Settings) (Settings, error) {
	n.Slug = strings.ToLower(strings.TrimSpace(n.Slug))
	switch {
	case n.ClientID == "" || len(n.ClientID) > maxClient || strings.ContainsFunc(n.ClientID, invisible):
		return Settings{}, fault.Field("clientId", "must have 1 to %d printable ASCII characters", maxClient)
	case len(n.Secret.Reveal()) > maxSecret || strings.ContainsFunc(n.Secret.Reveal(), invisible):
		return Settings{}, fault.Field("clientSecret", "must have at most %d printable ASCII characters", maxSecret)
	case n.Slug != "" && (!slugForm.MatchString(n.Slug) || database.IsID(n.Slug)):
		return Settings{}, fault.Field("slug", "must be 3 to 40 letters, digits and hyphens")
	case !n.DefaultRole.Valid() || n.DefaultRole == principal.Owner || n.DefaultRole == principal.Admin:
		return Settings{}, fault.Field("defaultRole", "must be approver, member or viewer: a person gives higher roles")
	}
	if err := s.checkIssuer(n.Issuer); err != nil {
		return Settings{}, err
	}
	domains, err := checkDomains(n.Domains)
	n.Domains = domains
	return n, err
}

func invisible(r rune) bool { return r <= ' ' || r > '~' }

// checkIssuer requires TLS, unless the operator permits the host.
func (s *Service) checkIssuer(issuer string) error {
	switch {
	case issuer == "" || len(issuer) > maxIssuer || strings.ContainsFunc(issuer, invisible) ||
		strings.ContainsAny(issuer, "?#"):
		return fault.Field("issuer", "must be the provider's URL, without a query, of at most %d characters", maxIssuer)
	case s.Web.Check(issuer) != nil:
		return fault.Field("issuer",
			"must be a URL of a public address, or of one the operator allows with WRIT_OUTBOUND_ALLOW")
	case !strings.HasPrefix(issuer, "https://") && !s.Web.IsPermitted(issuer):
		return fault.Field("issuer", "must begin with https://")
	}
	return nil
}

func checkDomains(names []string) ([]string, error) {
	if len(names) == 0 || len(names) > maxDomains {
		return nil, fault.Field("domains", "must name 1 to %d mail domains", maxDomains)
	}
	var clean []string
	for _, name := range names {
		name = strings.ToLower(strings.TrimSpace(name))
		if len(name) > 253 || !domainForm.MatchString(name) {
			return nil, fault.Field("domains", "must be names such as example.com")
		}
		clean = append(clean, name)
	}
	slices.Sort(clean)
	return slices.Compact(clean), nil
}

// covers reports whether the provider may name this address. Domains must be equal: a
// subdomain is another domain.
func (p Provider) covers(address string) bool {
	_, domain, ok := strings.Cut(address, "@")
	return ok && p.hasDomain(domain)
}

func (p Provider) hasDomain(name string) bool {
	return slices.ContainsFunc(p.Domains, func(d Domain) bool { return d.Name == name })
}

// noProvider is the one answer about an organization that does not exist or has no
// provider.
func noProvider() error {
	return fault.New(fault.NotFound, "there is no identity provider to sign in with here")
}
