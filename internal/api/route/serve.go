package route

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

// ServeHTTP answers a request.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	r = s.identify(r)
	answer := &statusRecorder{ResponseWriter: w}
	route := "unmatched"
	defer func() {
		defer func() { s.observe(r, route, answer, time.Since(start)) }() // also when the answer is broken off
		if cause := recover(); cause != nil {
			s.recovered(answer, r, cause)
		}
	}()
	s.setHeaders(answer.Header(), r)
	if s.answerCORS(answer, r) {
		return
	}
	cleanURL(r.URL)
	s.keepWholeName(r.URL)
	if err := s.checkHost(r); err != nil {
		newFailure(r.Context(), err, http.StatusMisdirectedRequest, err.Error(), nil).Write(answer)
		return
	}
	handler, pattern := s.mux.Handler(r)
	if pattern == "" {
		s.writeUnmatched(answer, r, handler)
		return
	}
	route = pattern
	s.mux.ServeHTTP(answer, r) // not handler: only the mux sets path values
}

// cleanURL cleans the path as it was sent, still escaped: an escaped slash or dot is part of an id, and must
// not lead to another route.
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

// keepWholeName escapes the slashes of a name that ends a path.
func (s *server) keepWholeName(u *url.URL) {
	escaped := u.EscapedPath()
	for _, prefix := range s.wholeNames {
		name, ok := strings.CutPrefix(escaped, prefix)
		if ok && strings.Contains(name, "/") {
			u.RawPath = prefix + strings.ReplaceAll(name, "/", "%2F")
			return
		}
	}
}

// cleanPath removes doubled slashes and dots, without a redirect: clients join a base URL that ends in a slash with our
// paths, and a redirect would turn their POST into a GET.
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

// checkHost refuses host names that are not ours, so that a page on another site cannot point its own name at this
// address (DNS rebinding). Nobody owns an address in that way, and probes use addresses.
func (s *server) checkHost(r *http.Request) error {
	name := r.Host
	if host, _, err := net.SplitHostPort(r.Host); err == nil {
		name = host
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	if _, err := netip.ParseAddr(name); err == nil || name == "localhost" || r.URL.Path == "/health" ||
		name == strings.ToLower(s.PublicURL.Hostname()) || slices.Contains(s.HostNames, name) {
		return nil
	}
	return fmt.Errorf("this server is not known under the name in the Host header; set WRIT_PUBLIC_URL, or WRIT_HOST_NAMES")
}

// The headers of every answer. The API answers JSON only; pages loosen the policy for themselves. For speed answers
// share these values: replace them in an answer, do not change them.
var (
	noSniff      = []string{"nosniff"}
	denyFrames   = []string{"DENY"}
	noReferrer   = []string{"no-referrer"}
	answerPolicy = []string{"default-src 'none'; frame-ancestors 'none'"}
	noStore      = []string{"no-store"}
	tlsForAYear  = []string{"max-age=31536000"}
)

// setHeaders sets them, under names in the form that http.Header keeps.
func (s *server) setHeaders(h http.Header, r *http.Request) {
	h["X-Request-Id"] = []string{RequestOf(r.Context()).ID}
	h["X-Content-Type-Options"] = noSniff
	h["X-Frame-Options"] = denyFrames
	h["Referrer-Policy"] = noReferrer
	h["Content-Security-Policy"] = answerPolicy
	h["Cache-Control"] = noStore
	if s.UsesTLS {
		h["Strict-Transport-Security"] = tlsForAYear
	}
}

// answerCORS admits the configured origins and answers their preflights. Credentials travel in headers, never in
// cookies, so none are allowed.
func (s *server) answerCORS(w http.ResponseWriter, r *http.Request) (done bool) {
	if len(s.CORSOrigins) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if !slices.Contains(s.CORSOrigins, origin) {
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

// writeUnmatched answers a path or method that no route has. The mux has found which of them it is, and what is
// allowed; only its words are replaced.
func (s *server) writeUnmatched(w http.ResponseWriter, r *http.Request, muxAnswer http.Handler) {
	dry := &dryRun{header: http.Header{}}
	muxAnswer.ServeHTTP(dry, r)
	if dry.status != http.StatusMethodNotAllowed {
		message := "there is nothing at this path"
		if strings.HasSuffix(r.URL.Path, "/") {
			message += ": leave out the slash at its end"
		}
		s.WriteError(w, r, fault.New(fault.NotFound, "%s", message))
		return
	}
	w.Header().Set("Allow", dry.header.Get("Allow"))
	message := fmt.Sprintf("this path does not take %s, but %s", r.Method, dry.header.Get("Allow"))
	newFailure(r.Context(), nil, http.StatusMethodNotAllowed, message, nil).Write(w)
}

// recovered answers a request whose handler panicked.
func (s *server) recovered(w *statusRecorder, r *http.Request, cause any) {
	if cause == http.ErrAbortHandler {
		panic(cause)
	}
	s.Logger.ErrorContext(r.Context(), "handler panicked", "requestId", RequestOf(r.Context()).ID, "panic", cause,
		"stack", string(debug.Stack()))
	if w.status == 0 {
		s.WriteError(w, r, fmt.Errorf("panic: %v", cause))
	}
}

// observe counts the request and logs it at the level debug. The query is not logged: links carry tokens there.
func (s *server) observe(r *http.Request, route string, answer *statusRecorder, took time.Duration) {
	s.Observe(route, answer.status, took)
	if !s.Logger.Enabled(r.Context(), slog.LevelDebug) {
		return
	}
	s.Logger.DebugContext(r.Context(), "request", "requestId", RequestOf(r.Context()).ID, "method", r.Method,
		"path", r.URL.Path, "status", answer.status, "duration", took, "address", RequestOf(r.Context()).Address)
}

// statusRecorder keeps the status of an answer.
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
