package connection

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/url"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/page"
	"writ/internal/principal"
	"writ/internal/secret"
)

// Started is where a person is sent to consent.
type Started struct {
	URL        string // of the authorization server; for this person alone
	Issuer     string
	ServerName string
	ExpiresAt  time.Time
}

// connecting is a consent that a person has begun.
type connecting struct {
	hash      []byte
	orgID     string
	userID    string
	server    Server
	authority authority
	client    oauthClient
	verifier  string
	expiresAt time.Time
}

// Start begins to connect the person to a server. Nothing is granted yet.
func (s *Service) Start(ctx context.Context, p principal.Principal, idOrName string) (Started, error) {
	if err := requireSelf(p); err != nil {
		return Started{}, err
	}
	server, err := s.Sources.Server(ctx, p.OrgID, idOrName)
	if err != nil {
		return Started{}, err
	}
	a, err := s.discover(ctx, server.URL)
	if err != nil {
		return Started{}, err
	}
	client, err := s.clientFor(ctx, p.OrgID, server, a)
	if err != nil {
		return Started{}, err
	}
	a.method = client.method
	state := secret.Token("mcs_")
	c := connecting{
		hash: secret.Hash(state.Reveal()), orgID: p.OrgID, userID: p.UserID, server: server,
	}
	c.authority, c.client, c.verifier = a, client, newVerifier()
	err = s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		if err := s.Sources.Live(ctx, tx, p); err != nil {
			return err
		}
		c.expiresAt = tx.Now().Add(connectingLife)
		return s.insertConnecting(ctx, tx, &c)
	}})
	if err != nil {
		return Started{}, err
	}
	return Started{
		URL: s.authorizeURL(&c, state.Reveal()), Issuer: a.issuer, ServerName: server.Name, ExpiresAt: c.expiresAt,
	}, nil
}

// newVerifier is a secret of PKCE.
func newVerifier() string {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // never fails
	return base64.RawURLEncoding.EncodeToString(raw)
}

// authorizeURL is where the person consents.
func (s *Service) authorizeURL(c *connecting, state string) string {
	challenge := sha256.Sum256([]byte(c.verifier))
	u, err := url.Parse(c.authority.authorize)
	if err != nil {
		return "" // it was checked
	}
	query := u.Query()
	for name, value := range map[string]string{
		"response_type":         "code",
		"client_id":             c.client.id,
		"redirect_uri":          s.redirectURI(),
		"state":                 state,
		"code_challenge":        base64.RawURLEncoding.EncodeToString(challenge[:]),
		"code_challenge_method": "S256",
		"resource":              c.authority.resource,
		"scope":                 c.authority.scope,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	u.RawQuery, u.Fragment = query.Encode(), ""
	return u.String()
}

// clientFor is this server as the authorization server knows it; it registers where it is not known yet.
func (s *Service) clientFor(ctx context.Context, orgID string, of Server, a authority) (oauthClient, error) {
	if of.ClientID != "" {
		return oauthClient{id: of.ClientID, method: methodNone}, nil
	}
	known, err := s.findClient(ctx, orgID, a.issuer)
	if err == nil && (known.expiresAt == nil || known.expiresAt.After(s.db.Now().Add(connectingLife))) {
		return known, nil
	}
	if err != nil && !fault.Is(err, fault.NotFound) {
		return oauthClient{}, err
	}
	fresh, err := s.registerClient(ctx, a)
	if err != nil {
		return oauthClient{}, err
	}
	return fresh, s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		return s.storeClient(ctx, tx, orgID, a.issuer, fresh)
	}})
}

// Returned is what the authorization server sent the person back with.
type Returned struct {
	State  string
	Code   string
	Issuer string
	Error  string
}

func notBegun() error {
	return fault.New(fault.NotFound,
		"this answer belongs to nothing that you have begun within ten minutes, or was used before: connect again")
}

// Organization is where the person has begun what they come back with.
func (s *Service) Organization(ctx context.Context, p principal.Principal, state string) (string, error) {
	if p.Kind != principal.User {
		return "", fault.New(fault.Forbidden, "only a person may connect to an MCP server")
	}
	c, err := s.findConnecting(ctx, s.db, p.UserID, state)
	return c.orgID, err
}

// Finish changes the code for tokens, and so makes the connection. The person is the one who began, in the organization
// where they did.
func (s *Service) Finish(ctx context.Context, p principal.Principal, r Returned) (Connection, error) {
	if err := requireSelf(p); err != nil {
		return Connection{}, err
	}
	c, err := s.findConnecting(ctx, s.db, p.UserID, r.State)
	if err == nil && c.orgID != p.OrgID {
		err = notBegun()
	}
	if err != nil {
		return Connection{}, err
	}
	made, err := s.exchange(ctx, p, &c, r)
	if fault.Is(err, fault.Invalid) || fault.Is(err, fault.Conflict) { // an answer is good once, also a wrong one
		forget := func(ctx context.Context, tx *database.Tx) error { return removeConnecting(ctx, tx, c.hash) }
		err = errors.Join(err, s.db.Write(ctx, database.Change{Do: forget}))
	}
	return made, err
}

