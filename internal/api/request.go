package api

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// requestInfo is what is known of a request before who sent it.
type requestInfo struct {
	id      string
	address netip.Addr
	agent   string
	decides bool // the path is one of decisionPaths

	speaksOAuth bool // the path is deviceTokenPath

	stagesProfile bool // the path is one of profiles, whose clients read a list of messages
}

type requestKey struct{}

// requestOf is the request being served, or an empty one outside of any.
func requestOf(ctx context.Context) requestInfo {
	info, _ := ctx.Value(requestKey{}).(requestInfo)
	return info
}

// identify gives the request its id. Ids that clients send are not taken: they
// are neither unique nor ours.
func (a *API) identify(r *http.Request) *http.Request {
	info := requestInfo{
		id:      uuid.NewString(),
		address: clientAddress(r.RemoteAddr, r.Header.Values("X-Forwarded-For"), a.TrustedProxies),
		agent:   r.UserAgent(),
		decides: isDecisionPath(r.URL.Path),

		speaksOAuth: cleanPath(r.URL.Path) == deviceTokenPath,

		stagesProfile: strings.HasPrefix(cleanPath(r.URL.Path), profilePaths),
	}
	return r.WithContext(context.WithValue(r.Context(), requestKey{}, info))
}

// clientAddress is the peer's address, unless the peer is a proxy we trust: then
// it is the last address in X-Forwarded-For that no trusted proxy put there.
// Whoever connects controls the header, so nothing to the left of the first
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
