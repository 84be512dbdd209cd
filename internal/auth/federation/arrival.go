package federation

import (
	"context"
	"fmt"
	"time"

	"writ/internal/audit"
	"writ/internal/auth"
	"writ/internal/auth/oidc"
	"writ/internal/database"
	"writ/internal/email"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/secret"
)

// Return is what a browser brings back from a provider.
type Return struct {
	OrgID   string // of the path; empty: Google
	Cookie  string // what it kept
	State   string
	Code    string
	Problem string // the provider's word for a failure; empty: none
	Issuer  string // who sent it back; empty: it does not say (RFC 9207)
	Device  auth.Device
	// ForTokens asks for tokens at once, else for a code that a page exchanges.
	ForTokens bool
}

// Arrival is what comes of it.
type Arrival struct {
	User   auth.User
	Linked bool // an identity was linked, and nobody signed in
	OrgID  string

	Tokens auth.Tokens // if they were asked for

	Code    secret.Text // what the page exchanges, else
	Browser secret.Text // and the half of it that the browser keeps
	Life    time.Duration
}

// Arrive ends a sign-in: it finds out who the provider says came, and which
// account that is.
func (s *Service) Arrive(ctx context.Context, r Return) (Arrival, error) {
	a, err := s.reopen(r.Cookie, r.OrgID, r.State)
	if err != nil {
		return Arrival{}, err
	}
	if r.Problem != "" {
		return Arrival{}, fault.New(fault.Unauthenticated, "the identity provider did not let you in")
	}
	provider, party, err := s.find(ctx, a.OrgID)
	if err != nil {
		return Arrival{}, err
	}
	if party.Issuer != a.Issuer || party.ClientID != a.ClientID || r.Issuer != "" && r.Issuer != a.Issuer {
		return Arrival{}, fault.New(fault.Unauthenticated,
			"the identity provider is not the one this sign-in began with; begin again")
	}
	claims, err := s.party.Redeem(ctx, party, a.Attempt, r.Code)
	if err != nil {
		return Arrival{}, err
	}
	if claims.Email, err = s.checkAddress(provider, claims); err != nil {
		return Arrival{}, err
	}
	return s.admit(ctx, r, a, provider, claims)
}

// checkAddress gives the address a provider tells, if it may tell it.
func (s *Service) checkAddress(p Provider, c oidc.Claims) (string, error) {
	address, err := email.Normalise(c.Email)
	switch {
	case err != nil:
		return "", fault.Wrap(err, fault.Forbidden, "the identity provider tells no e-mail address")
	case c.EmailVerified != nil && !*c.EmailVerified, p.OrgID == "" && c.EmailVerified == nil:
		return "", fault.New(fault.Forbidden, "the identity provider has not verified your e-mail address")
	case p.OrgID != "" && !p.speaksOf(address):
		return "", fault.New(fault.Forbidden,
			"this identity provider does not speak for the domain of your e-mail address")
	}
	return address, nil
}

// admit finds or makes the account, and begins what was asked for, in one change.
func (s *Service) admit(ctx context.Context, r Return, a attempt, p Provider, c oidc.Claims) (Arrival, error) {
	logs := []string{audit.System}
	if a.OrgID != "" {
		logs = append(logs, a.OrgID)
	}
	arrival := Arrival{OrgID: a.OrgID, Linked: a.LinkTo != "", Life: codeLife}
	var userID string
	var opened auth.Opened
	err := s.Database.Write(ctx, database.Change{Logs: logs, Do: func(
		ctx context.Context, tx *database.Tx,
	) (err error) {
		if userID, err = s.account(ctx, tx, a, p, c); err != nil || arrival.Linked {
			return err
		}
		if r.ForTokens {
			opened, err = s.Auth.StartSession(ctx, tx, userID, a.OrgID, r.Device)
			return err
		}
		arrival.Code, arrival.Browser = secret.Token("sc_"), secret.Token("")
		if err := insertCode(ctx, tx, codeHash(arrival.Code.Reveal(), arrival.Browser.Reveal()), userID,
			a.OrgID); err != nil {
			return err
		}
		return s.recordIdentity(ctx, tx, "identity.vouched", userID, Identity{
			OrgID: a.OrgID, Issuer: c.Issuer, Email: c.Email,
		})
	}})
	if err != nil {
		return Arrival{}, fmt.Errorf("sign in with an identity provider: %w", err)
	}
	if arrival.User, err = s.Auth.Find(ctx, userID); err != nil {
		return Arrival{}, err
	}
	if !arrival.Linked && r.ForTokens {
		arrival.Tokens, err = s.Auth.Issue(ctx, opened)
	}
	return arrival, err
}

