package api

import "time"

// SetPatience sets how long a reader of a stream that is opened then may take for a
// part.
func (a *API) SetPatience(d time.Duration) { a.patience.Store(int64(d)) }

// OpenTails is how many live tails are open.
func (a *API) OpenTails() int {
	a.tails.mu.Lock()
	defer a.tails.mu.Unlock()
	return a.tails.all
}
