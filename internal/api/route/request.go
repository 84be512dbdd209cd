package route

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Request is what is known of a request before its caller is.
type Request struct {
	ID      string
	Address netip.Addr
	Agent   string // the client's own name, from User-Agent

	path   string
	server *server
	http   *http.Request
}

// SameOrigin reports whether a page of this server makes the request. Browsers name the page's origin in every POST.
func (r Request) SameOrigin() bool {
	if r.http == nil {
		return false
	}
	if site := r.http.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		return false
	}
	origin, err := url.Parse(r.http.Header.Get("Origin"))
	if err != nil || origin.Host == "" {
		return false
	}
	public := r.server.PublicURL
	if strings.EqualFold(origin.Host, public.Host) && origin.Scheme == public.Scheme {
		return true
	}
	return strings.EqualFold(origin.Host, r.http.Host) && (origin.Scheme == "https") == r.server.UsesTLS
}

type requestKey struct{}

// RequestOf is the request being served, or an empty one outside of any.
func RequestOf(ctx context.Context) Request {
	request, _ := ctx.Value(requestKey{}).(Request)
	return request
}

// identify gives the request its id. Ids that clients send are not taken: they are neither unique nor ours.
func (s *server) identify(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), requestKey{}, Request{
		ID:      uuid.NewString(),
		Address: clientAddress(r.RemoteAddr, r.Header.Values("X-Forwarded-For"), s.TrustedProxies),
		Agent:   r.UserAgent(),
		path:    r.URL.Path,
		server:  s,
		http:    r,
	}))
}

// clientAddress is the peer's address, unless the peer is a proxy we trust: then it is the last address in
// X-Forwarded-For that is not a trusted proxy. Clients control the header, so nothing to the left of the first
// untrusted address is believed.
func clientAddress(remote string, forwarded []string, trusted []netip.Prefix) netip.Addr {
	peer, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	address := peer.Addr().Unmap()
	if !isTrusted(address, trusted) {
		return address
	}
	hops := strings.Split(strings.Join(forwarded, ","), ",")
	for _, hop := range slices.Backward(hops) {
		previous, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			return address
		}
		if address = previous.Unmap(); !isTrusted(address, trusted) {
			return address
		}
	}
	return address
}

func isTrusted(address netip.Addr, trusted []netip.Prefix) bool {
	return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(address) })
}