// account is that of an identity. An e-mail address alone never leads to one.
func (s *Service) account(ctx context.Context, tx *database.Tx, a attempt, p Provider, c oidc.Claims) (string, error) {
	if a.OrgID != "" { // read again: it may have been changed or closed meanwhile
		now, err := providerOf(ctx, tx, a.OrgID)
		if err != nil {
			return "", err
		}
		if now.Issuer != p.Issuer || now.ClientID != p.ClientID || !now.speaksOf(c.Email) {
			return "", fault.New(fault.Conflict, "the identity provider was changed meanwhile; begin again")
		}
	}
	known, err := findIdentity(ctx, tx, a.OrgID, c.Issuer, c.Subject)
	switch {
	case err != nil:
		return "", err
	case known.ID == "" && a.LinkTo != "":
		return a.LinkTo, s.link(ctx, tx, a, c)
	case known.ID == "":
		return s.welcome(ctx, tx, a, p, c)
	case a.LinkTo != "" && a.LinkTo != known.UserID:
		return "", fault.New(fault.Conflict, "this identity belongs to another account")
	case a.OrgID == "":
		return known.UserID, nil
	}
	// Who was removed from the organization does not come back by signing in.
	_, err = s.Members.Role(ctx, tx, a.OrgID, known.UserID)
	return known.UserID, err
}

// link joins a new identity to the account whose owner asked for it.
func (s *Service) link(ctx context.Context, tx *database.Tx, a attempt, c oidc.Claims) error {
	// Who set a new password meanwhile has turned somebody out, who must not come
	// back through an identity.
	live, err := auth.IsLive(ctx, tx, a.LinkTo, a.Session)
	if err != nil {
		return err
	}
	if !live {
		return fault.New(fault.Unauthenticated, "the session that asked to link has ended; sign in and begin again")
	}
	if a.OrgID != "" {
		if _, err := s.Members.Role(ctx, tx, a.OrgID, a.LinkTo); err != nil {
			return err
		}
	}
	list, err := identitiesOf(ctx, tx, a.LinkTo)
	if err != nil {
		return err
	}
	if len(list) >= maxIdentities {
		return fault.New(fault.Conflict, "an account has at most %d identities; remove one first", maxIdentities)
	}
	return s.keep(ctx, tx, a, c, a.LinkTo, true)
}

// welcome makes an account for who comes for the first time.
func (s *Service) welcome(ctx context.Context, tx *database.Tx, a attempt, p Provider, c oidc.Claims) (string, error) {
	taken, err := auth.AddressTaken(ctx, tx, c.Email)
	if err != nil {
		return "", err
	}
	if taken {
		return "", fault.New(fault.Conflict,
			"your e-mail address has an account here already: sign in to it, and link this identity provider to it")
	}
	user := auth.User{Email: c.Email, Name: c.Name}
	if a.OrgID == "" {
		if !s.OpenToAll {
			return "", fault.New(fault.Forbidden, "sign-up is closed here; ask an administrator for an invitation")
		}
		now := tx.Now()
		user.VerifiedAt = &now // the operator trusts Google's word
	}
	if err := s.Auth.AddVouched(ctx, tx, &user); err != nil {
		return "", err
	}
	if a.OrgID != "" {
		if err := s.Members.Join(ctx, tx, as(user.ID), a.OrgID, user.ID, p.DefaultRole); err != nil {
			return "", err
		}
	}
	return user.ID, s.keep(ctx, tx, a, c, user.ID, false)
}

func (s *Service) keep(
	ctx context.Context, tx *database.Tx, a attempt, c oidc.Claims, userID string, linked bool,
) error {
	i := Identity{
		ID:        database.NewID(),
		OrgID:     a.OrgID,
		Issuer:    c.Issuer,
		Subject:   c.Subject,
		UserID:    userID,
		Email:     c.Email,
		Linked:    linked,
		CreatedAt: tx.Now(),
	}
	if err := insertIdentity(ctx, tx, i); err != nil {
		return err
	}
	return s.recordIdentity(ctx, tx, "identity.linked", userID, i)
}

// Exchange gives tokens for the code of a page, once, in the browser that has the
// other half of it.
func (s *Service) Exchange(
	ctx context.Context, code, browser string, d auth.Device,
) (auth.User, auth.Tokens, string, error) {
	refused := fault.New(fault.Unauthenticated, "the code is wrong, used or too old; sign in again")
	hash := codeHash(code, browser)
	// Bad codes are refused here: anyone may call this, and must not be able to fill
	// the queue of changes.
	userID, orgID, err := findCode(ctx, s.Database, hash, database.Micros(s.Database.Now()))
	if err != nil || userID == "" {
		return auth.User{}, auth.Tokens{}, "", orRefused(err, refused)
	}
	var opened auth.Opened
	err = s.Database.Write(ctx, database.Change{Logs: []string{audit.System}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		fresh, err := takeCode(ctx, tx, hash)
		if err != nil || !fresh {
			return orRefused(err, refused)
		}
		opened, err = s.Auth.StartSession(ctx, tx, userID, orgID, d)
		return err
	}})
	if err != nil {
		return auth.User{}, auth.Tokens{}, "", fmt.Errorf("exchange a sign-in code: %w", err)
	}
	user, err := s.Auth.Find(ctx, userID)
	if err != nil {
		return auth.User{}, auth.Tokens{}, "", err
	}
	tokens, err := s.Auth.Issue(ctx, opened)
	return user, tokens, orgID, err
}

func orRefused(err error, refused *fault.Error) error {
	if err != nil {
		return err
	}
	return refused
}

// codeHash is what is stored of a code and the browser's half.
func codeHash(code, browser string) []byte { return secret.Hash(code + "." + browser) }

func as(userID string) principal.Principal {
	return principal.Principal{Kind: principal.User, UserID: userID}
}
