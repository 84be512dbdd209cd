package oauth

import (
	"context"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/secret"
)

// Tokens are what a client gets.
type Tokens struct {
	Access    secret.Text
	Refresh   secret.Text
	ExpiresIn time.Duration // of the access token
}

type kind string

const (
	access  kind = "access"
	refresh kind = "refresh"
)

// What tokens begin with. Neither form is that of another credential of this server.
const (
	accessPrefix  = "oat_"
	refreshPrefix = "ort_"
)

// refusedGrant is the one answer to a code or refresh token that does not work.
func refusedGrant() *Refusal {
	return refuse(InvalidGrant,
		"the code or refresh token is not valid, was used, or has ended; ask the person again")
}

// Grant answers the form that a client sends for tokens.
func (s *Service) Grant(ctx context.Context, form string) (Tokens, error) {
	values, err := readForm(form, maxQuery)
	if err != nil {
		return Tokens{}, err
	}
	for _, name := range []string{"client_id", "code", "code_verifier", "redirect_uri", "refresh_token", "resource"} {
		if len(values.Get(name)) > maxText {
			return Tokens{}, refuse(InvalidRequest, name+": is too long")
		}
	}
	required := func(names ...string) error {
		for _, name := range names {
			if values.Get(name) == "" {
				return refuse(InvalidRequest, name+": is required")
			}
		}
		return nil
	}
	if values.Get("client_id") == "" {
		return Tokens{}, refuse(InvalidClient, "client_id: is required in the body; clients have no secret here")
	}
	switch values.Get("grant_type") {
	case "authorization_code":
		if err := required("code", "code_verifier", "resource"); err != nil {
			return Tokens{}, err
		}
		return s.exchange(ctx, presented{
			clientID: values.Get("client_id"), secret: values.Get("code"), verifier: values.Get("code_verifier"),
			redirectURI: values.Get("redirect_uri"), resource: values.Get("resource"),
		})
	case "refresh_token":
		if err := required("refresh_token"); err != nil {
			return Tokens{}, err
		}
		return s.refresh(ctx, presented{
			clientID: values.Get("client_id"), secret: values.Get("refresh_token"), resource: values.Get("resource"),
		})
	}
	return Tokens{}, refuse(UnsupportedGrant, "grant_type: must be authorization_code or refresh_token")
}

// presented is what a client sends for tokens.
type presented struct {
	clientID, secret, verifier, redirectURI, resource string
}

// exchange gives the first tokens for a code. A code that was used ends what it gave, if its own client sends it:
// others who have seen it must not end a consent.
func (s *Service) exchange(ctx context.Context, p presented) (Tokens, error) {
	hash := secret.Hash(p.secret)
	// Anyone may call this, so bad codes are refused before the write queue.
	known, err := findCode(ctx, s.db, hash)
	switch {
	case err != nil:
	case known.usedAt == nil:
		err = s.checkCode(ctx, known, p)
	case known.ClientID != p.clientID || !verifies(p.verifier, known.challenge):
		err = refusedGrant()
	}
	if err != nil {
		return Tokens{}, err
	}
	return s.take(ctx, known.Consent, collected, func(
		ctx context.Context, tx *database.Tx,
	) (Consent, bool, error) {
		code, err := findCode(ctx, tx, hash)
		if err != nil {
			return Consent{}, false, err
		}
		if code.usedAt != nil {
			return code.Consent, false, nil
		}
		if !tx.Now().Before(code.expiresAt) {
			return Consent{}, false, refusedGrant()
		}
		fresh, err := useCode(ctx, tx, hash)
		return code.Consent, fresh, err
	})
}

// checkCode refuses a code that is not for this client, or whose client is not the one that asked for it. The code
// stays good for the one that did.
func (s *Service) checkCode(ctx context.Context, code authorizationCode, p presented) error {
	resource, isOurs := s.readResource(p.resource)
	switch {
	case !s.db.Now().Before(code.expiresAt), code.ClientID != p.clientID,
		p.redirectURI != "" && p.redirectURI != code.RedirectURI, !verifies(p.verifier, code.challenge):
		return refusedGrant()
	case !isOurs || resource != code.Resource:
		return refuse(InvalidTarget, "resource: must be the one that the person was asked for")
	}
	return s.checkKey(ctx, code.Consent)
}

// checkKey refuses a consent whose key has ended, whoever ended it, or whose agent may not act.
func (s *Service) checkKey(ctx context.Context, c Consent) error {
	if !c.Live(s.db.Now()) {
		return refusedGrant()
	}
	_, err := s.callerOf(ctx, c)
	if fault.Is(err, fault.Unauthenticated) || fault.Is(err, fault.Forbidden) {
		return refusedGrant()
	}
	return err
}

