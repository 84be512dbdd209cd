package oauth_test

import (
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"writ/internal/testserver"
)

// stream opens a stream of the proxy, and gives what is closed when it has ended.
func (f *flow) stream(token string) <-chan struct{} {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), "GET", "http://"+f.Address+"/proxy/mcp", nil)
	if err != nil {
		f.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Accept", "text/event-stream")
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || answer.StatusCode != http.StatusOK {
		f.t.Fatalf("open a stream: %+v, %v", answer, err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer answer.Body.Close()
		_, _ = io.Copy(io.Discard, answer.Body)
	}()
	return ended
}

func isClosed(ended <-chan struct{}) bool {
	select {
	case <-ended:
		return true
	default:
		return false
	}
}

// TestStreamsEndWithTheirToken: one that is revoked, and one that expires, although the key behind them lives on.
func TestStreamsEndWithTheirToken(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f *flow) {
		first, second := f.tokens(), f.tokens()
		revoked, kept := f.stream(first.AccessToken), f.stream(second.AccessToken)
		form := url.Values{"client_id": {f.clientID}, "token": {first.AccessToken}}
		if got := f.post("/oauth/revoke", form); got.status != http.StatusOK {
			t.Fatalf("revoke: %+v", got)
		}
		testserver.Soon(t, "the stream of a revoked token has ended", func() bool { return isClosed(revoked) })
		if isClosed(kept) {
			t.Fatal("the stream of another token has ended")
		}
		f.Advance(2 * time.Hour)
		testserver.Soon(t, "the stream of an expired token has ended", func() bool { return isClosed(kept) })
	})
}
