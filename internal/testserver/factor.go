package testserver

import (
	"encoding/base32"
	"net/http"
	"time"

	"writ/internal/auth/totp"
)

// Factor is the second factor of a person, as their app has it.
type Factor struct {
	s        *Server
	key      []byte
	used     int64 // the step of the last code
	Recovery []string
}

// Code is one that was not used yet.
func (f *Factor) Code() string {
	if totp.Step(f.s.Now()) <= f.used {
		f.s.Advance(30 * time.Second)
	}
	f.used = totp.Step(f.s.Now())
	return totp.Code(f.key, f.used)
}

// BeginFactor makes a secret that is not confirmed.
func (s *Server) BeginFactor(p *Person) *Factor {
	s.T.Helper()
	var made struct{ Secret string }
	err := p.Call(s.T.Context(), http.MethodPost, "/user/second-factor", nil, m{"password": Password}, &made)
	if err != nil {
		s.T.Fatalf("begin a second factor: %v", err)
	}
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(made.Secret)
	if err != nil {
		s.T.Fatalf("the secret of a second factor: %v", err)
	}
	return &Factor{s: s, key: key}
}

// Enrol gives a person a second factor, which their session has just proved.
func (s *Server) Enrol(p *Person) *Factor {
	s.T.Helper()
	f := s.BeginFactor(p)
	var given struct{ Codes []string }
	err := p.Call(s.T.Context(), http.MethodPost, "/user/second-factor/confirm", nil, m{"code": f.Code()}, &given)
	if err != nil || len(given.Codes) != 10 {
		s.T.Fatalf("confirm a second factor: %v, %d recovery codes", err, len(given.Codes))
	}
	f.Recovery = given.Codes
	return f
}

// SignInWith signs in again with a password and a code.
func (s *Server) SignInWith(email string, f *Factor) *Person {
	s.T.Helper()
	s.NextMinute()
	in, err := s.Public.Login(s.T.Context(), email, Password)
	if err == nil {
		in, err = s.Public.FinishLogin(s.T.Context(), in.SecondFactor.Challenge, f.Code())
	}
	if err != nil {
		s.T.Fatalf("sign in as %s: %v", email, err)
	}
	return &Person{Client: s.Public.As(in.AccessToken), ID: in.User.ID, Email: email, Tokens: in.Tokens}
}
