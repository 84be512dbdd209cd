package auth

import "context"

// Nobody is the hash an unknown account is checked against.
const Nobody = nobody

// Argon is what new hashes are made with.
var Argon = argon

// Hasher is the service's own.
func (s *Service) Hasher() *Passwords { return s.passwords }

// FillQueue takes every place in the queue until free is called.
func (p *Passwords) FillQueue() (free func()) { return fill(p.queue) }

// FillSlots keeps every hash waiting until free is called.
func (p *Passwords) FillSlots() (free func()) { return fill(p.slots) }

func fill(places chan struct{}) (free func()) {
	for range cap(places) {
		places <- struct{}{}
	}
	return func() {
		for range cap(places) {
			<-places
		}
	}
}

// Waiting is how many hashes wait or run.
func (p *Passwords) Waiting() int { return len(p.queue) }

// Begin is the second half of a sign-in, after the password was checked.
func (s *Service) Begin(ctx context.Context, userID, checkedHash string, d Device) (Tokens, error) {
	return s.begin(ctx, userID, checkedHash, d)
}
