package auth

import (
	"context"
	"fmt"
	"time"

	"writ/internal/fault"
	"writ/internal/secret"
)

// argon takes about 80 ms and 19 MiB on a small server: OWASP's second choice of
// parameters, which needs the least memory.
var argon = secret.PasswordCost{Memory: 19 * 1024, Iterations: 2, Threads: 1}

// nobody is the hash that a password of an unknown account is compared with, so that
// the answer takes as long as for a known one. No password matches it.
const nobody = "$argon2id$v=19$m=19456,t=2,p=1$d3JpdC1uby1hY2NvdW50IQ$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

const (
	hashesAtOnce = 2  // each takes a core and 19 MiB
	hashesQueued = 64 // more are refused
)

// Passwords hashes and checks passwords, a few at a time.
type Passwords struct {
	queue chan struct{}
	slots chan struct{}
}

// NewPasswords makes a Passwords.
func NewPasswords() *Passwords {
	return &Passwords{queue: make(chan struct{}, hashesQueued), slots: make(chan struct{}, hashesAtOnce)}
}

// Hash makes the stored form of a password.
func (p *Passwords) Hash(ctx context.Context, password string) (hash string, err error) {
	err = p.do(ctx, func() error {
		hash = secret.HashPassword(password, argon)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("hash a password: %w", err)
	}
	return hash, nil
}

// Matches reports whether the password has the hash. An empty hash, which stands
// for an unknown account, takes as long and never matches.
func (p *Passwords) Matches(ctx context.Context, password, hash string) (matches bool, err error) {
	known := hash != ""
	if !known {
		hash = nobody
	}
	err = p.do(ctx, func() (err error) {
		matches, err = secret.PasswordMatches(password, hash)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("check a password: %w", err)
	}
	return matches && known, nil
}

// do runs work in a free slot. The queue is bounded, so that a flood of sign-ins
// does not use up memory.
func (p *Passwords) do(ctx context.Context, work func() error) error {
	select {
	case p.queue <- struct{}{}:
		defer func() { <-p.queue }()
	default:
		busy := fault.New(fault.Unavailable, "too many sign-ins at once; try again")
		busy.RetryAfter = 2 * time.Second
		return busy
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
		return work()
	case <-ctx.Done():
		return fault.Wrap(ctx.Err(), fault.Unavailable, "the sign-in took too long")
	}
}
