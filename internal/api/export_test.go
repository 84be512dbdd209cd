package api

import "time"

// SetPatience sets how long a reader of a stream that is opened then may take for a
// part.
func (a *API) SetPatience(d time.Duration) { a.router.SetStreamPatience(d) }

// OpenTails is how many live tails are open.
func (a *API) OpenTails() int { return a.tails.Used() }
