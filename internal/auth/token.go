package auth

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"

	"writ/internal/auth/accesstoken"
	"writ/internal/fault"
	"writ/internal/keyring"
	"writ/internal/principal"
	"writ/internal/secret"
)

// tokens signs an access token for the session.
func (s *Service) tokens(ctx context.Context, session Session, refresh secret.Text) (Tokens, error) {
	key, err := s.keys.Current(ctx, keyring.AccessToken)
	if err != nil {
		return Tokens{}, err
	}
	claims := accesstoken.Claims{UserID: session.UserID, SessionID: session.ID, OrgID: session.OrgID}
	access, err := accesstoken.Sign(claims, key.ID, key.Private, s.db.Now(), AccessTokenLife)
	if err != nil {
		return Tokens{}, err
	}
	return Tokens{
		Access:    secret.NewText(access),
		Refresh:   refresh,
		ExpiresIn: AccessTokenLife,
		Life:      session.ExpiresAt.Sub(s.db.Now()),
	}, nil
}

// refusedToken is the one answer to an access token that does not work.
func refusedToken(cause error) error {
	return fault.Wrap(cause, fault.Unauthenticated, "the access token is not valid or has expired")
}

// Authenticate gives the person an access token belongs to. The token must be ours
// and current, and its session must not have ended.
func (s *Service) Authenticate(ctx context.Context, token string) (principal.Principal, error) {
	claims, err := accesstoken.Verify(token, func(keyID string) (ed25519.PublicKey, error) {
		key, err := s.keys.Find(ctx, keyring.AccessToken, keyID)
		if err == nil && !key.SignedWithin(AccessTokenLife, s.db.Now()) {
			err = fault.New(fault.NotFound, "every token that this key signed has expired")
		}
		return key.Public, err
	}, s.db.Now())
	if errors.Is(err, accesstoken.ErrRefused) || fault.Is(err, fault.NotFound) {
		return principal.Principal{}, refusedToken(err)
	}
	if err != nil {
		return principal.Principal{}, fmt.Errorf("verify an access token: %w", err)
	}
	session, err := findSession(ctx, s.db.Prepared(), claims.SessionID)
	if err != nil {
		return principal.Principal{}, err
	}
	if session.UserID != claims.UserID || session.OrgID != claims.OrgID || !session.live(s.db.Now()) {
		return principal.Principal{}, refusedToken(nil)
	}
	p := principal.Principal{
		Kind: principal.User, UserID: session.UserID, SessionID: session.ID, LimitedTo: session.OrgID,
	}
	p.SecondFactor.Enrolled = session.enrolled
	if session.enrolled && session.ProvedAt != nil {
		p.SecondFactor.ProvedAt = *session.ProvedAt
	}
	return p, nil
}

// PublicKeys are the keys that verify access tokens, for the JWKS endpoint.
func (s *Service) PublicKeys(ctx context.Context) ([]keyring.Key, error) {
	// Makes the first key: a verifier may ask before the first token is signed.
	if _, err := s.keys.Current(ctx, keyring.AccessToken); err != nil {
		return nil, err
	}
	keys, err := s.keys.All(ctx, keyring.AccessToken)
	return slices.DeleteFunc(keys, func(k keyring.Key) bool {
		return !k.SignedWithin(AccessTokenLife, s.db.Now())
	}), err
}
