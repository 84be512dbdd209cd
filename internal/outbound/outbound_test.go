package outbound_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"writ/internal/outbound"
	"writ/internal/outbound/nametest"
)

const secretPath = "/services/T0/B0/hush-hush"

func TestPost(t *testing.T) {
	t.Parallel()
	var got http.Header
	var body []byte
	target := newTarget(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
		io.WriteString(w, "slow down")
	})
	names := nametest.New()
	names.Set("hooks.corp.example", "127.0.0.1")
	client := newClient(t, outbound.Options{
		Resolver: names.Resolver(), Permits: permits(t, "hooks.corp.example:"+target.port), UserAgent: "writ/1",
	})
	answer, err := client.Post(t.Context(), outbound.Request{
		URL: "http://hooks.corp.example:" + target.port + secretPath, Body: []byte(`{"a":1}`),
		Header: http.Header{"Content-Type": {"application/json"}, "X-Writ-Signature": {"s"}, "User-Agent": {"other"}},
	})
	if err != nil || answer.Status != 429 || answer.IsSuccess() || string(answer.Body) != "slow down" ||
		answer.Header.Get("Retry-After") != "7" {
		t.Errorf("Post = %+v, %v", answer, err)
	}
	if string(body) != `{"a":1}` || got.Get("Content-Type") != "application/json" ||
		got.Get("X-Writ-Signature") != "s" || got.Get("User-Agent") != "writ/1" {
		t.Errorf("the target got %s with %v", body, got)
	}
}

// TestRedirects follows none, wherever it leads.
func TestRedirects(t *testing.T) {
	t.Parallel()
	trap := newTarget(t, fine)
	for _, status := range []int{301, 302, 303, 307, 308} {
		target := newTarget(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, trap.URL+"/", status)
		})
		client := newClient(t, outbound.Options{Permits: permits(t, "127.0.0.1")})
		answer, err := client.Post(t.Context(), outbound.Request{URL: target.URL})
		if err != nil || answer.Status != status || answer.IsSuccess() {
			t.Errorf("a redirect with %d gives %+v, %v", status, answer, err)
		}
	}
	if n := trap.reached.Load(); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	long := newTarget(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Write(bytes.Repeat([]byte("a"), 10*outbound.MaxAnswer))
	})
	wordy := newTarget(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("a", 1<<20))
	})
	client := newClient(t, outbound.Options{Permits: permits(t, "127.0.0.1")})
	if answer, err := client.Post(t.Context(), outbound.Request{URL: long.URL}); err != nil ||
		len(answer.Body) != outbound.MaxAnswer {
		t.Errorf("a long answer: %d bytes, %v", len(answer.Body), err)
	}
	var failure *outbound.Failure
	if _, err := client.Post(t.Context(), outbound.Request{URL: wordy.URL}); !errors.As(err, &failure) {
		t.Errorf("an answer with a long header: %v, want a failure", err)
	}
	before := long.reached.Load()
	if _, err := client.Post(t.Context(), outbound.Request{
		URL: long.URL, Body: make([]byte, outbound.MaxBody+1),
	}); !isRefused(err) {
		t.Errorf("a body beyond the limit: %v, want a refusal", err)
	}
	if long.reached.Load() != before {
		t.Error("a body beyond the limit was sent")
	}
}

// TestBrokenAnswer: a target that took the request and broke off has taken it.
func TestBrokenAnswer(t *testing.T) {
	t.Parallel()
	target := newTarget(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, "ok")
	})
	client := newClient(t, outbound.Options{Permits: permits(t, "127.0.0.1")})
	if answer, err := client.Post(t.Context(), outbound.Request{URL: target.URL}); err != nil ||
		answer.Status != 200 || string(answer.Body) != "ok" {
		t.Errorf("Post = %+v, %v", answer, err)
	}
}

// TestSlowTarget holds the request until the client gives up.
func TestSlowTarget(t *testing.T) {
	t.Parallel()
	target := newTarget(t, func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	client := newClient(t, outbound.Options{Permits: permits(t, "127.0.0.1"), Timeout: 50 * time.Millisecond})
	_, err := client.Post(t.Context(), outbound.Request{URL: target.URL})
	wantFailure(t, err, "the target did not answer in time")
}

// TestFailures tells the class of a failure, and never the URL.
func TestFailures(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	secure := httptest.NewTLSServer(http.HandlerFunc(fine))
	defer secure.Close()
	rude := newTarget(t, func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) })
	client := newClient(t, outbound.Options{Permits: permits(t, "127.0.0.1"), Resolver: nametest.New().Resolver()})
	for _, c := range []struct{ url, reason string }{
		{"http://" + closed.Addr().String(), "the target could not be connected to"},
		{secure.URL, "the target's certificate is not valid"},
		{rude.URL, "the connection to the target broke"},
		{"http://nowhere.example", "the host's name could not be resolved"},
	} {
		_, err := client.Post(t.Context(), outbound.Request{URL: c.url + secretPath + "?token=hush-hush"})
		wantFailure(t, err, c.reason)
	}
}

func wantFailure(t *testing.T, err error, reason string) {
	t.Helper()
	var failure *outbound.Failure
	if !errors.As(err, &failure) || failure.Reason != reason {
		t.Errorf("err = %v, want a failure because %s", err, reason)
		return
	}
	if strings.Contains(err.Error(), "hush") {
		t.Errorf("the error shows the secret of the URL: %v", err)
	}
}

// TestRefusalsTellNothing compares what a user sees of two private addresses.
func TestRefusalsTellNothing(t *testing.T) {
	t.Parallel()
	names := nametest.New()
	names.Set("one.example", "127.0.0.1")
	names.Set("other.example", "10.9.8.7")
	client := newClient(t, outbound.Options{Resolver: names.Resolver()})
	_, first := client.Post(t.Context(), outbound.Request{URL: "http://one.example/"})
	_, second := client.Post(t.Context(), outbound.Request{URL: "http://other.example/"})
	if !isRefused(first) || first.Error() != second.Error() {
		t.Errorf("two private addresses are told apart: %v; %v", first, second)
	}
}

// TestNoProxy has the environment name a proxy, which would dial for us what
// the guard never sees.
func TestNoProxy(t *testing.T) {
	proxy, target := newTarget(t, fine), newTarget(t, fine)
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("http_proxy", proxy.URL)
	names := nametest.New()
	names.Set("hooks.corp.example", "127.0.0.1")
	client := newClient(t, outbound.Options{Resolver: names.Resolver(), Permits: permits(t, "127.0.0.0/8")})
	if _, err := client.Post(t.Context(), outbound.Request{
		URL: "http://hooks.corp.example:" + target.port,
	}); err != nil {
		t.Fatal(err)
	}
	if proxy.reached.Load() != 0 || target.reached.Load() != 1 {
		t.Errorf("proxy reached %d times, target %d; want 0 and 1", proxy.reached.Load(), target.reached.Load())
	}
}
