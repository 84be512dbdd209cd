package api

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"writ/internal/fault"
)

// ServeHTTP is the way every request takes.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	r = a.identify(r)
	answer := &statusRecorder{ResponseWriter: w}
	route := "unmatched"
	defer func() {
		defer func() { a.observe(r, route, answer, time.Since(start)) }() // also when the answer is broken off
		if cause := recover(); cause != nil {
			a.recovered(answer, r, cause)
		}
	}()
	a.setHeaders(answer.Header(), r)
	if a.answerCORS(answer, r) {
		return
	}
	cleanURL(r.URL)
	if err := a.checkHost(r); err != nil {
		writeBody(answer, newErrorBody(r.Context(), http.StatusMisdirectedRequest, err.Error(), nil))
		return
	}
	handler, pattern := a.mux.Handler(r)
	if pattern == "" {
		a.writeUnmatched(answer, r, handler)
		return
	}
	route = pattern
	a.mux.ServeHTTP(answer, r) // not handler: only the mux sets path values
}

// cleanURL cleans the path as it was sent, still escaped: an escaped slash or dot
// is part of an id, and must not lead to another route.
func cleanURL(u *url.URL) {
	escaped := u.EscapedPath()
	cleaned := cleanPath(escaped)
	if cleaned == escaped {
		return
	}
	if decoded, err := url.PathUnescape(cleaned); err == nil {
		u.Path, u.RawPath = decoded, cleaned
	}
}

// cleanPath removes doubled slashes and dots in place. Clients join a base URL
// that ends in a slash with ours; a redirect would turn their POST into a GET.
func cleanPath(p string) string {
	if p == "" || !strings.Contains(p, "//") && !strings.Contains(p, "/.") {
		return p
	}
	cleaned := path.Clean("/" + p)
	if strings.HasSuffix(p, "/") && cleaned != "/" {
		cleaned += "/"
	}
	return cleaned
}

// checkHost refuses names that are not ours: a page on another site that points
// its own name at this address (DNS rebinding) cannot reach us. An address has
// no such owner, and probes use addresses.
func (a *API) checkHost(r *http.Request) error {
	name := r.Host
	if host, _, err := net.SplitHostPort(r.Host); err == nil {
		name = host
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	if _, err := netip.ParseAddr(name); err == nil || name == "localhost" ||
		name == strings.ToLower(a.PublicURL.Hostname()) {
		return nil
	}
	if r.URL.Path == "/health" {
		return nil
	}
	return fmt.Errorf("this server is not known under the name in the Host header; set WRIT_PUBLIC_URL")
}

// The headers every answer carries. The API answers JSON only; pages loosen the
// policy for themselves. Answers share these values, for the sake of speed:
// replace them in an answer, do not change them.
var (
	noSniff      = []string{"nosniff"}
	denyFrames   = []string{"DENY"}
	noReferrer   = []string{"no-referrer"}
	answerPolicy = []string{"default-src 'none'; frame-ancestors 'none'"}
	noStore      = []string{"no-store"}
	tlsForAYear  = []string{"max-age=31536000"}
)

// setHeaders puts them in an answer, under the names in the form http.Header keeps.
func (a *API) setHeaders(h http.Header, r *http.Request) {
	h["X-Request-Id"] = []string{requestOf(r.Context()).id}
	h["X-Content-Type-Options"] = noSniff
	h["X-Frame-Options"] = denyFrames
	h["Referrer-Policy"] = noReferrer
	h["Content-Security-Policy"] = answerPolicy
	h["Cache-Control"] = noStore
	if a.usesTLS() {
		h["Strict-Transport-Security"] = tlsForAYear
	}
}

// answerCORS lets the configured origins in and answers their preflights.
// Credentials travel in headers, never in cookies, so none are allowed.
func (a *API) answerCORS(w http.ResponseWriter, r *http.Request) (done bool) {
	if len(a.CORSOrigins) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if !slices.Contains(a.CORSOrigins, origin) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "X-Request-Id, Retry-After")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, X-API-Key, Idempotency-Key, Last-Event-ID")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// writeUnmatched answers a path or method nobody declared. The mux has already
// worked out which it is, and what is allowed; only its words are replaced.
func (a *API) writeUnmatched(w http.ResponseWriter, r *http.Request, muxAnswer http.Handler) {
	dry := &dryRun{header: http.Header{}}
	muxAnswer.ServeHTTP(dry, r)
	if dry.status != http.StatusMethodNotAllowed {
		a.writeError(w, r, fault.New(fault.NotFound, "there is nothing at this path"))
		return
	}
	w.Header().Set("Allow", dry.header.Get("Allow"))
	message := fmt.Sprintf("this path does not take %s, but %s", r.Method, dry.header.Get("Allow"))
	writeBody(w, newErrorBody(r.Context(), http.StatusMethodNotAllowed, message, nil))
}

// recovered answers a request whose handler panicked.
func (a *API) recovered(w *statusRecorder, r *http.Request, cause any) {
	if cause == http.ErrAbortHandler {
		panic(cause)
	}
	a.Logger.ErrorContext(r.Context(), "handler panicked", "requestId", requestOf(r.Context()).id, "panic", cause,
		"stack", string(debug.Stack()))
	if w.status == 0 {
		a.writeError(w, r, fmt.Errorf("panic: %v", cause))
	}
}

// observe counts the request and, when someone looks, logs it. The query is
// not logged: links carry tokens there.
func (a *API) observe(r *http.Request, route string, answer *statusRecorder, took time.Duration) {
	a.metrics.observe(route, answer.status, took)
	if !a.Logger.Enabled(r.Context(), slog.LevelDebug) {
		return
	}
	a.Logger.DebugContext(r.Context(), "request", "requestId", requestOf(r.Context()).id, "method", r.Method,
		"path", r.URL.Path, "status", answer.status, "duration", took, "address", requestOf(r.Context()).address)
}

// statusRecorder remembers the status of an answer.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (s *statusRecorder) WriteHeader(status int) {
	if s.status == 0 {
		s.status = status
	}
	s.ResponseWriter.WriteHeader(status)
}

func (s *statusRecorder) Write(b []byte) (int, error) {
	if s.status == 0 {
		s.status = http.StatusOK
	}
	return s.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (s *statusRecorder) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// dryRun takes an answer that is not sent.
type dryRun struct {
	header http.Header
	status int
}

func (d *dryRun) Header() http.Header         { return d.header }
func (d *dryRun) Write(b []byte) (int, error) { return len(b), nil }
func (d *dryRun) WriteHeader(status int)      { d.status = status }
