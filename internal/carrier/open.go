package carrier

import (
	"context"
	"errors"
	"net/http"

	"writ/internal/fault"
	registry "writ/internal/mcp"
	"writ/internal/mcp/upstream"
)

// Credentials are a caller's own for a server, as a header. The zero value is none.
type Credentials struct{ Name, Value string }

// check refuses credentials that count, in a header that is not for them.
func (own Credentials) check(reach registry.Reach) error {
	if own.Name == "" || !reach.CallerCredentials || reach.TakesHeader(own.Name) {
		return nil
	}
	return fault.New(fault.Invalid, "X-Armoriq-MCP-Auth: headerName must be absent, or the header that the MCP server is "+
		"registered with")
}

// Open opens a session with a registered server of the caller's organization, with the credentials that it is
// registered with, or with the caller's own where it is registered so. The error is an *upstream.Failure: no call was
// sent.
func (c *Carrier) Open(
	ctx context.Context, by Caller, server string, own Credentials, o upstream.Options,
) (*upstream.Session, error) {
	reach, err := c.Servers.ReachOf(ctx, by.Principal.OrgID, server, "")
	if err != nil {
		return nil, c.unreachable(ctx, server, err)
	}
	if judged, ok := Judged(ctx); ok && !isSame(judged, reach) {
		return nil, Changed(server)
	}
	header, err := c.Servers.Credentials(reach)
	if err != nil {
		return nil, c.unreachable(ctx, server, err)
	}
	if err := own.check(reach); err != nil {
		return nil, c.unreachable(ctx, server, err)
	}
	if own.Name != "" && reach.CallerCredentials {
		header = http.Header{http.CanonicalHeaderKey(own.Name): {own.Value}}
	}
	return c.Dialer.Dial(ctx, upstream.Target{
		Name: reach.Name, URL: reach.URL, Transport: reach.Transport, Header: header,
	}, o)
}

// unreachable is the failure of a server that was not called.
func (c *Carrier) unreachable(ctx context.Context, server string, err error) *upstream.Failure {
	f := &upstream.Failure{Kind: upstream.Unreachable, Server: server, Cause: err}
	if known, ok := errors.AsType[*fault.Error](err); ok && known.Kind != fault.Unavailable {
		f.Kind, f.Reason = upstream.Refused, known.Message
		return f
	}
	f.Reason = c.reason(ctx, err)
	return f
}
