package forwarding

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"writ/internal/fault"
	"writ/internal/secret"
)

const (
	MaxHeaders     = 20
	MaxHeaderName  = 100
	MaxHeaderValue = 4096
	MinAge         = time.Hour
	MaxAge         = 7 * 24 * time.Hour
	DefaultAge     = 24 * time.Hour
)

// tracesPath is added to an endpoint without a path.
const tracesPath = "/v1/traces"

// check returns the settings as they are stored, or a fault that names what is wrong.
func (s *Service) check(n Settings) (Settings, error) {
	endpoint, err := s.checkEndpoint(n.Endpoint)
	if err != nil {
		return Settings{}, err
	}
	n.Endpoint = endpoint
	switch {
	case n.Content != None && n.Content != Redacted && n.Content != Full:
		return Settings{}, fault.Field("content", "must be none, redacted or full")
	case n.MaxAge < MinAge || n.MaxAge > MaxAge:
		return Settings{}, fault.Field("maxAgeHours", "must be from %d to %d", int(MinAge.Hours()), int(MaxAge.Hours()))
	case n.Enabled && !n.Traces && !n.Decisions:
		return Settings{}, fault.Field("enabled", "needs traces or decisions to be sent")
	}
	return n, checkHeaders(n.Headers)
}

// checkEndpoint refuses what could never be called and what would expose secrets: keys in a query would be shown, and
// without TLS anyone on the way could read along, unless the operator permits the host by name.
func (s *Service) checkEndpoint(endpoint string) (string, error) {
	if err := s.poster.Check(endpoint); err != nil {
		return "", fault.Field("endpoint", "%s", publicReason(err))
	}
	u, err := url.Parse(endpoint)
	switch {
	case err != nil || strings.ContainsRune(endpoint, 0):
		return "", fault.Field("endpoint", "must be a URL")
	case u.RawQuery != "" || u.ForceQuery:
		return "", fault.Field("endpoint", "must not have a query; keys belong in headers")
	case u.Scheme != "https" && !s.poster.IsPermitted(endpoint):
		return "", fault.Field("endpoint",
			"must begin with https://, unless the operator allows the host with WRIT_OUTBOUND_ALLOW")
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = tracesPath
	}
	return u.String(), nil
}

// What HTTP allows as a header's name, and what every receiver accepts as its value.
var (
	headerName  = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
	headerValue = regexp.MustCompile(`^[!-~]([ -~]*[!-~])?$`)
)

// reservedHeaders are set by the sender or belong to the connection.
var reservedHeaders = []string{
	"accept-encoding", "connection", "content-encoding", "content-length", "content-type", "expect", "host",
	"keep-alive", "proxy-authorization",
	"proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "user-agent",
}

func checkHeaders(headers map[string]secret.Text) error {
	if len(headers) > MaxHeaders {
		return fault.Field("headers", "must be at most %d", MaxHeaders)
	}
	seen := map[string]bool{}
	for name, value := range headers {
		lower := strings.ToLower(name)
		switch {
		case len(name) > MaxHeaderName || !headerName.MatchString(name):
			return fault.Field("headers", "names must be those of HTTP headers, of at most %d characters",
				MaxHeaderName)
		case slices.Contains(reservedHeaders, lower):
			return fault.Field("headers", "must not set %s", lower)
		case seen[lower]:
			return fault.Field("headers", "must name %s once", lower)
		case len(value.Reveal()) > MaxHeaderValue || !headerValue.MatchString(value.Reveal()):
			return fault.Field("headers",
				"the value of %s must be 1-%d characters of ASCII, without spaces at either end",
				lower, MaxHeaderValue)
		}
		seen[lower] = true
	}
	return nil
}

// origin is the scheme, host and port of an endpoint.
func origin(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + strings.ToLower(u.Host)
}

func headersContext(orgID string) string { return "forwarding-headers/" + orgID }

func (s *Service) seal(orgID string, headers map[string]secret.Text) (sealed []byte, names []string, err error) {
	plain := map[string]string{}
	names = []string{}
	for name, value := range headers {
		plain[name] = value.Reveal()
		names = append(names, name)
	}
	slices.Sort(names)
	text, err := json.Marshal(plain, json.Deterministic(true))
	if err != nil {
		return nil, nil, fault.Field("headers", "must be text")
	}
	return s.sealer.Seal(headersContext(orgID), text), names, nil
}

func (s *Service) openHeaders(f *Forwarding) (map[string]string, error) {
	plain, err := s.sealer.Open(headersContext(f.OrgID), f.sealedHeaders)
	if err != nil {
		return nil, fmt.Errorf("open the headers of the forwarding of %s: %w", f.OrgID, err)
	}
	headers := map[string]string{}
	if json.Unmarshal(plain, &headers) != nil { // the error could quote a value
		return nil, fmt.Errorf("read the headers of the forwarding of %s: they are not what was sealed", f.OrgID)
	}
	return headers, nil
}