// refresh replaces a refresh token. One that was used ends the consent, because one of its two holders is not the
// client.
func (s *Service) refresh(ctx context.Context, p presented) (Tokens, error) {
	hash := secret.Hash(p.secret)
	known, err := findToken(ctx, s.db, hash, refresh)
	if err != nil {
		return Tokens{}, orGrant(err)
	}
	if known.ClientID != p.clientID {
		return Tokens{}, refusedGrant()
	}
	if p.resource != "" {
		if resource, isOurs := s.readResource(p.resource); !isOurs || resource != known.Resource {
			return Tokens{}, refuse(InvalidTarget, "resource: must be the one that the person was asked for")
		}
	}
	if known.usedAt == nil {
		if !s.db.Now().Before(known.expiresAt) {
			return Tokens{}, refusedGrant()
		}
		if err := s.checkKey(ctx, known.Consent); err != nil {
			return Tokens{}, err
		}
	}
	return s.take(ctx, known.Consent, "", func(ctx context.Context, tx *database.Tx) (Consent, bool, error) {
		token, err := findToken(ctx, tx, hash, refresh)
		if err != nil {
			return Consent{}, false, orGrant(err)
		}
		if token.usedAt != nil {
			return token.Consent, false, nil
		}
		fresh, err := useRefresh(ctx, tx, hash)
		return token.Consent, fresh, err
	})
}

// orGrant is the refusal of a token that does not exist.
func orGrant(err error) error {
	if fault.Is(err, fault.Unauthenticated) {
		return refusedGrant()
	}
	return err
}

// take uses up a code or refresh token, gives new tokens, and records an action unless it is empty. If it was used
// before, the consent ends: that is no error within the change, so that it is committed.
func (s *Service) take(
	ctx context.Context, known Consent, action string,
	use func(ctx context.Context, tx *database.Tx) (c Consent, fresh bool, err error),
) (Tokens, error) {
	if known.EndedAt != nil {
		return Tokens{}, refusedGrant() // a flood of used tokens writes nothing
	}
	tokens := Tokens{Access: secret.Token(accessPrefix), Refresh: secret.Token(refreshPrefix), ExpiresIn: AccessLife}
	reused := false
	err := s.write(ctx, audit.LogOf(known.OrgID), func(ctx context.Context, tx *database.Tx) error {
		c, fresh, err := use(ctx, tx)
		if err != nil {
			return err
		}
		if reused = !fresh; reused {
			return s.end(ctx, tx, c.holder(), reuseDetected, c, "a code or refresh token was used twice")
		}
		if !c.Live(tx.Now()) {
			return refusedGrant()
		}
		return s.give(ctx, tx, c, tokens, action)
	})
	if err == nil && reused {
		err = refusedGrant()
	}
	if err != nil {
		return Tokens{}, err
	}
	return tokens, nil
}

// give stores the tokens.
func (s *Service) give(ctx context.Context, tx *database.Tx, c Consent, t Tokens, action string) error {
	err := insertToken(ctx, tx, c.ID, access, secret.Hash(t.Access.Reveal()), tx.Now().Add(AccessLife))
	if err == nil {
		err = insertToken(ctx, tx, c.ID, refresh, secret.Hash(t.Refresh.Reveal()), tx.Now().Add(RefreshLife))
	}
	if err != nil || action == "" {
		return err
	}
	_, err = s.log.Append(ctx, tx, audit.Entry{
		Log:         audit.LogOf(c.OrgID),
		Action:      action,
		Actor:       c.holder(),
		Subject:     audit.Subject{Type: "consent", ID: c.ID},
		Payload:     map[string]any{"agent": c.AgentID, "key": c.KeyID, "client": c.ClientID},
		Observation: true,
	})
	return err
}

// Revoke ends a token that its client gives up (RFC 7009). With a refresh token the whole consent ends. A token that
// does not exist is revoked already.
func (s *Service) Revoke(ctx context.Context, form string) error {
	values, err := readForm(form, maxQuery)
	if err != nil {
		return err
	}
	text, clientID := values.Get("token"), values.Get("client_id")
	switch {
	case text == "" || len(text) > maxText:
		return refuse(InvalidRequest, "token: is required, and has at most 500 bytes")
	case clientID == "" || len(clientID) > maxText:
		return refuse(InvalidClient, "client_id: is required in the body; clients have no secret here")
	}
	for _, k := range []kind{access, refresh} {
		t, err := findToken(ctx, s.db, secret.Hash(text), k)
		switch {
		case fault.Is(err, fault.Unauthenticated):
			continue
		case err != nil:
			return err
		case t.ClientID != clientID:
			return refuse(InvalidGrant, "token: belongs to another client")
		}
		return s.revoke(ctx, t)
	}
	return nil
}

func (s *Service) revoke(ctx context.Context, t token) error {
	return s.write(ctx, audit.LogOf(t.OrgID), func(ctx context.Context, tx *database.Tx) error {
		if t.kind == access {
			return deleteToken(ctx, tx, t.hash)
		}
		return s.end(ctx, tx, t.holder(), ended, t.Consent, "its client gave it up")
	})
}