// exchange changes the code for tokens, and keeps them.
func (s *Service) exchange(
	ctx context.Context, p principal.Principal, c *connecting, r Returned,
) (Connection, error) {
	if err := c.check(r); err != nil {
		return Connection{}, err
	}
	now, err := s.Sources.Server(ctx, p.OrgID, c.server.ID)
	if err != nil {
		return Connection{}, err
	}
	if now.URL != c.server.URL {
		return Connection{}, fault.New(fault.Conflict, "the MCP server is registered otherwise since: connect again")
	}
	tokens, err := s.ask(ctx, c.authority.place, c.client.id, c.client.secret, url.Values{
		"grant_type":    {"authorization_code"},
		"code":          {r.Code},
		"redirect_uri":  {s.redirectURI()},
		"code_verifier": {c.verifier},
		"resource":      {c.authority.resource},
	})
	if err != nil {
		return Connection{}, fault.Wrap(err, fault.Conflict, "the authorization server gave no tokens: connect again")
	}
	return s.keep(ctx, p, c, now, tokens)
}

// check refuses an answer of another than was asked, and one that refuses.
func (c *connecting) check(r Returned) error {
	switch {
	case r.Issuer != "" && r.Issuer != c.authority.issuer, r.Issuer == "" && c.authority.namesIssuer:
		return fault.Field("iss", "must be the authorization server that you were sent to: this answer is not from it")
	case r.Error != "":
		return fault.Field("error", "the authorization server says that you did not consent")
	case r.Code == "" || len(r.Code) > maxText:
		return fault.Field("code", "must be what the authorization server sent you back with")
	}
	return nil
}

// keep stores the tokens, in place of those that the person had, and forgets what was begun: one of two who bring the
// same answer finds nothing.
func (s *Service) keep(
	ctx context.Context, p principal.Principal, c *connecting, server Server, tokens granted,
) (Connection, error) {
	n := Connection{
		ID:         database.NewID(),
		OrgID:      p.OrgID,
		UserID:     p.UserID,
		ServerID:   server.ID,
		ServerName: server.Name,
		Resource:   c.authority.resource,
		Issuer:     c.authority.issuer,
		ClientID:   c.client.id,
		Scope:      c.authority.scope,
		place:      c.authority.place,
		url:        server.URL,
	}
	if tokens.Scope != "" {
		n.Scope = tokens.Scope
	}
	sealed, err := s.seal(n.ID, held{Access: tokens.Access, Refresh: tokens.Refresh, Secret: c.client.secret})
	if err != nil {
		return Connection{}, err
	}
	n.sealed = sealed
	err = s.write(ctx, p.OrgID, func(ctx context.Context, tx *database.Tx) error {
		if err := s.Sources.Live(ctx, tx, p); err != nil {
			return err
		}
		if err := removeConnecting(ctx, tx, c.hash); err != nil {
			return err
		}
		n.CreatedAt, n.ExpiresAt = tx.Now(), tokens.expiry(tx.Now())
		if err := removeOf(ctx, tx, n.ServerID, n.UserID); err != nil {
			return err
		}
		if err := insertConnection(ctx, tx, &n); err != nil {
			return err
		}
		return s.record(ctx, tx, p, made, &n, "")
	})
	return n, err
}

// managesAll reports whether the caller sees and ends other people's connections.
func managesAll(p principal.Principal) bool { return p.May(principal.ManageServers) }

func requireMember(p principal.Principal) error {
	if p.Kind != principal.User || p.OrgID == "" {
		return fault.New(fault.Forbidden, "only a person may see connections")
	}
	return p.Require(principal.ReadOrganization)
}

// List lists connections of the organization, newest first: all to people who manage servers, else the caller's own.
func (s *Service) List(
	ctx context.Context, p principal.Principal, cursor string, limit int,
) (page.Page[Connection], error) {
	if err := requireMember(p); err != nil {
		return page.Page[Connection]{}, err
	}
	owner := p.UserID
	if managesAll(p) {
		owner = ""
	}
	q := page.Query{List: "mcp_connection", Scope: p.OrgID + "/" + owner, Cursor: cursor, Limit: limit}
	return page.Read(q, func(after page.Cursor, limit int) ([]Connection, error) {
		return selectConnections(ctx, s.db, p.OrgID, owner, after, limit)
	}, func(c Connection) (time.Time, string) { return c.CreatedAt, c.ID })
}

// End ends a connection that the caller may see: its tokens are forgotten, and the authorization server is told so
// where it can be.
func (s *Service) End(ctx context.Context, p principal.Principal, id string) error {
	if err := requireMember(p); err != nil {
		return err
	}
	var c Connection
	err := s.write(ctx, p.OrgID, func(ctx context.Context, tx *database.Tx) (err error) {
		if c, err = findConnection(ctx, tx, p.OrgID, id); err != nil {
			return err
		}
		if c.UserID != p.UserID && !managesAll(p) {
			return noSuchConnection()
		}
		if err := remove(ctx, tx, c.ID); err != nil {
			return err
		}
		return s.record(ctx, tx, p, ended, &c, "a person ended it")
	})
	if err == nil {
		s.revoke(ctx, &c)
	}
	return err
}

// revoke tells the authorization server that the tokens are not used any more (RFC 7009). Nobody uses them, whatever it
// answers.
func (s *Service) revoke(ctx context.Context, c *Connection) {
	tokens, err := s.open(c)
	if err != nil || c.revocationURL == "" {
		return
	}
	kind, token := "refresh_token", tokens.Refresh
	if token == "" {
		kind, token = "access_token", tokens.Access
	}
	form := url.Values{"token": {token}, "token_type_hint": {kind}}
	if response, err := s.post(ctx, c.place, c.revocationURL, c.ClientID, tokens.Secret, form); err == nil {
		_ = response.Body.Close() // nothing depends on the answer
	}
}

var errNotRenewed = errors.New("the tokens were not renewed")
