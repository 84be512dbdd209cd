package testserver

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"writ/client"
	"writ/internal/throttle"
)

// NextMinute moves the clock to the start of a minute, where throttles begin
// to count anew.
func (s *Server) NextMinute() {
	now := s.Database.Now()
	s.Advance(now.Truncate(time.Minute).Add(time.Minute).Sub(now))
}

// Throttled is a limited route and a call of it that is refused early, since
// what is refused counts too and hashing passwords takes time.
type Throttled struct {
	Rule throttle.Rule
	Call func(t *testing.T, c *client.Client, account string) error
}

// WantThrottled uses up a rule and checks the answer beyond it.
func WantThrottled(t *testing.T, route Throttled, c *client.Client, account string) {
	t.Helper()
	for n := range route.Rule.PerMinute {
		if err := route.Call(t, c, account); client.StatusOf(err) == http.StatusTooManyRequests {
			t.Fatalf("%s: call %d: %v, want it let in", route.Rule.Name, n+1, err)
		}
	}
	err := route.Call(t, c, account)
	WantStatus(t, route.Rule.Name+" beyond the limit", err, http.StatusTooManyRequests)
	if refused, ok := errors.AsType[*client.Error](err); ok &&
		(refused.RetryAfter <= 0 || refused.RetryAfter > time.Minute) {
		t.Errorf("%s: Retry-After %v, want the rest of the minute", route.Rule.Name, refused.RetryAfter)
	}
}

// WantFree checks that no throttle refused a call.
func WantFree(t *testing.T, what string, err error) {
	t.Helper()
	if status := client.StatusOf(err); status == http.StatusTooManyRequests || status >= 500 ||
		(err != nil && status == 0) {
		t.Errorf("%s: %v, want it let in", what, err)
	}
}
