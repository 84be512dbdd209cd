package credentials

import (
	"context"
	"errors"
	"time"
)

// renewBefore is how long before its end an access token is replaced, so that it is
// still valid when the request arrives.
const renewBefore = 30 * time.Second

// Tokens are the credentials of a session.
type Tokens struct {
	Access, Refresh string
	Life            time.Duration // of Access
}

// Renew replaces a refresh token, which works once.
type Renew func(ctx context.Context, refreshToken string) (Tokens, error)

// AccessToken is a valid access token for a server, renewed if it must be. A second
// use of a refresh token would end the session, so the file is read again under the
// lock: another writ may have renewed it.
func (s Store) AccessToken(ctx context.Context, server string, renew Renew) (string, error) {
	saved, err := s.readFor(server)
	if err != nil || saved.Fresh() {
		return saved.AccessToken, err
	}
	unlock, err := s.lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	saved, err = s.readFor(server)
	if err != nil || saved.Fresh() {
		return saved.AccessToken, err
	}
	if saved.RefreshToken == "" {
		return "", ErrNone
	}
	tokens, err := renew(ctx, saved.RefreshToken)
	if err != nil {
		return "", err
	}
	saved = saved.Hold(tokens)
	return saved.AccessToken, s.write(saved)
}

// readFor reads the saved sign-in, if it is for a server.
func (s Store) readFor(server string) (SignIn, error) {
	saved, err := s.Read()
	if err == nil && !sameServer(server, saved.URL) {
		err = ErrNone
	}
	if err != nil {
		return SignIn{}, err
	}
	return saved, nil
}

// Hold is the sign-in with these tokens.
func (in SignIn) Hold(t Tokens) SignIn {
	in.AccessToken, in.RefreshToken = t.Access, t.Refresh
	in.ExpiresAt = time.Now().Add(t.Life).UTC().Truncate(time.Second)
	return in
}

// Fresh reports whether the access token is valid for the time of a request.
func (in SignIn) Fresh() bool {
	return in.AccessToken != "" && time.Now().Add(renewBefore).Before(in.ExpiresAt)
}

// Update changes the saved sign-in under the lock, if it still has the server and key
// that the change is for.
func (s Store) Update(of SignIn, change func(*SignIn)) error {
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	saved, err := s.Read()
	if err != nil {
		return err
	}
	if saved.URL != of.URL || saved.APIKey != of.APIKey {
		return errors.New("somebody signed in meanwhile: try again")
	}
	change(&saved)
	return s.write(saved)
}
