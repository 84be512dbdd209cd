// Package federation lets people sign in with an account they have elsewhere: at
// Google, which the operator chose, or at an organization's own identity provider,
// which an owner of that organization chose.
//
// Who somebody is elsewhere is an identity: an organization (or none, for Google),
// an issuer and a subject. It leads to one account here. An e-mail address never
// does: whoever runs a provider can have it say any address. The first time an
// identity comes it gets an account of its own, and if its address has one already
// it is refused, until the owner of that account, signed in to it, links the two.
//
// A provider of an organization vouches for that organization alone. It speaks
// only of addresses in the domains it was set up with, those who come become
// members with the default role, and their sessions are good for nothing else:
// package auth keeps the limit in the session, the edge holds it on every route.
// An account that such a provider made is not verified; when the owner of the
// address sets a password by mail, the provider's word for it ends.
//
// Anyone may name any domain. Typing an address leads to a provider only if the
// domain was proven to be the organization's, by a record in the domain name system,
// else whoever names a domain first would be shown the passwords of its people.
//
// What a sign-in needs to remember until the browser comes back is in a sealed
// cookie, so that nobody fills our tables by beginning what they never end, and an
// answer counts only in the browser that asked.
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

	attemptLife = 10 * time.Minute // for a person to sign in elsewhere
	codeLife    = time.Minute      // for a browser to exchange its code
	proofTime   = 10 * time.Second // to ask for the proofs of all domains
)

// Provider is what an organization's people sign in with.
type Provider struct {
	OrgID       string
	Issuer      string
	ClientID    string
	Slug        string // a word people type instead of the organization's id; empty: none
	Domains     []Domain
	DefaultRole principal.Role
	Enforced    bool       // who is no owner must sign in with it
	TestedAt    *time.Time // the last success with this issuer and client
	CreatedAt   time.Time
	UpdatedAt   time.Time

	sealedSecret []byte
}

// Domain is a mail domain a provider speaks of.
type Domain struct {
	Name     string
	ProvenAt *time.Time // nil: nothing shows that it is the organization's
}

// Settings are what an owner says of a provider.
type Settings struct {
	Issuer      string
	ClientID    string
	Secret      secret.Text // not set: as before
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

// Members is what the service asks of organizations.
type Members struct {
	// Role is a person's role in an open organization, or Forbidden.
	Role func(ctx context.Context, r database.Reader, orgID, userID string) (principal.Role, error)
	// Join makes a person a member.
	Join func(
		ctx context.Context, tx *database.Tx, actor principal.Principal, orgID, userID string, role principal.Role,
	) error
}

// Keys is what the service asks of API keys: to end those of terminals, within a
// change that declares the organization's log, and after it to forget what was
// remembered of them.
type Keys interface {
	// EndVouched ends those made under the provider's word; no user is everyone.
	EndVouched(ctx context.Context, tx *database.Tx, actor principal.Principal, orgID, userID string) error
	// EndUnvouched ends those of others who are no owners.
	EndUnvouched(ctx context.Context, tx *database.Tx, actor principal.Principal, orgID string) error
	Forget()
}

// Web is how providers are called: the outbound client.
type Web interface {
	Check(target string) error
	IsPermitted(target string) bool
	WebClient() *http.Client
}

// Options are what the service is made of.
type Options struct {
	Database  *database.DB
	Log       *audit.Log
	Sealer    *secret.Sealer
	Auth      *auth.Service
	Members   Members
	Keys      Keys
	Web       Web
	Google    Google
	PublicURL string // without a slash at its end
	OpenToAll bool   // whether Google may bring people who have no account
	// LookupTXT asks the domain name system; nil: the system's resolver.
	LookupTXT func(ctx context.Context, name string) ([]string, error)
}

// Service is the area's one entry.
type Service struct {
	Options
	party *oidc.RelyingParty
}

// New makes the service.
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

// check gives settings as they are stored, or says which field is wrong.
func (s *Service) check(n Settings) (Settings, error) {
	n.Slug = strings.ToLower(strings.TrimSpace(n.Slug))
	switch {
	case n.ClientID == "" || len(n.ClientID) > maxClient || strings.ContainsFunc(n.ClientID, invisible):
		return Settings{}, fault.Field("clientId", "must have 1 to %d visible characters", maxClient)
	case len(n.Secret.Reveal()) > maxSecret || strings.ContainsFunc(n.Secret.Reveal(), invisible):
		return Settings{}, fault.Field("clientSecret", "must have at most %d visible characters", maxSecret)
	case n.Slug != "" && (!slugForm.MatchString(n.Slug) || database.IsID(n.Slug)):
		return Settings{}, fault.Field("slug", "must be 3 to 40 letters, digits and hyphens")
	case !n.DefaultRole.Valid() || n.DefaultRole == principal.Owner || n.DefaultRole == principal.Admin:
		return Settings{}, fault.Field("defaultRole", "must be approver, member or viewer: more is given by a person")
	}
	if err := s.checkIssuer(n.Issuer); err != nil {
		return Settings{}, err
	}
	domains, err := checkDomains(n.Domains)
	n.Domains = domains
	return n, err
}

func invisible(r rune) bool { return r <= ' ' || r > '~' }

// checkIssuer wants TLS, unless the operator permits the very host.
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

// speaksOf reports whether a provider may say this address. Only a whole domain
// counts: not one that ends like it.
func (p Provider) speaksOf(address string) bool {
	_, domain, ok := strings.Cut(address, "@")
	return ok && p.hasDomain(domain)
}

func (p Provider) hasDomain(name string) bool {
	return slices.ContainsFunc(p.Domains, func(d Domain) bool { return d.Name == name })
}

// notThere is the one answer about an organization that has no provider, or is
// none.
func notThere() error {
	return fault.New(fault.NotFound, "there is no identity provider to sign in with here")
}
